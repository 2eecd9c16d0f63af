"""Random instructions that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tests.campaigns.random_programs.builder import (
    ALL_TYPES,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    PARTS,
    SIGNED,
    Builder,
    Value,
)

_BITS = ("pred", *INTEGERS)
_ORDERED = ("pred", *INTEGERS, *FLOATS)

UNARY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ceil", "floor", "round-nearest-afz", "round-nearest-even"), FLOATS),
    **dict.fromkeys(("cbrt", "erf"), FLOATS),
    **dict.fromkeys(
        (
            "cosine",
            "exponential",
            "exponential-minus-one",
            "log",
            "log-plus-one",
            "logistic",
            "rsqrt",
            "sine",
            "sqrt",
            "tan",
            "tanh",
        ),
        FLOATS + COMPLEX,
    ),
    "not": _BITS,
    "popcnt": INTEGERS,
    "count-leading-zeros": INTEGERS,
    "negate": NUMBERS,
    "sign": SIGNED + FLOATS + COMPLEX,
    "copy": ALL_TYPES,
}
"""Element types of opcodes with one operand, whose result has its type."""

BINARY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "subtract", "multiply"), NUMBERS),
    **dict.fromkeys(("divide", "power"), NUMBERS),
    "remainder": INTEGERS + FLOATS,
    **dict.fromkeys(("maximum", "minimum"), _ORDERED),
    **dict.fromkeys(("and", "or", "xor"), _BITS),
    **dict.fromkeys(("shift-left", "shift-right-arithmetic", "shift-right-logical"), INTEGERS),
    "atan2": FLOATS,
}
"""Element types of opcodes with two operands, whose result has their type."""

_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _unary(opcode: str, b: Builder) -> Value:
    x = b.value(UNARY[opcode])
    return b.op(opcode, x.type, x.dims, [x])


def _binary(opcode: str, b: Builder) -> Value:
    x = b.value(BINARY[opcode])
    return b.op(opcode, x.type, x.dims, [x, b.alike(x)])


def _abs(b: Builder) -> Value:
    x = b.value(SIGNED + FLOATS + COMPLEX)
    return b.op("abs", PARTS.get(x.type, x.type), x.dims, [x])


def _part(opcode: str, b: Builder) -> Value:
    x = b.value(COMPLEX)
    return b.op(opcode, PARTS[x.type], x.dims, [x])


def _complex(b: Builder) -> Value:
    x = b.value(("f32", "f64"))
    return b.op("complex", {"f32": "c64", "f64": "c128"}[x.type], x.dims, [x, b.alike(x)])


def _is_finite(b: Builder) -> Value:
    x = b.value(FLOATS)
    return b.op("is-finite", "pred", x.dims, [x])


def _compare(b: Builder) -> Value:
    x = b.value(_ORDERED + COMPLEX)
    direction = b.rng.choice(_DIRECTIONS[:2] if x.type in COMPLEX else _DIRECTIONS)
    total = ", type=TOTALORDER" if x.type in FLOATS and b.rng.random() < 0.2 else ""
    return b.op("compare", "pred", x.dims, [x, b.alike(x)], f"direction={direction}{total}")


def _select(b: Builder) -> Value:
    x = b.value(ALL_TYPES)
    chosen = b.value(("pred",), range(1)) if b.rng.random() < 0.2 else b.alike(x, "pred")
    if chosen.dims != x.dims:
        chosen = b.op("broadcast", "pred", x.dims, [chosen], "dimensions={}")
    return b.op("select", x.type, x.dims, [chosen, x, b.alike(x)])


def _clamp(b: Builder) -> Value:
    x = b.value(INTEGERS + FLOATS)
    low, high = b.alike(x), b.alike(x)
    return b.op("clamp", x.type, x.dims, [low, x, high])


def _convert(b: Builder) -> Value:
    x = b.value(ALL_TYPES)
    into = b.type(COMPLEX) if x.type in COMPLEX else b.type(ALL_TYPES)
    return b.op("convert", into, x.dims, [x])


def _bitcast_convert(b: Builder) -> Value:
    of_bits = {
        bits: [f"s{bits}", f"u{bits}", *(name for name in FLOATS if width(name) == bits)]
        for bits in (8, 16, 32, 64)
    }
    x = b.value((*(name for names in of_bits.values() for name in names),))
    bits = b.rng.choice((8, 16, 32, 64))
    wide = width(x.type)
    if bits > wide and (not x.dims or x.dims[-1] != bits // wide):
        bits = wide
    dims = x.dims
    if bits > wide:
        dims = x.dims[:-1]
    elif bits < wide:
        dims = (*x.dims, wide // bits)
    if len(dims) > 8:
        bits, dims = wide, x.dims
    return b.op("bitcast-convert", b.type(of_bits[bits]), dims, [x])


def _reduce_precision(b: Builder) -> Value:
    x = b.value(FLOATS)
    exponent, mantissa = b.rng.choice(((8, 7), (5, 10), (4, 3), (5, 2), (3, 0), (8, 23), (11, 52)))
    attributes = f"exponent_bits={exponent}, mantissa_bits={mantissa}"
    return b.op("reduce-precision", x.type, x.dims, [x], attributes)


def _constant(b: Builder) -> Value:
    element_type = b.type(INTEGERS + FLOATS)
    literals = ("0", "1") if element_type in INTEGERS else ("0", "-0", "1.5", "inf", "nan", "1e-3")
    return b.constant(element_type, b.rng.choice(literals))


def width(element_type: str) -> int:
    """Returns the bits of an integer or a float of at least 16 bits."""
    return 16 if element_type == "bf16" else int(element_type[1:])


DRAWS: Mapping[str, Callable[[Builder], Value]] = {
    **{opcode: partial(_unary, opcode) for opcode in UNARY},
    **{opcode: partial(_binary, opcode) for opcode in BINARY},
    **{opcode: partial(_part, opcode) for opcode in ("real", "imag")},
    "abs": _abs,
    "complex": _complex,
    "is-finite": _is_finite,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
    "convert": _convert,
    "bitcast-convert": _bitcast_convert,
    "reduce-precision": _reduce_precision,
    "constant": _constant,
}
"""Functions that add an instruction of an opcode."""
