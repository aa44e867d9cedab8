"""What fits in memory is found out before a run begins, and nothing changes by it."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman.data import Batch, Batches, Example, IdStore, StreamBatch, pair_batches
from dragoman.errors import ConfigError, TrainingError
from dragoman.models import ModelConfig
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import train
from dragoman.tokenization import SpecialIds
from dragoman.training import (
    AdafactorConfig,
    AdamConfig,
    Kernels,
    Notice,
    Precision,
    Rehearsal,
    Saved,
    StepDone,
    Weights,
    available_memory,
    peak_memory,
    readable,
    recompute_layers,
    translation_loss,
)
from dragoman.training.distributed import divide_gradients, make_gradients
from dragoman.training.memory import TensorBytes, is_out_of_memory
from tests.fixtures import build_encoder_decoder, write_corpus

CPU = torch.device("cpu")
MIB = 2**20
VOCABULARY = 500
SPECIAL = SpecialIds(padding=0, unknown=3, start=1, end=2)


def pairs(budget: int, longest: int = 40) -> Batches[Batch]:
    """Make batches of 400 pairs of many lengths."""
    rng = np.random.default_rng(5)
    sides = [
        IdStore.from_sequences(
            [rng.integers(4, VOCABULARY, rng.integers(1, longest + 1)).tolist() for _ in range(400)]
        )
        for _ in range(2)
    ]
    return pair_batches(*sides, budget=budget, special=SPECIAL, seed=1)


def rehearsal(
    free: int | None = None,
    *,
    layers: int = 2,
    optimizer: AdamConfig | AdafactorConfig | None = None,
    precision: Precision = "fp32",
    recompute: bool = False,
    seen: list[int] | None = None,
) -> Rehearsal:
    """Rehearse with a small translator where ``free`` bytes are left; ``seen`` gets all rows."""
    config = ModelConfig(
        layers=layers, d_model=32, heads=2, d_ff=64, vocabulary=VOCABULARY, dropout=0.1
    )
    model = build_encoder_decoder(config, torch.Generator().manual_seed(3))
    if recompute:
        recompute_layers(model)

    def loss(batch: Any) -> Tensor:
        if seen is not None:
            seen.append(len(batch.examples))
        return translation_loss(model, batch, smoothing=0.1)

    return Rehearsal(
        Weights(model, optimizer or AdamConfig(), precision=precision),
        loss,
        Kernels(precision=precision if precision != "auto" else "fp32"),
        lambda index: Example("corpus.de", index + 1, (f"source {index}", f"target {index}")),
        available=lambda device: free,
    )


def test_bytes_are_those_of_tensors_that_live_at_once() -> None:
    # By hand: float32 has 4 bytes. x and y live together; z comes when y is gone.
    with TensorBytes() as counted:
        x = torch.ones(1000)
        y = x * 2
        y.add_(1)  # in place, and views: nothing new
        view = x.view(10, 100).t()
        assert counted.now == 8000
        del y
        assert counted.now == 4000
        z = view.contiguous()
        assert counted.now == 8000
        del x, z
        assert counted.now == 4000  # the view still holds it
    assert counted.peak == 8000


def test_what_was_there_before_does_not_count() -> None:
    x = torch.ones(1000)
    with TensorBytes() as counted:
        x.mul_(2)
        assert x.view(-1) is not None
    assert counted.peak == 0


def allocated(work: Callable[[], object]) -> int:
    """Take the peak from PyTorch's own record of what its allocator gave."""
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        work()
    results = cast(Any, profile).kineto_results  # Any: torch's stub leaves its events out
    events = [event for event in results.events() if event.name() == "[memory]"]
    sizes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return int(np.cumsum(sizes).max())


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bytes_agree_with_the_allocator_in_forward_and_backward(
    precision: Precision, recompute: bool
) -> None:
    rehearsed = rehearsal(precision=precision, recompute=recompute)
    (batch,) = pairs(2000).largest(1)

    def work() -> None:
        make_gradients(rehearsed.weights.learned)
        rehearsed.weights.backward(rehearsed.objective(batch))

    work()
    rehearsed.weights.forget()
    truth = allocated(work)
    rehearsed.weights.forget()
    # In bf16 kernels take some for themselves, for which there is a margin.
    assert peak_memory(work, CPU) == pytest.approx(truth, rel=0.1)


def test_checkpointed_layers_need_less_than_half() -> None:
    """12 layers: the inside of a layer is some 20 times what is kept at its border."""
    (batch,) = pairs(4000).largest(1)
    plain = rehearsal(layers=12)
    again = rehearsal(layers=12, recompute=True)
    assert again.peak(batch) < 0.5 * plain.peak(batch)


