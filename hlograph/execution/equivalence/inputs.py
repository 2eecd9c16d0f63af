"""Random inputs that fit the way a module uses its parameters."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from hlograph.execution.equivalence.arrays import (
    COMPLEX_PARTS,
    FLOATS,
    INEXACT,
    Array,
    ArraySpec,
    dtype_of,
)
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.uses import Uses, uses_of

# Bound of integers of unknown use, which include trip counts, steps and sizes.
_SMALL = 8


class InputMaker:
    """Makes random inputs of one module. The uses of its parameters are analysed once.

    The distribution of each parameter is the first one that applies:

    =============================  =====================================================
    predicate                      true or false, evenly
    integer, an index              uniform from 0 to the last index that every use takes
    integer, used for its bits     uniform over the whole type (a random key)
    integer of 8 bits              uniform over the whole type (an image)
    other integer                  uniform from 0 to 7
    float, operand of cholesky     positive definite: A A' / n + I
    float, of triangular-solve     triangular part dominated by its diagonal
    float, a scalar, or an operand
    of log, sqrt, division, power  uniform in (0.05, 0.95): a probability, a variance, a rate
    float, an operand of a dot     normal, divided by the root of the number of terms
    other float or complex         standard normal
    =============================  =====================================================

    Args:
        flow: Data flow of the module.
        specs: The leaves of its parameters.
    """

    def __init__(self, flow: Flow, specs: tuple[ArraySpec, ...]) -> None:
        entry = flow.parameters[flow.entry]
        self.specs = specs
        self.uses = tuple(uses_of(flow, (entry[spec.path[0]], spec.path[1:])) for spec in specs)

    def make(self, seed: int, sample: int) -> list[Array]:
        """Returns one array for each leaf of the parameters.

        Args:
            seed: Seed of the comparison.
            sample: Number of the sample; each sample has its own random numbers.
        """
        return [
            _array(np.random.default_rng([seed, sample, number]), spec, uses)
            for number, (spec, uses) in enumerate(zip(self.specs, self.uses, strict=True))
        ]


def perturbed(inputs: list[Array], specs: tuple[ArraySpec, ...], seed: int) -> list[Array]:
    """Returns inputs whose floats are moved up or down by one epsilon at random.

    Integers and predicates are not changed.

    Args:
        inputs: The original inputs; they are not modified.
        specs: Descriptions of the inputs.
        seed: Seed of the signs.
    """
    rng = np.random.default_rng([seed, len(inputs)])
    return [
        _moved(rng, array, spec.element_type) for array, spec in zip(inputs, specs, strict=True)
    ]


def _moved(rng: np.random.Generator, array: Array, element_type: str) -> Array:
    if element_type not in INEXACT:
        return array
    epsilon = float(ml_dtypes.finfo(dtype_of(COMPLEX_PARTS.get(element_type, element_type))).eps)
    wide = array.astype(np.complex128 if element_type in COMPLEX_PARTS else np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # the largest numbers become infinite
        moved = wide * (1 + epsilon * rng.choice((-1.0, 1.0), array.shape))
        return moved.astype(array.dtype)


def _array(rng: np.random.Generator, spec: ArraySpec, uses: Uses) -> Array:
    dtype = dtype_of(spec.element_type)
    if spec.element_type == "pred":
        return rng.random(spec.dims) < 0.5
    if spec.element_type in COMPLEX_PARTS:
        parts = rng.standard_normal((2, *spec.dims))
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if spec.element_type in FLOATS:
        return np.asarray(_floats(rng, spec.dims, uses)).astype(dtype)
    return _integers(rng, spec.dims, dtype, uses)


def _integers(
    rng: np.random.Generator, dims: tuple[int, ...], dtype: np.dtype[Any], uses: Uses
) -> Array:
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max) + 1
    if uses.bounds:
        low, high = 0, min(high, min((b for b in uses.bounds if b > 1), default=1))
    elif not uses.bits and dtype.itemsize > 1:
        low, high = 0, _SMALL
    # The widest type of the sign has both bounds of all types; numpy draws the same numbers in it.
    return rng.integers(low, high, dims, dtype=np.int64 if low < 0 else np.uint64).astype(dtype)


def _floats(rng: np.random.Generator, dims: tuple[int, ...], uses: Uses) -> Array:
    rows, columns = dims[-2:] if len(dims) >= 2 else (0, 1)
    if rows == columns and uses.positive_definite:
        a = rng.standard_normal(dims)
        return a @ np.swapaxes(a, -1, -2) / rows + np.eye(rows)
    if rows == columns and uses.triangular:
        return rng.uniform(-0.5, 0.5, dims) / math.sqrt(rows) + np.eye(rows)
    if uses.unit or not dims:
        return rng.uniform(0.05, 0.95, dims)
    return rng.standard_normal(dims) / math.sqrt(max(uses.contracted, 1))
