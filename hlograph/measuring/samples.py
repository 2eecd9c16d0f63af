"""Inputs on which a program with a plan is compared with the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, FLOATS, Array
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.programs import Program

# Factors for all floats; in 16-bit types the squares of the first are still finite.
_LARGE, _TINY = 128.0, 1e-12
# Share of the elements that are infinite, of each sign, in arrays of at least so many.
_SHARE_INFINITE, _LEAST_SIZE = 0.01, 8

_Change = Callable[[Array, np.random.Generator], Array]


class Sample(NamedTuple):
    """Inputs of one comparison.

    Attributes:
        name: Kind of the inputs.
        inputs: One array for each parameter.
        adversarial: True for inputs that are chosen to break a plan. Outputs are compared where
            those of the default are finite.
    """

    name: str
    inputs: list[Array]
    adversarial: bool = False


class Samples:
    """Makes the inputs of one program.

    Args:
        program: The program.
        given: Inputs of the user, one array for each parameter; None without them.
        seed: Seed of the random numbers.
    """

    def __init__(self, program: Program, given: Sequence[Array] | None, seed: int) -> None:
        self._given, self._seed = given, seed
        self.flow = Flow(program.module().graph())
        self._specs = program.signature.parameters
        self._maker = InputMaker(self.flow, self._specs)

    @cached_property
    def usual(self) -> list[Sample]:
        """The user's inputs, if there are any, and two sets of random ones."""
        samples = [Sample(f"random {n}", self._maker.make(self._seed, n)) for n in range(2)]
        if self._given is not None:
            samples.insert(0, Sample("given", list(self._given)))
        return samples

    def adversarial(self) -> Iterator[Sample]:
        """Yields inputs with zeros, large, tiny, negative, equal and infinite floats.

        Integers and predicates are those of the first usual sample, because they may be indices.
        """
        for name, change in _CHANGES.items():
            rng = np.random.default_rng([self._seed, 1])
            yield Sample(name, [self._changed(change, rng, *one) for one in self._base()], True)

    def _base(self) -> Iterator[tuple[Array, str]]:
        types = (spec.element_type for spec in self._specs)
        return zip(self.usual[0].inputs, types, strict=True)

    def _changed(
        self, change: _Change, rng: np.random.Generator, array: Array, element_type: str
    ) -> Array:
        if element_type not in FLOATS and element_type not in COMPLEX_PARTS:
            return array
        # In a wide type, because numpy knows few rules for 16 and 8 bits.
        wide = array.astype(np.complex128 if element_type in COMPLEX_PARTS else np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(change(wide, rng)).astype(array.dtype)


def _with_infinities(array: Array, rng: np.random.Generator) -> Array:
    """Returns an array with some elements infinite; a small one is as it was.

    One of few elements, such as a rate of learning, would make all of the outputs infinite.
    """
    if array.size < _LEAST_SIZE:
        return array
    changed = array.flatten()
    number = max(int(_SHARE_INFINITE * array.size), 1)
    changed[rng.integers(array.size, size=number)] = -np.inf
    changed[rng.integers(array.size, size=number)] = np.inf
    return changed.reshape(array.shape)


_CHANGES: dict[str, _Change] = {
    "zeros": lambda array, rng: np.zeros_like(array),
    "large": lambda array, rng: array * _LARGE,
    "tiny": lambda array, rng: array * _TINY,
    "negative": lambda array, rng: -np.abs(array),
    "equal": lambda array, rng: np.full_like(array, 0.5),
    "infinities": _with_infinities,
}
