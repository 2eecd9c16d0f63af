"""Comparison of two arrays element by element, by how far each element moves with the roundings.

An array compared at its own scale (``verdict``) says nothing about elements that are small beside
the others. How exact such an element is depends on its own terms: ``x`` alone has all digits, but
``(x + 1e8) - 1e8`` has none. So the module runs with other roundings, as in Monte Carlo arithmetic
(D. S. Parker, Monte Carlo Arithmetic, UCLA, 1997): each result of floating point is moved by one or
two epsilons, and by as many of the least normal number, since XLA:CPU makes subnormal ones zero.
The largest change of an element in several runs is what its terms allow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from hlograph.execution.equivalence.arrays import (
    COMPLEX_PARTS,
    FLOATS,
    Array,
    dtype_of,
    is_integral,
)
from hlograph.execution.equivalence.rounding import EXACT, FUNCTIONS
from hlograph.execution.equivalence.verdict import root_mean_square
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

_ROUNDED = frozenset({"bf16", "f16", "f32", "f64", "c64", "c128"})
_COARSE = FLOATS - _ROUNDED
_CALLING = frozenset({"call", "conditional", "custom-call", "fusion", "while"})
# Of exact ones, those that bring in numbers, which may be subnormal.
_SOURCES = frozenset({"bitcast-convert", "parameter"})
_STEPS = (-2, -1, 1, 2)
# Functions may be wrong by this many epsilons, and near their zeros by epsilons of 1.
_OF_FUNCTIONS = 4
_RELATIVE = frozenset({"exponential", "cbrt", "rsqrt", "power"})

SAME_AT_MOST = 0.01
"""Relative error that rounding explains at most."""

_FACTOR = 8.0


def apart(array: Array, expected: Array) -> Array:
    """Returns where two arrays differ by more than rounding can explain, at the array's scale."""
    if is_integral(array):
        return array != expected
    a, b = _wide(array), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = root_mean_square(np.abs(b[np.isfinite(b)]))
        near = np.abs(a - b) <= SAME_AT_MOST * np.maximum(np.abs(b), scale)
    return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def apart_alone(array: Array, expected: Array) -> Array:
    """Returns where finite elements differ by more than one part in a hundred of themselves."""
    if is_integral(array):
        return np.zeros(array.shape, np.bool_)
    a, b = _wide(array), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        return np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) > SAME_AT_MOST * size)


def distance(array: Array, other: Array) -> Array:
    """Returns the distance of each two elements; infinite if one alone is NaN or infinite."""
    a, b = _wide(array), _wide(other)
    with np.errstate(invalid="ignore", over="ignore"):
        apart_by = np.abs(a - b)
    if is_integral(array):  # large ones may be equal as floats
        return np.where(array == other, 0.0, np.maximum(apart_by, 1.0))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(apart_by), np.inf, apart_by))


def within(array: Array, expected: Array, allowances: Array) -> Array:
    """Returns where elements differ by no more than their own terms allow.

    Args:
        array: The array.
        expected: The expected array.
        allowances: By how much rounding may change each element.
    """
    with np.errstate(over="ignore"):
        return distance(array, expected) <= _FACTOR * allowances


def _wide(array: Array) -> Array:
    """Returns an array as float64 or complex128; large integers lose digits."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def coarsest(module: ModuleText) -> float:
    """Returns the largest epsilon of a module's floats; 0 if it has none that can be moved.

    Types of 8 bits or fewer have no small elements that a hundredth of their size would tell apart.
    """
    types = {
        shape.type
        for computation in module.computations.values()
        for op in computation.instructions
        if (shape := array_shape(op.shape)) is not None
    }
    if types & _COARSE:
        return 0.0
    return max((_epsilon(name) for name in types & _ROUNDED), default=0.0)


def with_moved_roundings(module: ModuleText, seed: int) -> ModuleText:
    """Returns a module whose results of floating point are moved, each by some epsilons.

    Args:
        module: The module; it is not changed.
        seed: Seed of the numbers of epsilons, one for each instruction.
    """
    rng = random.Random(seed)
    moved = ModuleText(module.header, {})
    for name, computation in module.computations.items():
        instructions = [
            each
            for op in computation.instructions
            for each in _moved(module, op, rng, computation.is_entry)
        ]
        moved.computations[name] = Computation(
            name, computation.is_entry, instructions, computation.tail, computation.sign
        )
    return moved


def _moved(
    module: ModuleText, op: Instruction, rng: random.Random, is_entry: bool
) -> Iterator[Instruction]:
    """Yields an instruction, and what moves its result, under its name."""
    shape = array_shape(op.shape)
    is_moved = op.opcode not in EXACT | _CALLING or op.opcode in _SOURCES
    is_moved &= is_entry or op.opcode != "parameter"
    if shape is None or shape.type not in _ROUNDED or not is_moved:
        yield op.copy(op.name)
        return
    epsilon, least = _epsilon(shape.type), _least(shape.type)
    if op.opcode == "reduce-precision":
        epsilon = max(epsilon, 2.0 ** -int(op.attributes["mantissa_bits"]))
    if op.opcode in FUNCTIONS:
        epsilon *= _OF_FUNCTIONS
        least = least if op.opcode in _RELATIVE else epsilon
    before = op.copy(module.fresh(op.name))
    before.is_root = False
    yield before
    factor = f"{1 + rng.choice(_STEPS) * epsilon!r}"
    summand = f"{rng.choice(_STEPS) * least!r}"
    if shape.type in COMPLEX_PARTS:
        factor = f"({factor}, {rng.choice(_STEPS) * epsilon!r})"
        summand = f"({summand}, {rng.choice(_STEPS) * least!r})"
    at = before.name
    for opcode, number in (("multiply", factor), ("add", summand)):
        scalar = Instruction(
            module.fresh(f"{op.name}.move"), f"{shape.type}[]", "constant", [], sign=op.sign
        )
        scalar.argument = number
        yield scalar
        operand = scalar.name
        if shape.dimensions:
            operand = module.fresh(f"{op.name}.moves")
            spread = {"dimensions": "{}"}
            yield Instruction(operand, op.shape, "broadcast", [scalar.name], spread, sign=op.sign)
        is_last = opcode == "add"
        name = op.name if is_last else module.fresh(f"{op.name}.moved")
        yield Instruction(
            name, op.shape, opcode, [at, operand], is_root=is_last and op.is_root, sign=op.sign
        )
        at = name


def _epsilon(element_type: str) -> float:
    return float(ml_dtypes.finfo(_part(element_type)).eps)


def _least(element_type: str) -> float:
    """Returns the least number that is kept; XLA:CPU computes f16 in f32, which has all of them."""
    if element_type == "f16":
        return 0.0
    return float(ml_dtypes.finfo(_part(element_type)).smallest_normal)


def _part(element_type: str) -> np.dtype:
    return dtype_of(COMPLEX_PARTS.get(element_type, element_type))
