"""Bounds on rounding errors, by running error analysis of a module.

Each array is a value in float64, which stands for the exact one, and a bound on how far the
module's own array may be from it. Both follow instruction by instruction (N. J. Higham, Accuracy
and Stability of Numerical Algorithms, 2nd edition, sections 3.1 to 3.3): an operation adds ``u``
times its result, a sum or contraction of ``n`` terms ``gamma(n) = n u / (1 - n u)`` times the sum
of the absolute values of its terms, in any order of summation; and it passes on the bounds of its
operands. So two modules that are equal over the reals differ by at most the sum of their bounds.

Every instruction runs as a module of its own in XLA's reference evaluator, so windows, dimension
numbers and indices are XLA's. A comparison, an integer or an index that depends on a rounded number
has no bound, unless no error within the bound would change it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import hlograph
from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, Array, dtype_of
from tests.proofs.floats.instructions import Computation, Instruction, Program

Real = NDArray[np.float64]

_MOVES = frozenset(
    {
        "bitcast", "broadcast", "concatenate", "copy", "dynamic-slice", "dynamic-update-slice",
        "gather", "opt-barrier", "pad", "reshape", "reverse", "slice", "transpose",
    }
)  # fmt: skip

# Errors of a library's function, in units of its result: rounding.py of the package assumes 16.
_FUNCTION_ULP = 16.0


class NoBoundError(HloError):
    """Raised where an element that is not continuous depends on a rounded number."""


@dataclass(frozen=True)
class Bounded:
    """An array and how far a module's own may be from it.

    Attributes:
        value: The array: float64 for floats, else of its own type.
        error: Bounds of the same shape; None for integers and predicates, which are exact.
        unit: Half the epsilon of the module's type; 0 for integers and predicates.
        least: Least denormal of the module's type; 0 for integers and predicates.
    """

    value: Array
    error: Real | None = None
    unit: float = 0.0
    least: float = 0.0

    @classmethod
    def given(cls, array: Array, element_type: str) -> Bounded:
        """Returns an array that is exact."""
        if element_type not in FLOATS:
            return cls(array)
        info = ml_dtypes.finfo(dtype_of(element_type))
        value = array.astype(np.float64)
        # Code that runs in jaxlib takes denormals for zeros.
        least = float(info.smallest_normal)
        return cls(value, np.zeros(value.shape), float(info.eps) / 2, least)

    @property
    def exact(self) -> bool:
        """True if no element has an error."""
        return self.error is None or not self.error.any()

    @property
    def most(self) -> Real:
        """Bounds on the absolute values of the module's own array."""
        return np.abs(self.value) + self.bound

    @property
    def bound(self) -> Real:
        """The bounds; zeros for integers."""
        return np.zeros(self.value.shape) if self.error is None else self.error

    def rounded(self, value: Array, error: Array, terms: float = 1.0) -> Bounded:
        """Returns a result in the type of this array, after so many roundings.

        Args:
            value: The exact result.
            error: What the errors of its operands amount to.
            terms: Roundings, each of the absolute value of the result and its error at most.
        """
        own = gamma(terms, self.unit) * (np.abs(value) + error) + terms * self.least
        return Bounded(value, error + own, self.unit, self.least)

    def moved(self, value: Array, error: Array) -> Bounded:
        """Returns a result in the type of this array that is not rounded."""
        return Bounded(value, error, self.unit, self.least)


Value = Bounded | tuple["Value", ...]


def gamma(terms: float, unit: float) -> float:
    """Returns Higham's bound on the relative error after so many roundings.

    Raises:
        NoBoundError: There are too many for the type.
    """
    if terms * unit >= 0.5:
        raise NoBoundError(f"expected fewer than {0.5 / unit:.0f} roundings, got {terms:.0f}")
    return terms * unit / (1 - terms * unit)


