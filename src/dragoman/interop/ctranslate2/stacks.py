"""What the variables of an encoder or decoder say of its choices; all are heard or refused."""

import math
from dataclasses import dataclass
from typing import NoReturn

from dragoman.configfile import Table, write_record
from dragoman.errors import ModelError
from dragoman.interop.ctranslate2.parts import OWN_SINUSOIDS
from dragoman.interop.ctranslate2.variables import Variables
from dragoman.models import Alibi

_ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu"}  # by number of its enumeration
_HEADS = {"TransformerBig": 16}  # where no variable says how many; otherwise 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Choices of one stack; most must be those of the other.

    Args:
        layers: how many.
        factor: what embeddings are multiplied by, when it is neither 1 nor sqrt(d_model).
        positions: how they are told apart, as a recipe would say it.
        from_zero: whether the first vector of a text is zero.
        shared: choices that our record has once for both stacks, by its names.
    """

    layers: int
    factor: float
    positions: Table
    from_zero: bool
    shared: dict[str, object]


def read_stack(variables: Variables, name: str, specification: str) -> Stack:
    """Read the choices of ``encoder`` or ``decoder``.

    Raises:
        ModelError: a weight that says how wide something is is missing or of no such shape, layers
            differ, or it computes what no choice of ours does.
    """
    return _StackReader(variables, name, specification).read()


class _StackReader:
    """Asks the variables of one stack."""

    def __init__(self, variables: Variables, name: str, specification: str) -> None:
        self.variables, self.name, self.specification = variables, name, specification
        self.layers = variables.layers(name)
        if not self.layers:
            self._refuse("has no layers")

    def read(self) -> Stack:
        first = f"{self.name}/layer_0"
        d_model = self._size(f"{first}/self_attention/linear_1/weight", 0)
        gated = f"{first}/ffn/linear_0_noact/weight" in self.variables
        scaled, factor = self._scale(d_model)
        heads = self._heads()
        own = int(self._agreed("head_dim", 0, cross=True))
        width = own or d_model // heads
        if width < 1 or (not own and d_model % heads):
            self._refuse(f"has {heads} heads, which do not divide its width {d_model}")
        self._ignore()
        return Stack(
            layers=self.layers,
            factor=factor,
            positions=self._positions(width),
            from_zero=bool(self._choice("start_from_zero_embedding", 0)),
            shared={
                "d_model": d_model,
                "heads": heads,
                "kv_heads": self._groups(heads),
                "d_k": None if width * heads == d_model else width,
                "scale": self._attention_scale(width),
                "d_ff": self._size(f"{first}/ffn/linear_0/weight", 0),
                "feedforward": "gated" if gated else "plain",
                "feedforward_bias": self._any("/ffn/linear_"),
                "activation": self._activation(),
                "attention_bias": self._any(
                    "self_attention/linear_0", "/attention/linear_0", "/attention/linear_1"
                ),
                "attention_output_bias": self._any(
                    "self_attention/linear_1", "/attention/linear_2"
                ),
                "norm": "layer" if f"{first}/ffn/layer_norm/beta" in self.variables else "rms",
                "norm_order": "pre" if self._choice("pre_norm", 1) else "post",
                "final_norm": f"{self.name}/layer_norm/gamma" in self.variables,
                "embedding_norm": f"{self.name}/layernorm_embedding/gamma" in self.variables,
                "embedding_scale": scaled,
            },
        )

    def _heads(self) -> int:
        heads = int(self._choice("num_heads", _HEADS.get(self.specification, 8)))
        if heads < 1:
            self._refuse(f"has {heads} heads")
        return heads

    def _groups(self, heads: int) -> int | None:
        """Count the heads of keys and values; None is as many as of queries."""
        groups = int(self._agreed("num_heads_kv", heads, cross=True))
        groups = 1 if self._agreed("multi_query", 0, cross=True) else groups
        return None if groups == heads else groups

    def _attention_scale(self, width: int) -> float | None:
        """Give the factor on the dot products; None is the usual one."""
        usual = 1 / math.sqrt(width)
        scale = self._agreed("queries_scale", usual, cross=True)
        return None if math.isclose(scale, usual, rel_tol=1e-6) else scale

    def _ignore(self) -> None:
        """Take as asked for what changes no output, and refuse what would, set to something."""
        # Which attention is shown, how tables are joined where there are several, what others say.
        for key in ("alignment_layer", "alignment_heads", "embeddings_merge"):
            self._choice(key, 0)
        self._choice("multi_query_attention", 0)
        self._choice("alibi_use_positive_positions", 1)  # the softmax does not see it
        if self._choice("scale_alibi", 0):
            self._refuse("scales the slopes of alibi")
        if self._choice("sliding_window", 0) or self._agreed("sliding_window", 0):
            self._refuse("lets each position see a window of those before")

    def _activation(self) -> str:
        number = int(self._choice("activation", 0))
        if number not in _ACTIVATIONS:
            self._refuse(f"has an activation that is not known here, {number}")
        return _ACTIVATIONS[number]

    def _scale(self, d_model: int) -> tuple[bool, float]:
        """Say whether embeddings are scaled as usual, and by what else."""
        table = "embeddings_0" if self.name == "encoder" else "embeddings"
        name = f"{self.name}/scale_embeddings"
        old = f"{self.name}/{table}/multiply_by_sqrt_depth"
        name = name if name in self.variables else old
        flag = self.variables.is_flag(name) or name not in self.variables
        value = self.variables.number(name, 1)
        usual = math.sqrt(d_model)
        if flag or math.isclose(value, usual, rel_tol=1e-6):
            return bool(value), 1.0
        return False, value

    def _positions(self, width: int) -> Table:
        """Say how positions are told apart; what is in attention comes before what is added."""
        first = f"{self.name}/layer_0/self_attention"
        alibi = bool(self._choice("alibi", 0))
        turned = self._agreed("rotary_dim", -1)
        relative = [f"{first}/relative_position_keys", f"{first}/relative_attention_bias"]
        inside = [name for name in relative if name in self.variables]
        if len(inside) + (turned >= 0) + alibi > 1:
            self._refuse("tells positions apart in two ways")
        if alibi:
            return write_record(Alibi())
        if turned >= 0:
            return self._rotary(turned, width)
        if not inside:
            table = f"{self.name}/position_encodings/encodings"
            added = table in self.variables
            if not added:
                return write_record(OWN_SINUSOIDS)
            return {"kind": "learned", "max_length": self._size(table, 0)}
        rows = self._size(inside[0], 0)
        if inside[0] == relative[0]:
            values = f"{first}/relative_position_values" in self.variables
            return {"kind": "shaw", "clip": (rows - 1) // 2, "values": values}
        farthest = int(self._agreed("relative_attention_max_distance", 128))
        return {"kind": "t5", "buckets": rows, "max_distance": farthest}

    def _rotary(self, turned: float, width: int) -> Table:
        if turned not in (0, width):
            self._refuse(f"turns {turned:g} of the {width} numbers of a head")
        if self._agreed("rotary_scaling_type", -1) != -1:
            self._refuse("stretches the positions of rotary embeddings")
        inside = self._agreed("rotary_interleave", 1)
        base = self._agreed("rotary_base", 10_000.0)
        return {"kind": "rotary", "layout": "interleaved" if inside else "half", "base": base}

    def _choice(self, key: str, default: float) -> float:
        """Read a number of this stack; up to revision 4 both had it together."""
        return self.variables.number(f"{self.name}/{key}", self.variables.number(key, default))

    def _agreed(self, key: str, default: float, *, cross: bool = False) -> float:
        """Read a number that every attention has of its own, and must be the same in all.

        Args:
            key: name of the variable.
            default: where there is none.
            cross: whether attention to a source has it too.
        """
        found: set[float] = set()
        for number in range(self.layers):
            layer = f"{self.name}/layer_{number}"
            found.add(self.variables.number(f"{layer}/self_attention/{key}", default))
            if cross and f"{layer}/attention/linear_0/weight" in self.variables:
                found.add(self.variables.number(f"{layer}/attention/{key}", default))
        if len(found) > 1:
            self._refuse(f"has layers that differ in {key}")
        return found.pop()

    def _any(self, *products: str) -> bool:
        """Whether one of these products has a bias in some layer."""
        return any(self.variables.any(f"{self.name}/layer_", each, "/bias") for each in products)

    def _size(self, name: str, dimension: int) -> int:
        shape = self.variables.shape(name)
        if len(shape) != 2:
            raise ModelError(f"{self.variables.path}: {name} is {shape}, and no matrix")
        return shape[dimension]

    def _refuse(self, problem: str) -> NoReturn:
        raise ModelError(
            f"{self.variables.path}: the {self.name} {problem}, which no choice of [model] does; "
            "use another model"
        )