def test_models_without_stacks_of_layers_cannot_recompute() -> None:
    with pytest.raises(ConfigError, match=r"training.activation_checkpointing: recurrent and"):
        recompute_layers(nn.GRU(2, 2))


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n"}, 5000 * 1024),
        (  # version 2: the group around has less room; 300 bytes can be made free
            {
                "proc/meminfo": "MemAvailable: 5000 kB\n",
                "proc/self/cgroup": "0::/job/task\n",
                "sys/fs/cgroup/job/task/memory.max": "max\n",
                "sys/fs/cgroup/job/task/memory.current": "700\n",
                "sys/fs/cgroup/job/memory.max": "2000\n",
                "sys/fs/cgroup/job/memory.current": "1000\n",
                "sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 300\n",
            },
            1300,
        ),
        (  # version 1 in a container, which sees its own group as the top
            {
                "proc/self/cgroup": "7:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "5000\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 500\n",
            },
            4500,
        ),
        (  # more used than allowed is nothing left
            {
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": "1000\n",
                "sys/fs/cgroup/memory.current": "1200\n",
            },
            0,
        ),
    ],
)
def test_free_memory_is_the_least_of_what_system_and_groups_leave(
    tmp_path: Path, files: dict[str, str], free: int | None
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert available_memory(CPU, root=tmp_path) == free


def test_this_machine_says_what_it_has_left() -> None:
    free = available_memory(CPU)
    assert free is None or 0 < free < 2**50


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), True),
        (RuntimeError("shapes do not match"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_about_memory_are_told_from_others(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_bytes_are_said_for_people() -> None:
    assert readable(3 * 2**29) == "1.5 GiB"
    assert readable(5 * MIB) == "5.0 MiB"
    assert readable(1) == "0.1 MiB"


@pytest.mark.parametrize("free", [None, 2**40])
def test_a_rehearsal_changes_nothing(free: int | None) -> None:
    rehearsed, batches = rehearsal(free), pairs(1000)
    model = rehearsed.weights.model.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(4)
    generator, place = torch.get_rng_state(), batches.state()
    rehearsed.check(batches)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.equal(torch.get_rng_state(), generator)
    assert batches.state() == place
    assert not model.training
    assert not rehearsed.weights.optimizer.state


def test_no_batch_of_an_epoch_needs_more_than_was_rehearsed() -> None:
    rehearsed, batches = rehearsal(), pairs(1000)
    worst = rehearsed.check(batches)
    moments = 2 * 4 * sum(weight.numel() for weight in rehearsed.weights.model.parameters())
    peaks = [rehearsed.peak(batch) + moments for batch in batches.whole_epoch()]
    assert max(peaks) <= worst.peak


def test_the_first_update_leaves_moments_of_the_size_that_was_counted() -> None:
    for config in (AdamConfig(), AdafactorConfig()):
        rehearsed, batches = rehearsal(optimizer=config), pairs(1000)
        weights, (batch,) = rehearsed.weights, batches.largest(1)
        rehearsed.check(batches)  # the table of positions is there now
        room = rehearsed.check(batches).peak - max(map(rehearsed.peak, batches.largest(3)))
        weights.backward(rehearsed.objective(batch))
        divide_gradients(weights.learned, batch.target_tokens)
        weights.step(1, 1e-4)
        states = weights.optimizer.state.values()
        real = sum(x.numel() * 4 for state in states for key, x in state.items() if key != "step")
        assert room == pytest.approx(real, rel=0.02)
        again = max(map(rehearsed.peak, batches.largest(3)))
        assert rehearsed.check(batches).peak == again  # what is there needs no more room


def test_parts_foretell_the_whole_by_rows() -> None:
    rehearsed = rehearsal()
    (batch,) = pairs(4000).largest(1)
    whole = rehearsed.peak(batch)
    for share in (0.5, 1.01, 1.5):  # of the room there is
        need = rehearsed.foretell(batch, share * whole)
        assert need == pytest.approx(1.1 * whole, rel=0.25)  # a margin of 1.1 is included
        assert (need <= share * whole) == (share == 1.5)
    assert 1.1 * whole <= rehearsed.foretell(batch, 100 * whole) <= 100 * whole  # only bounded


def test_parts_foretell_the_whole_by_width_for_a_long_row_alone() -> None:
    def loss(batch: Any) -> Tensor:  # a table of weights for each head, as attention has
        width = batch.inputs.size(1)
        return (table * torch.ones(8, width, width)).exp().sum()

    table = torch.ones((), requires_grad=True)
    model = nn.Module()
    model.register_parameter("table", nn.Parameter(table.detach()))
    rehearsed = Rehearsal(
        Weights(model, AdamConfig()), loss, Kernels(), lambda index: Example("a", 1, ())
    )
    ids = torch.full((1, 800), 5)
    batch = StreamBatch(
        examples=np.array([0]), inputs=ids, targets=ids, target_tokens=800, padding=0
    )
    whole = rehearsed.peak(batch)
    assert whole > 8 * 800 * 800 * 4
    assert rehearsed.foretell(batch, 0.9 * whole) == pytest.approx(1.1 * whole, rel=0.05)


def test_what_cannot_fit_is_refused_before_it_is_tried() -> None:
    batches = pairs(4000)
    (batch,) = batches.largest(1)
    whole, seen = rehearsal().peak(batch), []
    with pytest.raises(TrainingError):
        rehearsal(whole // 2, seen=seen).check(batches)
    assert 0 < max(seen) <= len(batch.examples) // 2


def test_the_error_says_shape_room_ways_out_and_the_longest_lines() -> None:
    batches = pairs(4000)
    (batch,) = batches.largest(1)
    longest = [int(index) + 1 for index in batch.pairs]
    with pytest.raises(TrainingError) as raised:
        rehearsal(MIB).check(batches)
    text = str(raised.value)
    rows, source, target = (*batch.source.shape, batch.target_in.size(1))
    assert f"{rows} rows x {source} source x {target} target pieces, which needs about " in text
    assert "does not fit in memory of which 1.0 MiB is free; lower training.batch_tokens" in text
    assert "training.accumulate" in text
    assert "data.max_length" in text
    assert "training.activation_checkpointing = true" in text
    named = [line.split(": ") for line in text.splitlines()[1:]]
    assert [name.strip() for name, _, _ in named] == ["corpus.de"] * 3
    assert all(int(number) in longest for _, number, _ in named)


def test_the_ways_out_in_the_error_work() -> None:
    needed = rehearsal(layers=4).check(pairs(4000)).peak
    free = int(0.7 * needed)
    with pytest.raises(TrainingError):
        rehearsal(free, layers=4).check(pairs(4000))
    for better in (
        rehearsal(free, layers=4).check(pairs(1000)),
        rehearsal(free, layers=4, recompute=True).check(pairs(4000)),
    ):
        assert better.peak < free


def test_an_allocation_that_fails_is_the_same_error() -> None:
    def fail(batch: Any) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    rehearsed = rehearsal()
    rehearsed.objective = fail
    with pytest.raises(TrainingError, match="does not fit in memory; lower"):
        rehearsed.check(pairs(1000))


def test_other_errors_pass() -> None:
    def fail(batch: Any) -> Tensor:
        raise RuntimeError("a mistake in a layer")

    rehearsed = rehearsal()
    rehearsed.objective = fail
    with pytest.raises(RuntimeError, match="a mistake in a layer"):
        rehearsed.check(pairs(1000))
    assert all(weight.grad is None for weight in rehearsed.weights.model.parameters())


CHILD = """
import resource, sys
from dragoman.errors import TrainingError
from dragoman.training import available_memory
from tests.training.test_memory import CPU, pairs, rehearsal

rehearsal().check(pairs(300))  # all libraries are there
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 96 * 2**20, resource.RLIM_INFINITY))
free = available_memory(CPU)
assert free is not None and free <= 96 * 2**20, free
try:
    rehearsal(free if sys.argv[1] == "foretold" else None, layers=6).check(pairs(25_000, 120))
except TrainingError as error:
    print(error)
print(rehearsal(free).check(pairs(300)).shape)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux")
@pytest.mark.parametrize("how", ["foretold", "tried"])
def test_a_limit_on_memory_ends_in_a_message_and_not_in_a_kill(how: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, how],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "does not fit in memory" in ran.stdout
    assert ("which needs about" in ran.stdout) == (how == "foretold")
    assert ran.stdout.splitlines()[-1].endswith("target pieces")  # smaller batches still run


@pytest.mark.parametrize("part", [0.15, 0.5])
def test_the_budget_found_fits_and_is_nearly_the_largest_that_does(part: float) -> None:
    needed = rehearsal().check(pairs(6000)).peak
    free = int(part * needed)
    found = rehearsal(free).budget(pairs, most=6000)
    assert found % 256 == 0
    assert rehearsal(free).check(pairs(found)).peak <= 0.8 * free
    more = max(found + 512, int(1.3 * found))
    assert 1.1 * rehearsal().check(pairs(more)).peak > 0.8 * free  # with the margin


def test_with_much_memory_the_budget_is_the_most_asked_for() -> None:
    assert rehearsal(2**40).budget(pairs, most=5000) == 5000


def test_no_budget_is_found_where_nothing_fits_or_nothing_says_what_does() -> None:
    with pytest.raises(TrainingError, match="does not fit in memory"):
        rehearsal(100_000).budget(pairs, most=5000)
    with pytest.raises(ConfigError, match=r"training\.batch_tokens: .* give a number"):
        rehearsal(None).budget(pairs, most=5000)


def recipe_for(folder: Path, **training: object) -> Recipe:
    folder.mkdir(exist_ok=True)
    source, target = write_corpus(folder, repeat=60)
    return parse_recipe(
        {
            "data": {"train": {"source": str(source), "target": str(target)}, "hold_out": 4},
            "tokenizer": {"size": 300},
            "model": {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32, "dropout": 0.2},
            "training": {"steps": 6, "warmup": 4, "log_every": 1, **training},
            "validation": {"every": 100, "metrics": []},
        }
    )


def with_memory(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    made = partial(Rehearsal, available=lambda device: free)
    monkeypatch.setattr("dragoman.run.current.Rehearsal", made)


def weights_of(run: Path) -> dict[str, Tensor]:
    return load_file(run / "checkpoints/step-00000006/model.safetensors")


def texts(events: Sequence[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def test_a_run_keeps_the_budget_it_found_and_goes_on_with_it_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_for(tmp_path / "data", batch_tokens="auto")
    with_memory(monkeypatch, 5 * MIB)
    events = list(train(recipe, tmp_path / "whole", device="cpu"))
    found = json.loads((tmp_path / "whole/budget.json").read_text())["batch_tokens"]
    assert 256 <= found < 25_000
    assert f"batches of up to {found:,} tokens, as memory allows" in texts(events)
    assert any(text.startswith("largest batch: ") for text in texts(events))

    stopped = tmp_path / "stopped"
    list(train(recipe_for(tmp_path / "data", batch_tokens="auto", stop_after=3), stopped))
    with_memory(monkeypatch, 2**40)  # much more is free now
    list(train(recipe, stopped, device="cpu", accept_changes=True))
    assert json.loads((stopped / "budget.json").read_text())["batch_tokens"] == found
    one, two = weights_of(tmp_path / "whole"), weights_of(stopped)
    assert all(torch.equal(one[name], two[name]) for name in one)

    list(train(recipe, stopped, device="cpu", restart=True))  # finds its own again
    assert json.loads((stopped / "budget.json").read_text())["batch_tokens"] == 25_000


def test_a_run_whose_batches_do_not_fit_ends_before_its_first_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_memory(monkeypatch, MIB // 2)
    seen: list[object] = []
    with pytest.raises(TrainingError, match=r"does not fit in memory") as raised:
        seen.extend(train(recipe_for(tmp_path / "data", batch_tokens=4096), tmp_path / "run"))
    assert not any(isinstance(event, StepDone | Saved) for event in seen)
    lines = str(raised.value).splitlines()[1:]
    assert all("train.de" in line for line in lines)
    assert len(lines) == 3


def test_activation_checkpointing_gives_the_same_run_bit_for_bit(tmp_path: Path) -> None:
    runs: list[dict[str, Tensor]] = []
    for asked in (False, True):
        recipe = recipe_for(tmp_path / "data", batch_tokens=96, activation_checkpointing=asked)
        run = tmp_path / str(asked)
        list(train(recipe, run, device="cpu"))
        runs.append(weights_of(run))
    assert all(torch.equal(runs[0][name], runs[1][name]) for name in runs[0])


@pytest.mark.parametrize("value", [1, "much", 2.5, True])
def test_other_budgets_are_located_mistakes(tmp_path: Path, value: object) -> None:
    with pytest.raises(ConfigError) as raised:
        recipe_for(tmp_path, batch_tokens=value)
    assert str(raised.value) == (
        f'training.batch_tokens: {value!r} should be a whole number of at least 2, or "auto"'
    )


def test_large_tensors_can_be_left_out_of_the_count() -> None:
    with TensorBytes(below=4_000) as counted:
        kept = [torch.empty(999), torch.empty(1_000)]  # 3,996 and 4,000 bytes
    assert counted.peak == 3_996
    assert len(kept) == 2
