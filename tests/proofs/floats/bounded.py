"""Arrays with bounds on their errors, and single instructions run in double precision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import hlograph
from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, Array, dtype_of
from tests.proofs.instructions import Instruction

Real = NDArray[np.float64]


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


def in_double(text: str) -> str:
    """Returns HLO text with all floats in double precision."""
    return re.sub(rf"\b({'|'.join(sorted(FLOATS, key=len, reverse=True))})\[", "f64[", text)


def evaluated(instruction: Instruction, arrays: list[Array], called: str = "") -> list[Array]:
    """Runs one instruction in float64, and returns the parts of its result."""
    names = [f"operand{i}" for i in range(len(arrays))]
    lines = [
        f"{name} = {_type_of(array)}[{','.join(map(str, array.shape))}] parameter({i})"
        for i, (name, array) in enumerate(zip(names, arrays, strict=True))
    ]
    inside = ", ".join(names) if arrays or instruction.opcode == "iota" else instruction.operands[0]
    after = f", {instruction.tail}" if instruction.attributes else ""
    root = f"ROOT result = {instruction.shape} {instruction.opcode}({inside}){after}"
    main = "\n".join([*lines, in_double(root)])
    module = _module(f"HloModule m\n\n{in_double(called)}\n\nENTRY e {{\n{main}\n}}\n")
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
