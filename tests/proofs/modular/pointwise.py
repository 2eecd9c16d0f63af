"""Operations on elements: of residues by a field, of integers as XLA defines them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.proofs.modular.fields import Field, Residues, UndecidedError
from tests.proofs.modular.programs import Instruction
from tests.proofs.modular.values import Array, Leaf, array, moved

# Functions of one number that are no polynomials, but known for small dyadic numbers.
_ROUNDING: Mapping[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round-nearest-even": np.rint,
    "round-nearest-afz": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}

UNINTERPRETED = frozenset(
    {
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan2",
        "atanh",
        "cbrt",
        "complex",
        "cosine",
        "cosh",
        "erf",
        "exponential",
        "exponential-minus-one",
        "imag",
        "log",
        "log-plus-one",
        "logistic",
        "power",
        "real",
        "remainder",
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    }
)
"""Functions of residues of which nothing but their arguments counts."""

_COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}

_INTEGERS: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": lambda a, b: a | b if a.dtype == bool else a + b,
    "and": operator.and_,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": lambda a, b: a & b if a.dtype == bool else a * b,
    "negate": operator.neg,
    "not": operator.invert,
    "or": operator.or_,
    "popcnt": lambda a: np.bitwise_count(a).astype(a.dtype),
    "sign": np.sign,
    "subtract": operator.sub,
    "xor": operator.xor,
}


def on_elements(field: Field, instruction: Instruction, values: list[Leaf]) -> Leaf:
    """Returns the result of an operation on elements.

    Raises:
        UndecidedError: The operation is not defined here.
    """
    opcode = instruction.opcode
    if opcode == "select":
        return select(*values)
    if opcode == "clamp":
        low, value, high = values
        return _extreme(field, "minimum", _extreme(field, "maximum", low, value), high)
    if opcode == "compare":
        return _compared(field, instruction, *values)
    if opcode in ("maximum", "minimum"):
        return _extreme(field, opcode, *values)
    numbers = [value for value in values if isinstance(value, Residues)]
    if instruction.is_float or numbers:
        if len(numbers) == len(values):
            return _on_residues(field, opcode, numbers)
        raise UndecidedError(f"{opcode} mixes integers and floats")
    return _on_integers(opcode, [array(value) for value in values])


def select(condition: Leaf, on_true: Leaf, on_false: Leaf) -> Leaf:
    """Returns elements of either of two arrays."""
    return moved(lambda a, b: np.where(array(condition), a, b), on_true, on_false)


def converted(field: Field, instruction: Instruction, value: Leaf) -> Leaf:
    """Returns numbers of another type; of floats that are not known, uninterpreted integers."""
    if instruction.is_float:
        return value if isinstance(value, Residues) else field.integers(value)
    if not isinstance(value, Residues):
        if instruction.element_type == "pred":
            return value != 0
        return value.astype(instruction.dtype)
    if instruction.element_type == "pred":
        return value.data != 0
    known = field.known(value)
    limits = np.iinfo(instruction.dtype)
    hashed = field.function("convert", value).data & np.uint64(min(limits.max, 2**30 - 1))
    whole = np.clip(np.trunc(np.nan_to_num(known)), max(limits.min, -(2**31)), limits.max)
    return np.where(np.isnan(known), hashed.astype(np.float64), whole).astype(instruction.dtype)


def reinterpreted(field: Field, instruction: Instruction, value: Leaf) -> Leaf:
    """Returns the bits of 32-bit floats, floats of bits, or other integers of the same bits.

    Raises:
        UndecidedError: The types are of another width.
    """
    is_float, data = isinstance(value, Residues), array(value)
    if not is_float and not instruction.is_float:
        if data.dtype.itemsize == instruction.dtype.itemsize:
            return data.view(instruction.dtype)
    elif instruction.dtype.itemsize == 4 and instruction.element_type != "c64":
        if is_float and instruction.is_float:
            return value
        if isinstance(value, Residues):
            field.has_order = True
            return field.bits(value).view(instruction.dtype)
        if data.dtype.itemsize == 4:
            field.has_order = True
            return field.from_bits(data.view(np.uint32))
    raise UndecidedError(f"the bits of {instruction.element_type} are used")


def _compared(field: Field, instruction: Instruction, a: Leaf, b: Leaf) -> Leaf:
    direction = instruction.proto.comparison_direction
    compare = _COMPARISONS[direction]
    if not isinstance(a, Residues) or not isinstance(b, Residues):
        return np.asarray(compare(array(a), array(b)))
    unordered = field.is_nan(a) | field.is_nan(b)
    total = instruction.proto.comparison_type == "TOTALORDER"
    if direction in ("EQ", "NE"):
        result = compare(*(field.bits(each) for each in (a, b)))
        if not total:
            zeros = [np.where(field.bits(each) == 1 << 31, 0, field.bits(each)) for each in (a, b)]
            result = compare(*zeros)
        field.comparisons += result.size
        field.degree = max(field.degree, a.degree.of_difference, b.degree.of_difference)
    else:
        result = compare(*field.keys(a, b))
    return result if total else np.where(unordered, direction == "NE", result)


def _extreme(field: Field, opcode: str, a: Leaf, b: Leaf) -> Leaf:
    if not isinstance(a, Residues) or not isinstance(b, Residues):
        return _INTEGERS[opcode](array(a), array(b))
    first, second = field.keys(a, b)
    is_first = first >= second if opcode == "maximum" else first <= second
    is_first = (is_first | field.is_nan(a)) & ~field.is_nan(b)
    return moved(lambda x, y: np.where(is_first, x, y), a, b)


def _on_residues(field: Field, opcode: str, values: list[Residues]) -> Leaf:
    match opcode:
        case "add":
            return field.add(*values)
        case "subtract":
            return field.subtract(*values)
        case "multiply":
            return field.multiply(*values)
        case "divide":
            return field.divide(*values)
        case "negate":
            return field.negate(*values)
        case "is-finite":
            return field.is_finite(*values)
        case "reduce-precision":
            return values[0]
        case "abs" | "sign":
            return _by_sign(field, opcode, values[0])
        case "power":
            return _power(field, *values)
    if opcode in _ROUNDING:
        known = _ROUNDING[opcode](field.known(values[0]))
        is_known = ~np.isnan(known)
        whole = field.integers(np.nan_to_num(known).astype(np.int64))
        return select(is_known, whole, field.function(opcode, values[0]))
    if opcode in UNINTERPRETED:
        return field.function(opcode, *values)
    raise UndecidedError(f"{opcode} of floats")


def _by_sign(field: Field, opcode: str, value: Residues) -> Leaf:
    (keys,) = field.keys(value)
    if opcode == "abs":
        return select(keys < 0, field.negate(value), value)
    return field.integers(np.sign(keys))


def _power(field: Field, base: Residues, exponent: Residues) -> Leaf:
    known = field.known(exponent)
    distinct = np.unique(known)
    if len(distinct) == 1 and float(distinct[0]).is_integer() and abs(distinct[0]) <= 64:
        wide = np.broadcast_arrays(base.data, exponent.data)[0]
        return field.power(Residues(wide, base.degree), int(distinct[0]))
    return field.function("power", base, exponent)


def _on_integers(opcode: str, values: list[Array]) -> Array:
    if opcode in _INTEGERS:
        with np.errstate(over="ignore"):
            return np.asarray(_INTEGERS[opcode](*values))
    match opcode:
        case "divide" | "remainder":
            return _divided(opcode, *values)
        case "shift-left" | "shift-right-logical" | "shift-right-arithmetic":
            return _shifted(opcode, *values)
        case "power":
            return np.power(values[0], np.maximum(values[1], 0))
    raise UndecidedError(f"{opcode} of integers")


def _divided(opcode: str, a: Array, b: Array) -> Array:
    """Divides towards zero; by zero, the quotient is -1 and the remainder is a."""
    with np.errstate(over="ignore"):
        divisor = np.where(b == 0, b.dtype.type(1), b)
        rest = np.fmod(a, divisor)
        if opcode == "remainder":
            return np.where(b == 0, a, rest).astype(a.dtype)
        ones = ~np.zeros((), a.dtype)
        return np.where(b == 0, ones, (a - rest) // divisor).astype(a.dtype)


def _shifted(opcode: str, a: Array, amount: Array) -> Array:
    width = 8 * a.dtype.itemsize
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    is_inside = (amount >= 0) & (amount < width)
    if opcode == "shift-right-arithmetic":
        signed = a.view(np.dtype(f"i{a.dtype.itemsize}"))
        steps = np.where(is_inside, amount, width - 1).astype(signed.dtype)
        return np.right_shift(signed, steps).view(a.dtype)
    steps = np.where(is_inside, amount, 0).astype(unsigned)
    shift = np.left_shift if opcode == "shift-left" else np.right_shift
    shifted = shift(np.ascontiguousarray(a).view(unsigned), steps)
    return np.where(is_inside, shifted, unsigned.type(0)).view(a.dtype)
