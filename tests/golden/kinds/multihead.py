"""Multi-head attention with as many, fewer or one key and value head, whole and step by step."""

from torch import Tensor

from dragoman.nn import KeyValues
from tests.golden.case import Case
from tests.golden.kinds.weights import Recorder, attention_from


def multi_head(case: Case) -> dict[str, Tensor]:
    recorder = Recorder(case.kernel)
    attention = attention_from(
        case.reals(case.inputs["weights"]),
        heads=case.inputs["heads"],
        kv_heads=case.inputs["kv_heads"],
        kernel=recorder,
    )
    x, memory = case.tensor("x_query")[None], case.tensor("x_key_value")[None]
    memory = x if x.equal(memory) else memory  # self-attention has a path of its own
    output = attention(x, memory, case.mask())[0]
    return {
        "weights": recorder.seen["weights"],
        "concat": recorder.seen["z"].transpose(0, 1).flatten(1),
        "output": output,
    }


def kv_cache(case: Case) -> dict[str, Tensor | list[Tensor] | int]:
    attention = attention_from(
        case.reals(case.inputs["weights"]),
        heads=case.inputs["heads"],
        kv_heads=case.inputs["kv_heads"],
        kernel=case.kernel,
    )
    known: KeyValues | None = None
    outputs: list[Tensor] = []
    for token in case.tensor("x"):
        output, known = attention.extend(token[None, None], known)
        outputs.append(output[0, 0])
    assert known is not None
    numbers = known.keys.numel() + known.values.numel()
    return {
        "output": outputs,
        "cache_k": known.keys[0],
        "cache_v": known.values[0],
        "cache_numbers_per_token": numbers // known.length,
    }


KINDS = {
    "grouped_query": multi_head,
    "kv_cache": kv_cache,
    "multi_head": multi_head,
    "multi_query": multi_head,
}
