"""Rules of the running error analysis: what each operation does to bounds on errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hlograph.execution.equivalence.arrays import FLOATS, Array
from tests.proofs.floats.bounded import Bounded, NoBoundError, Real, Value, evaluated, gamma
from tests.proofs.instructions import Instruction

_MOVES = frozenset(
    {
        "bitcast", "broadcast", "concatenate", "copy", "dynamic-slice", "dynamic-update-slice",
        "gather", "opt-barrier", "pad", "reshape", "reverse", "slice", "transpose",
    }
)  # fmt: skip

# Errors of a library's function, in units of its result: rounding.py of the package assumes 16.
_FUNCTION_ULP = 16.0


class Analysis(Protocol):
    """The analysis of a program, which runs its instructions with the computations they call."""

    def evaluated(self, instruction: Instruction, arrays: list[Array]) -> Array:
        """Returns what an instruction computes in double precision."""
        ...

    def all_evaluated(self, instruction: Instruction, arrays: list[Array]) -> list[Array]:
        """Returns the parts of the tuple that an instruction computes, or an array alone."""
        ...

    def combines_by(self, instruction: Instruction, attribute: str = "to_apply") -> list[str]:
        """Returns the opcodes by which a reduction or scatter combines elements, one a result."""
        ...


Rule = Callable[[Analysis, Instruction, list[Bounded]], Bounded]


def _moves(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Elements that are moved keep their bounds."""
    values = [operand.value for operand in operands]
    floats = [operand for operand in operands if operand.error is not None]
    if any(not operand.exact for operand in operands if operand.error is None):
        raise NoBoundError(f"{instruction} moves elements by rounded numbers")
    errors = [v if o.error is None else o.error for o, v in zip(operands, values, strict=True)]
    value, error = (analysis.evaluated(instruction, each) for each in (values, errors))
    return floats[0].moved(value, error)


