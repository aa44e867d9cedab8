"""The other side of a certificate: formulas held to what the trainers' own code computed."""

import ast
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.decoding import BeamSearch, Symbols, TorchEngine, search
from dragoman.errors import ModelError
from dragoman.interop.certificate import certify
from dragoman.interop.checkpoints import (
    Asked,
    open_checkpoint,
    read_checkpoint,
    second_reading,
    widened,
)
from tests.interop.checkpoints import test_pytorch_seq2seq as tutorial
from tests.interop.checkpoints.conftest import Opened
from tests.interop.checkpoints.make_real import SOURCE, TARGET
from tests.interop.checkpoints.making import cases, logits_of

ALL = cases("fairseq", "joeynmt", "opennmt_py")
SOME = [("fairseq", "pre"), ("joeynmt", "post"), ("opennmt_py", "shaw")]


@pytest.mark.parametrize(("trainer", "case"), ALL)
def test_it_scores_as_the_trainers_own_code(trainer: str, case: str, opened: Opened) -> None:
    side = open_checkpoint(*opened(trainer, case))
    expected = logits_of(trainer, case).log_softmax(-1).numpy()
    np.testing.assert_allclose(side.log_probs(SOURCE, TARGET), expected, atol=1e-4, rtol=0)


def test_it_scores_as_pytorchs_own_layers(tmp_path: Path) -> None:
    path, asked = tutorial.write(tmp_path)
    side = open_checkpoint(path, read_checkpoint(path, asked=asked), asked=asked)
    state = tutorial.drawn_state(tutorial.shapes(), {})
    source, target = torch.tensor([[2, 4, 6, 10, 3]]), torch.tensor([[2, 5, 4, 9]])
    expected = tutorial.pytorch_logits(state, source, target)[0].log_softmax(-1)
    found = side.log_probs([4, 6, 10], [5, 4, 9])
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-5, rtol=0)
    assert side.longest == 9


def test_it_shares_no_code_with_what_it_is_compared_with() -> None:
    tree = ast.parse(Path(second_reading.__file__).read_text())
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert not [name for name in modules if name.startswith("dragoman")]


@pytest.mark.parametrize(("trainer", "case"), SOME)
def test_it_shows_what_comes_out_of_every_part_by_our_names(
    trainer: str, case: str, opened: Opened
) -> None:
    path, bundle = opened(trainer, case)
    model: Any = bundle.model
    ours: dict[str, torch.Tensor] = {}
    hooks = ExitStack()
    for name, part in model.named_modules():
        hook = part.register_forward_hook(lambda _, __, out, name=name: ours.update({name: out}))
        hooks.callback(hook.remove)
    source, target = bundle.frame.source(SOURCE), bundle.frame.target_in(TARGET)
    with hooks, torch.no_grad():
        model(torch.tensor([source]), torch.tensor([target]))
    seen = open_checkpoint(path, bundle).layers(SOURCE, TARGET)
    parts = ["source_input", "encoder.layers.0", "target_input"]
    assert list(seen) == [*parts, "decoder.layers.0", "decoder.layers.1", "generator"]
    for name, output in seen.items():
        np.testing.assert_allclose(output, ours[name][0].numpy(), atol=1e-4, rtol=0, err_msg=name)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(("trainer", "case"), SOME)
def test_it_translates_as_what_was_read(trainer: str, case: str, beam: int, opened: Opened) -> None:
    path, bundle = opened(trainer, case)
    side = open_checkpoint(path, bundle)
    model: Any = bundle.model
    for source in (SOURCE, [], [6]):
        session = TorchEngine(model).start([bundle.frame.source(source)])
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        (found,) = search(session, config, Symbols.of(bundle.frame), [8])
        assert side.translate(source, beam=beam, max_length=8) == list(found[0].ids)


def test_in_float64_both_readings_give_the_same(opened: Opened) -> None:
    for trainer, case in SOME:
        path, bundle = opened(trainer, case)
        wide = widened(bundle)
        model: Any = wide.model
        side = open_checkpoint(path, wide)
        for source, target in ((SOURCE, TARGET), ([], [5]), (SOURCE, [])):
            ids = bundle.frame.source(source), bundle.frame.target_in(target)
            with torch.no_grad():
                ours = model(*(torch.tensor([each]) for each in ids))[0].log_softmax(-1)
            memory = side.read(source)[1]
            torch.testing.assert_close(side.scores(target, memory), ours, atol=1e-12, rtol=0)
            end = side.scores(target, memory, last=True)
            torch.testing.assert_close(end, ours[-1:], atol=1e-12, rtol=0)
        assert all(each.dtype == torch.float32 for each in bundle.model.parameters())


def test_a_certificate_compares_what_was_read_with_it(opened: Opened) -> None:
    path, bundle = opened("opennmt_py", "shaw")
    side = open_checkpoint(path, bundle)
    certificate = certify(widened(bundle), side)
    assert certificate.largest < 1e-6
    assert {each.equal for each in certificate.searches} == {certificate.probes}
    broken = widened(bundle)
    model: Any = broken.model
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.inner.weight[:, 0] += 0.1
    with pytest.raises(ModelError, match=r"first in decoder.layers.0"):
        certify(broken, side)


def test_it_is_named_after_trainer_and_file(opened: Opened) -> None:
    path, bundle = opened("joeynmt", "post")
    side = open_checkpoint(path, bundle, kind="joeynmt", asked=Asked(heads=2))
    assert side.name == "the formulas of joeynmt over 3.ckpt"
    assert side.longest is None
