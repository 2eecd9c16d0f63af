"""Kinds of operations, by what XLA:CPU can make of them."""

from __future__ import annotations

from hlograph.reading.hlo_editing import Computation, Instruction

ELEMENTWISE = frozenset(
    [
        "abs",
        "add",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "complex",
        "convert",
        "cosine",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "imag",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "popcnt",
        "power",
        "real",
        "reduce-precision",
        "remainder",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "sine",
        "sqrt",
        "subtract",
        "tan",
        "tanh",
        "xor",
        "count-leading-zeros",
        "bitcast-convert",
        "copy",
    ]
)
"""Operations that compute each element from the elements at its place."""

LOOP = ELEMENTWISE | frozenset(
    [
        "bitcast",
        "broadcast",
        "concatenate",
        "dynamic-slice",
        "gather",
        "iota",
        "pad",
        "reduce",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ]
)
"""Operations that XLA computes element by element within a loop fusion."""

CHEAP = frozenset(
    ["parameter", "constant", "bitcast", "reshape", "tuple", "get-tuple-element", "iota"]
)
"""Operations that are not worth a kernel."""

PLAIN = frozenset(("dot", "convolution"))
"""Operations that have code of their own and no kernel of a loop."""

IN_PLACE = frozenset(("dynamic-update-slice", "scatter"))
"""Operations of a fusion that write into the buffer of an operand."""


def is_cheap(one: Instruction, computation: Computation) -> bool:
    """Returns True if an instruction is not worth a kernel: constants, and what repeats them."""
    if one.opcode == "broadcast":
        return computation.by_name[one.operands[0]].opcode == "constant"
    return one.opcode in CHEAP


def is_loop_fusion(one: Instruction) -> bool:
    """Returns True for a fusion that is computed element by element."""
    return one.opcode == "fusion" and one.kind == "kLoop"


def is_library_fusion(one: Instruction) -> bool:
    """Returns True for a fusion that a library computes."""
    return one.opcode == "fusion" and one.kind == "kCustom"