def error_bounds(module: hlograph.Module, inputs: list[Array]) -> list[Bounded]:
    """Returns the outputs of a module with bounds on their errors.

    Args:
        module: The module, all of whose parameters are arrays.
        inputs: One array for each parameter, which are taken to be exact.

    Raises:
        NoBoundError: An output is not continuous in a rounded number.
        HloError: An operation is none of those that have a bound.
    """
    analysis = _Analysis(Program.of(module))
    parameters = analysis.program.main.parameters
    given: list[Value] = [
        Bounded.given(array, parameter.element_type)
        for array, parameter in zip(inputs, parameters, strict=True)
    ]
    result = analysis.run(analysis.program.main, given)
    return _leaves(result)


def _leaves(value: Value) -> list[Bounded]:
    if isinstance(value, Bounded):
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]


@dataclass
class _Analysis:
    """The analysis of one program."""

    program: Program

    def run(self, computation: Computation, given: list[Value]) -> Value:
        """Returns the result of a computation."""
        values: dict[str, Value] = {}
        for name in _needed(computation):
            instruction = computation.instructions[name]
            if instruction.opcode == "parameter":
                values[name] = given[int(instruction.operands[0])]
            elif instruction.opcode == "constant":
                (array,) = _evaluated(instruction, [])
                values[name] = Bounded.given(array, instruction.element_type)
            else:
                operands = [values[operand] for operand in instruction.operands]
                values[name] = self.apply(instruction, operands)
        return values[computation.root]

    def apply(self, instruction: Instruction, operands: list[Value]) -> Value:
        """Returns the result of an instruction."""
        opcode = instruction.opcode
        if opcode == "tuple":
            return tuple(operands)
        if opcode == "get-tuple-element":
            (index,) = instruction.numbers("index")
            parts = operands[0]
            assert isinstance(parts, tuple)
            return parts[index]
        if opcode == "while":
            return self._loop(instruction, operands[0])
        if opcode == "conditional":
            return self._branch(instruction, operands)
        if opcode == "call":
            return self.run(self.program.computations[instruction.called("to_apply")], operands)
        arrays = [operand for operand in operands if isinstance(operand, Bounded)]
        assert len(arrays) == len(operands), instruction
        if instruction.shape.startswith("("):
            return _several_reductions(self, instruction, arrays)
        if all(array.exact for array in arrays) and instruction.element_type not in FLOATS:
            return Bounded(self.evaluated(instruction, [array.value for array in arrays]))
        if opcode in ("compare", "convert", "is-finite"):
            return _COMPARISONS[opcode](instruction, arrays)
        rule = _RULES.get(opcode)
        if rule is None:
            raise HloError(f"expected an operation that has a bound, got {instruction}")
        return rule(self, instruction, arrays)

    def evaluated(self, instruction: Instruction, arrays: list[Array]) -> Array:
        """Returns what an instruction computes in float64."""
        (result,) = self.all_evaluated(instruction, arrays)
        return result

    def all_evaluated(self, instruction: Instruction, arrays: list[Array]) -> list[Array]:
        """Returns the parts of the tuple that an instruction computes, or an array alone."""
        return _evaluated(instruction, arrays, self._called(instruction))

    def combines_by(self, instruction: Instruction, attribute: str = "to_apply") -> str:
        """Returns the opcode by which a reduction or scatter combines elements."""
        computation = self.program.computations[instruction.called(attribute)]
        return computation.instructions[computation.root].opcode

    def _called(self, instruction: Instruction) -> str:
        names = re.findall(r"(?:to_apply|select|scatter)=%?([\w.\-]+)", instruction.attributes)
        return "\n\n".join(self.program.computations[name].text for name in names)

    def _loop(self, instruction: Instruction, state: Value) -> Value:
        condition, body = (
            self.program.computations[instruction.called(name)] for name in ("condition", "body")
        )
        while True:
            going = self.run(condition, [state])
            assert isinstance(going, Bounded)
            if not going.value.item():
                return state
            state = self.run(body, [state])

    def _branch(self, instruction: Instruction, operands: list[Value]) -> Value:
        which = operands[0]
        assert isinstance(which, Bounded)
        names = re.findall(r"(?:true|false)_computation=%?([\w.\-]+)", instruction.attributes)
        if not names:
            (inside,) = re.findall(r"branch_computations=\{(.*?)\}", instruction.attributes)
            names = [name.strip().lstrip("%") for name in inside.split(",")]
        number = which.value.item()
        chosen = (0 if number else 1) if isinstance(number, bool) else int(number)
        return self.run(self.program.computations[names[chosen]], [operands[1 + chosen]])


