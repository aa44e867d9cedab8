"""Sums of products in vectors of the processor: how a step of inputs meets a vector of weights.

A step is what one lane of a vector takes of the inputs at a time, four bytes of weights: one
float32, two bfloat16, or four int8. AVX-512 has instructions that multiply and add each of them.
AVX2 has one for float32, and one for pairs of whole numbers of 16 bits: there bfloat16 is made
float32 and int8 is made 16 bits wide, weights as they are read, inputs beforehand.

The first byte that VNNI multiplies has no sign. So 128 is added to each input, and 128 times the
sum of a column's weights is taken off the result.
"""

# pyright: basic, reportCallIssue=false

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core.registry import cpu_target

WHOLE, HALF, SHORT, SINGLE = ir.IntType(64), ir.IntType(32), ir.IntType(16), ir.FloatType()
STEP = {"float32": 1, "bfloat16": 2, "int8": 4}  # inputs that a lane takes at a time


class _BFloat(ir.types.Type):
    """The type of bfloat16, which llvmlite does not name."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


class InAvx512:
    """Vectors of 512 bits; an instruction for each kind.

    Args:
        kind: of the numbers.
        module: declares what is called.
    """

    def __init__(self, kind: str, module: Any) -> None:
        self.whole = kind == "int8"
        self.sums = ir.VectorType(HALF if self.whole else SINGLE, 16)
        self.spread, self.inputs_of_step = self.sums, 1
        name, self.weights = "llvm.fma.v16f32", self.sums
        if kind == "bfloat16":
            self.spread, self.weights = ir.VectorType(HALF, 16), ir.VectorType(_BFloat(), 32)
            name = "llvm.x86.avx512bf16.dpbf16ps.512"
        elif self.whole:
            name = "llvm.x86.avx512.vpdpbusd.512"
        first, w = kind != "float32", self.weights  # whether the sum comes first
        self.order = (lambda *each: each) if first else (lambda total, x, y: (x, y, total))
        self.dot = module.declare_intrinsic(
            name, fnty=ir.FunctionType(self.sums, self.order(self.sums, w, w))
        )

    def columns(self, builder: Any, place: Any) -> list[Any]:
        """Load a step of weights."""
        return [load(builder, place, 0, self.weights)]

    def inputs(self, builder: Any, place: Any, part: int) -> Any:
        """Load a step of inputs into all lanes."""
        step = load(builder, place, 4 * part, self.spread.element)
        if self.whole:
            step = builder.xor(step, ir.Constant(HALF, 0x80808080))
        spread = _spread(builder, step, 16)
        return spread if self.weights == self.spread else builder.bitcast(spread, self.weights)

    def grow(self, builder: Any, total: Any, inputs: Any, column: Any) -> Any:
        """Add products to sums."""
        return builder.call(self.dot, self.order(total, inputs, column))

    def end(self, builder: Any, total: Any, off: Any) -> Any:
        """Take off what was too much."""
        return builder.sub(total, load(builder, off, 0, self.sums)) if self.whole else total


class InAvx2:
    """Vectors of 256 bits: half of a step's bfloat16 or int8 at a time, made twice as wide."""

    def __init__(self, kind: str, module: Any) -> None:
        self.kind, self.whole = kind, kind == "int8"
        self.sums = ir.VectorType(HALF if self.whole else SINGLE, 8)
        self.inputs_of_step = 1 if kind == "float32" else 2  # of four bytes, being made wider
        self.pairs = ir.VectorType(SHORT, 16)
        if self.whole:
            name, parameters = "llvm.x86.avx2.pmadd.wd", [self.pairs] * 2
        else:
            name, parameters = "llvm.fma.v8f32", [self.sums] * 3
        self.dot = module.declare_intrinsic(name, fnty=ir.FunctionType(self.sums, parameters))

    def columns(self, builder: Any, place: Any) -> list[Any]:
        """Load a step of weights, and make them wider."""
        if self.kind == "float32":
            return [load(builder, place, 0, self.sums)]
        if self.kind == "bfloat16":  # of which a float32 is the upper half
            both = load(builder, place, 0, ir.VectorType(HALF, 8))
            first = builder.shl(both, ir.Constant(both.type, [16] * 8))
            second = builder.and_(both, ir.Constant(both.type, [0xFFFF0000] * 8))
            return [builder.bitcast(half, self.sums) for half in (first, second)]
        both = load(builder, place, 0, self.pairs)
        byte = ir.Constant(self.pairs, [8] * 16)
        return [builder.ashr(builder.shl(both, byte), byte), builder.ashr(both, byte)]

    def inputs(self, builder: Any, place: Any, part: int) -> Any:
        """Load a part of a step of inputs into all lanes."""
        if not self.whole:
            return _spread(builder, load(builder, place, 4 * part, SINGLE), 8)
        return builder.bitcast(
            _spread(builder, load(builder, place, 4 * part, HALF), 8), self.pairs
        )

    def grow(self, builder: Any, total: Any, inputs: Any, column: Any) -> Any:
        """Add products to sums."""
        if self.whole:
            return builder.add(total, builder.call(self.dot, [inputs, column]))
        return builder.call(self.dot, [inputs, column, total])

    def end(self, builder: Any, total: Any, off: Any) -> Any:
        """Nothing was too much."""
        return total


@dataclass(frozen=True, slots=True)
class Vectors:
    """What a processor multiplies in.

    Args:
        name: of its instructions.
        needed: features by kind of numbers.
        beside: vectors of outputs that are summed at the same time for a row.
        lanes: of a vector.
        code: writes it.
        order: in which the numbers of a step lie.
    """

    name: str
    needed: dict[str, tuple[str, ...]]
    lanes: int
    beside: int
    code: type[InAvx512 | InAvx2]
    order: dict[str, tuple[int, ...]]

    @property
    def wide(self) -> int:
        """Outputs that are summed at the same time."""
        return self.lanes * self.beside


AVX512 = Vectors(
    "AVX-512",
    {"float32": ("avx512f",), "bfloat16": ("avx512bf16",), "int8": ("avx512vnni",)},
    16,
    4,
    InAvx512,
    {"float32": (0,), "bfloat16": (0, 1), "int8": (0, 1, 2, 3)},
)
AVX2 = Vectors(
    "AVX2",
    dict.fromkeys(STEP, ("avx2", "fma")),
    8,
    2,
    InAvx2,
    {"float32": (0,), "bfloat16": (0, 1), "int8": (0, 2, 1, 3)},  # lower bytes of two shorts first
)


def vectors_of(kind: str) -> Vectors | None:
    """Say in which vectors the processor that kernels are compiled for multiplies such numbers.

    That is this one, unless Numba is told to do without some of what it can: code for vectors that
    Numba does not know of ends the process.
    """
    target: Any = cpu_target.target_context
    _, _, features = target.codegen().magic_tuple()
    here = features.split(",")
    for vectors in (AVX512, AVX2):
        if all(f"+{name}" in here for name in vectors.needed[kind]):
            return vectors
    return None


def number(value: int) -> Any:
    """Make a constant."""
    return ir.Constant(WHOLE, value)


def load(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    """Load what lies so many bytes behind an address."""
    address = builder.add(address, number(offset))
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


def _spread(builder: Any, value: Any, lanes: int) -> Any:
    """Put a number into all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(empty, value, ir.Constant(HALF, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(HALF, lanes), [0] * lanes))