def _add(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    value = a.value + b.value if instruction.opcode == "add" else a.value - b.value
    return a.rounded(value, a.bound + b.bound)


def _multiply(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    value = a.value * b.value
    error = np.abs(a.value) * b.bound + a.bound * np.abs(b.value) + a.bound * b.bound
    scales = any(each.exact and _is_scale(each.value) for each in operands)
    if scales and (np.abs(value)[value != 0] >= a.least).all():
        return a.moved(value, error)
    return a.rounded(value, error)


def _is_scale(factors: Array) -> bool:
    """Returns True for zeros and powers of two, by which products are not rounded."""
    return bool(np.isin(np.frexp(np.abs(factors))[0], (0.0, 0.5)).all())


def _divide(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    least = np.abs(b.value) - b.bound
    if not (least > 0).all():
        raise NoBoundError(f"{instruction} divides by what may be zero")
    value = a.value / b.value
    return a.rounded(value, (a.bound + np.abs(value) * b.bound) / least)


def _extreme(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    function = np.maximum if instruction.opcode == "maximum" else np.minimum
    return a.moved(function(a.value, b.value), np.maximum(a.bound, b.bound))


def _select(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    which, yes, no = operands
    value = np.where(which.value, yes.value, no.value)
    return yes.moved(value, np.where(which.value, yes.bound, no.bound))


def _clamp(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    low, a, high = operands
    error = np.maximum(np.maximum(low.bound, high.bound), a.bound)
    return a.moved(np.clip(a.value, low.value, high.value), error)


def _contraction(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Dots and convolutions: ``terms`` products, added in any order."""
    a, b = operands

    def product(x: Array, y: Array) -> Array:
        return analysis.evaluated(instruction, [x, y])

    terms = float(product(np.ones_like(a.value), np.ones_like(b.value)).max(initial=0.0))
    value = product(a.value, b.value)
    passed = product(np.abs(a.value), b.bound) + product(a.bound, b.most)
    own = gamma(terms, a.unit) * product(a.most, b.most) + terms * a.least
    return a.moved(value, passed + own)


def _reduction(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Reductions, over all elements or those of windows, by a sum, a product or an extreme."""
    if len(operands) != 2:
        raise NoBoundError(f"{instruction} reduces several arrays")
    array, start = operands
    (opcode,) = analysis.combines_by(instruction)

    def reduced(x: Array, y: Array) -> Array:
        return analysis.evaluated(instruction, [x, y])

    value = reduced(array.value, start.value)
    if opcode in ("maximum", "minimum"):
        return array.moved(value, np.full(value.shape, array.bound.max(initial=0.0)))
    ones = np.ones_like(array.value)
    if opcode == "add":
        terms = float(reduced(ones, np.zeros_like(start.value)).max(initial=0.0))
        passed = reduced(array.bound, start.bound)
        own = gamma(terms, array.unit) * reduced(array.most, start.most) + terms * array.least
        return array.moved(value, passed + own)
    if opcode == "multiply":
        terms = math.prod(array.value.shape) / max(value.size, 1)
        most = reduced(array.most, start.most)
        passed = most - reduced(np.abs(array.value), np.abs(start.value))
        return array.moved(value, passed + gamma(terms, array.unit) * most + terms * array.least)
    raise NoBoundError(f"{instruction} reduces by {opcode}")


def several_reductions(
    analysis: Analysis, instruction: Instruction, operands: list[Bounded]
) -> Value:
    """Reductions of several arrays at once, each by a sum."""
    if instruction.opcode != "reduce":
        raise NoBoundError(f"{instruction} has several results")
    if set(analysis.combines_by(instruction)) != {"add"}:
        raise NoBoundError(f"{instruction} reduces several arrays by no sum")
    arrays = operands[: len(operands) // 2]

    def reduced(of: Callable[[Bounded], Array]) -> list[Array]:
        return analysis.all_evaluated(instruction, [of(operand) for operand in operands])

    values, passed, most = (
        reduced(of) for of in (lambda x: x.value, lambda x: x.bound, lambda x: x.most)
    )
    terms = arrays[0].value.size / max(values[0].size, 1)
    return tuple(
        array.moved(value, error + gamma(terms, array.unit) * size + terms * array.least)
        for array, value, error, size in zip(arrays, values, passed, most, strict=True)
    )


def _scatter(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Scatters that add; select-and-scatter adds what an exact array selects."""
    if instruction.opcode == "scatter":
        array, which, added = operands
        (opcode,) = analysis.combines_by(instruction)
        if len(operands) != 3 or opcode not in ("add", "parameter"):
            raise NoBoundError(f"{instruction} combines by {opcode}")

        def scattered(x: Array, y: Array) -> Array:
            return analysis.evaluated(instruction, [x, which.value, y])
    else:
        which, added, array = operands
        (opcode,) = analysis.combines_by(instruction, "scatter")
        if not which.exact or opcode != "add":
            raise NoBoundError(f"{instruction} selects by rounded numbers")

        def scattered(x: Array, y: Array) -> Array:
            return analysis.evaluated(instruction, [which.value, y, x])

    value = scattered(array.value, added.value)
    passed = scattered(array.bound, added.bound)
    if opcode == "parameter":
        return array.moved(value, passed)
    ones = np.ones_like(added.value)
    terms = float(scattered(np.zeros_like(array.value), ones).max(initial=0.0))
    own = gamma(terms, array.unit) * scattered(array.most, added.most) + terms * array.least
    return array.moved(value, passed + own)


def _sort(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """A sort of one array moves no element further than the greatest error."""
    (array,) = operands
    value = analysis.evaluated(instruction, [array.value])
    return array.moved(value, np.full(value.shape, array.bound.max(initial=0.0)))


def _step(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Functions with steps, of exact arguments."""
    if not all(operand.exact for operand in operands):
        raise NoBoundError(f"{instruction} has steps, and a rounded argument")
    value = analysis.evaluated(instruction, [operand.value for operand in operands])
    return operands[0].moved(value, np.zeros(value.shape))


def _iota(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    return Bounded.given(analysis.evaluated(instruction, []), instruction.type)


def _lipschitz(function: Callable[[Any], Any], slope: Callable[[Real, Real], Any]) -> Rule:
    """Returns the rule of a function whose slope near ``x`` is at most ``slope(x, error)``."""

    def rule(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
        (x,) = operands
        with np.errstate(all="ignore"):
            value, steepest = function(x.value), slope(x.value, x.bound)
        error = np.where(x.bound > 0, steepest * x.bound, 0.0)
        if not np.isfinite(error[np.isfinite(value)]).all():
            raise NoBoundError(f"{instruction} is steep without bound")
        exact = instruction.opcode in ("negate", "abs")
        return x.moved(value, error) if exact else x.rounded(value, error, _FUNCTION_ULP)

    return rule


def _power(analysis: Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    base, exponent = operands
    if not exponent.exact or not (base.value - base.bound >= 0).all():
        raise NoBoundError(f"{instruction} is no power of positive numbers by exact ones")
    with np.errstate(all="ignore"):
        value = base.value**exponent.value
        ends = [(base.value + sign * base.bound) ** exponent.value for sign in (-1, 1)]
    error = np.maximum(*(np.abs(end - value) for end in ends))
    return base.rounded(value, np.where(base.bound > 0, error, 0.0), _FUNCTION_ULP)


def _one(x: Real, error: Real) -> Real:
    del error
    return np.ones_like(x)


def _below(x: Real, error: Real) -> Real:
    return np.maximum(x - error, 0.0)


RULES: dict[str, Rule] = {
    **dict.fromkeys(_MOVES, _moves),
    "add": _add,
    "subtract": _add,
    "multiply": _multiply,
    "divide": _divide,
    "maximum": _extreme,
    "minimum": _extreme,
    "select": _select,
    "clamp": _clamp,
    "dot": _contraction,
    "convolution": _contraction,
    "reduce": _reduction,
    "reduce-window": _reduction,
    "scatter": _scatter,
    "select-and-scatter": _scatter,
    "sort": _sort,
    "iota": _iota,
    "power": _power,
    **dict.fromkeys(("ceil", "floor", "round-nearest-even", "round-nearest-afz", "sign"), _step),
    "negate": _lipschitz(np.negative, _one),
    "abs": _lipschitz(np.abs, _one),
    "tanh": _lipschitz(np.tanh, _one),
    "sine": _lipschitz(np.sin, _one),
    "cosine": _lipschitz(np.cos, _one),
    "logistic": _lipschitz(lambda x: 1 / (1 + np.exp(-x)), _one),
    "exponential": _lipschitz(np.exp, lambda x, e: np.exp(x + e)),
    "log": _lipschitz(np.log, lambda x, e: 1 / _below(x, e)),
    "sqrt": _lipschitz(np.sqrt, lambda x, e: 1 / (2 * np.sqrt(_below(x, e)))),
    "rsqrt": _lipschitz(lambda x: x**-0.5, lambda x, e: 0.5 * _below(x, e) ** -1.5),
}


def _compare(instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    is_itself = instruction.operands[0] == instruction.operands[1]  # a test for NaN
    if not is_itself and (np.abs(a.value - b.value) <= a.bound + b.bound).any():
        raise NoBoundError(f"{instruction} compares rounded numbers that are close")
    (value,) = evaluated(instruction, [a.value, b.value])
    return Bounded(value)


def _convert(instruction: Instruction, operands: list[Bounded]) -> Bounded:
    (x,) = operands
    if instruction.type not in FLOATS:
        raise NoBoundError(f"{instruction} makes an integer of a rounded number")
    return Bounded.given(x.value, instruction.type).rounded(x.value.astype(np.float64), x.bound)


def _is_finite(instruction: Instruction, operands: list[Bounded]) -> Bounded:
    return Bounded(np.isfinite(operands[0].value))


COMPARISONS = {"compare": _compare, "convert": _convert, "is-finite": _is_finite}