def _needed(computation: Computation) -> list[str]:
    """Returns the names of what the root depends on, operands first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        instruction = computation.instructions[name]
        if name in order:
            return
        if instruction.opcode not in ("parameter", "constant"):
            for operand in instruction.operands:
                visit(operand)
        order[name] = None

    visit(computation.root)
    return list(order)


def _wide(text: str) -> str:
    return re.sub(rf"\b({'|'.join(sorted(FLOATS, key=len, reverse=True))})\[", "f64[", text)


def _evaluated(instruction: Instruction, arrays: list[Array], called: str = "") -> list[Array]:
    """Runs one instruction in float64, and returns the parts of its result."""
    names = [f"operand{i}" for i in range(len(arrays))]
    lines = [
        f"{name} = {_type_of(array)}[{','.join(map(str, array.shape))}] parameter({i})"
        for i, (name, array) in enumerate(zip(names, arrays, strict=True))
    ]
    inside = ", ".join(names) if arrays or instruction.opcode == "iota" else instruction.operands[0]
    after = f", {instruction.attributes}" if instruction.attributes else ""
    root = f"ROOT result = {instruction.shape} {instruction.opcode}({inside}){after}"
    main = "\n".join([*lines, _wide(root)])
    module = _module(f"HloModule m\n\n{_wide(called)}\n\nENTRY e {{\n{main}\n}}\n")
    results = native().evaluate(
        module._native, [array.tobytes() for array in arrays], max_seconds=60.0
    )
    return [
        np.frombuffer(data, np.dtype(np.float64) if kind in FLOATS else dtype_of(kind)).reshape(
            [int(size) for size in sizes.split(",") if size]
        )
        for data, (kind, sizes) in zip(
            results, re.findall(r"(\w+)\[([\d,]*)\]", instruction.shape), strict=True
        )
    ]


@lru_cache(maxsize=4096)
def _module(text: str) -> hlograph.Module:
    return hlograph.Module.from_text(text)


def _type_of(array: Array) -> str:
    if array.dtype == np.float64:
        return "f64"
    if array.dtype == np.bool_:
        return "pred"
    return array.dtype.name.replace("uint", "u").replace("int", "s")


# Rules by opcode.

Rule = Callable[[_Analysis, Instruction, list[Bounded]], Bounded]


def _moves(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Elements that are moved keep their bounds."""
    values = [operand.value for operand in operands]
    floats = [operand for operand in operands if operand.error is not None]
    if any(not operand.exact for operand in operands if operand.error is None):
        raise NoBoundError(f"{instruction} moves elements by rounded numbers")
    errors = [v if o.error is None else o.error for o, v in zip(operands, values, strict=True)]
    value, error = (analysis.evaluated(instruction, each) for each in (values, errors))
    return floats[0].moved(value, error)


def _add(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    value = a.value + b.value if instruction.opcode == "add" else a.value - b.value
    return a.rounded(value, a.bound + b.bound)


def _multiply(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
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


def _divide(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    least = np.abs(b.value) - b.bound
    if not (least > 0).all():
        raise NoBoundError(f"{instruction} divides by what may be zero")
    value = a.value / b.value
    return a.rounded(value, (a.bound + np.abs(value) * b.bound) / least)


def _extreme(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    a, b = operands
    function = np.maximum if instruction.opcode == "maximum" else np.minimum
    return a.moved(function(a.value, b.value), np.maximum(a.bound, b.bound))


def _select(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    which, yes, no = operands
    value = np.where(which.value, yes.value, no.value)
    return yes.moved(value, np.where(which.value, yes.bound, no.bound))


def _clamp(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    low, a, high = operands
    error = np.maximum(np.maximum(low.bound, high.bound), a.bound)
    return a.moved(np.clip(a.value, low.value, high.value), error)


def _contraction(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Dots and convolutions: ``terms`` products, added in any order."""
    a, b = operands

    def product(x: Array, y: Array) -> Array:
        return analysis.evaluated(instruction, [x, y])

    terms = float(product(np.ones_like(a.value), np.ones_like(b.value)).max(initial=0.0))
    value = product(a.value, b.value)
    passed = product(np.abs(a.value), b.bound) + product(a.bound, b.most)
    own = gamma(terms, a.unit) * product(a.most, b.most) + terms * a.least
    return a.moved(value, passed + own)


def _reduction(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Reductions, over all elements or those of windows, by a sum, a product or an extreme."""
    if len(operands) != 2:
        raise NoBoundError(f"{instruction} reduces several arrays")
    array, start = operands
    opcode = analysis.combines_by(instruction)

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


def _several_reductions(
    analysis: _Analysis, instruction: Instruction, operands: list[Bounded]
) -> Value:
    """Reductions of several arrays at once, each by a sum."""
    if instruction.opcode != "reduce":
        raise NoBoundError(f"{instruction} has several results")
    combined = analysis.program.computations[instruction.called("to_apply")]
    parts = combined.instructions[combined.root].operands
    if any(combined.instructions[part].opcode != "add" for part in parts):
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


def _scatter(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Scatters that add; select-and-scatter adds what an exact array selects."""
    if instruction.opcode == "scatter":
        array, which, added = operands
        opcode = analysis.combines_by(instruction)
        if len(operands) != 3 or opcode not in ("add", "parameter"):
            raise NoBoundError(f"{instruction} combines by {opcode}")

        def scattered(x: Array, y: Array) -> Array:
            return analysis.evaluated(instruction, [x, which.value, y])
    else:
        which, added, array = operands
        opcode = analysis.combines_by(instruction, "scatter")
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


def _sort(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """A sort of one array moves no element further than the greatest error."""
    (array,) = operands
    value = analysis.evaluated(instruction, [array.value])
    return array.moved(value, np.full(value.shape, array.bound.max(initial=0.0)))


def _step(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    """Functions with steps, of exact arguments."""
    if not all(operand.exact for operand in operands):
        raise NoBoundError(f"{instruction} has steps, and a rounded argument")
    value = analysis.evaluated(instruction, [operand.value for operand in operands])
    return operands[0].moved(value, np.zeros(value.shape))


def _iota(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
    return Bounded.given(analysis.evaluated(instruction, []), instruction.element_type)


def _lipschitz(function: Callable[[Any], Any], slope: Callable[[Real, Real], Any]) -> Rule:
    """Returns the rule of a function whose slope near ``x`` is at most ``slope(x, error)``."""

    def rule(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
        (x,) = operands
        with np.errstate(all="ignore"):
            value, steepest = function(x.value), slope(x.value, x.bound)
        error = np.where(x.bound > 0, steepest * x.bound, 0.0)
        if not np.isfinite(error[np.isfinite(value)]).all():
            raise NoBoundError(f"{instruction} is steep without bound")
        exact = instruction.opcode in ("negate", "abs")
        return x.moved(value, error) if exact else x.rounded(value, error, _FUNCTION_ULP)

    return rule


def _power(analysis: _Analysis, instruction: Instruction, operands: list[Bounded]) -> Bounded:
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


_RULES: dict[str, Rule] = {
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
    (value,) = _evaluated(instruction, [a.value, b.value])
    return Bounded(value)


def _convert(instruction: Instruction, operands: list[Bounded]) -> Bounded:
    (x,) = operands
    if instruction.element_type not in FLOATS:
        raise NoBoundError(f"{instruction} makes an integer of a rounded number")
    return Bounded.given(x.value, instruction.element_type).rounded(
        x.value.astype(np.float64), x.bound
    )


def _is_finite(instruction: Instruction, operands: list[Bounded]) -> Bounded:
    return Bounded(np.isfinite(operands[0].value))


_COMPARISONS = {"compare": _compare, "convert": _convert, "is-finite": _is_finite}
