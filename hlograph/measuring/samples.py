"""Inputs on which a program with a plan is compared with the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, INEXACT, Array
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.plans import Program

# Factors for all floats; in 16-bit types the squares of the first are still finite.
_LARGE, _TINY = 128.0, 1e-12
# Arrays of fewer elements get no infinities and NaNs.
_LEAST_SIZE = 8
# Distance of rows that are near each other, as a share of their size.
_NEAR = 0.01

_Change = Callable[[Array, np.random.Generator], Array]


@dataclass(eq=False)
class Sample:
    """Inputs of one comparison, which are made when they are first asked for.

    Attributes:
        name: Kind of the inputs.
        make: Function that makes the inputs.
        adversarial: True for inputs that are chosen to break a plan. Outputs are compared where
            those of the default are finite.
        has_nans: True if inputs have NaNs. Outputs of a plan may be NaN where those of the default
            are not, because some reductions of jaxlib lose a NaN.
    """

    name: str
    make: Callable[[], list[Array]]
    adversarial: bool = False
    has_nans: bool = False

    @cached_property
    def inputs(self) -> list[Array]:
        """One array for each parameter."""
        return self.make()


class Samples:
    """Makes the inputs of one program.

    Args:
        program: The program.
        given: Inputs of the user, one array for each parameter; None without them.
        seed: Seed of the random numbers.
    """

    def __init__(self, program: Program, given: Sequence[Array] | None, seed: int) -> None:
        self._given, self._seed = given, seed
        self.flow = program.flow
        self._specs = program.signature.parameters
        self._maker = InputMaker(self.flow, self._specs)

    @cached_property
    def usual(self) -> list[Sample]:
        """The user's inputs, if there are any, and two sets of random ones."""
        samples = [
            Sample(f"random {n}", partial(self._maker.make, self._seed, n)) for n in range(2)
        ]
        if self._given is not None:
            samples.insert(0, Sample("given", partial(list, self._given)))
        return samples

    def adversarial(self) -> Iterator[Sample]:
        """Yields inputs that break what holds for the usual ones alone.

        Floats are zeros of both signs, large, tiny, negative, equal, infinite and NaN, and rows
        that are near each other. Integers and predicates are those of the first usual sample,
        because they may be indices. So there are none for a program without float parameters.
        """
        if INEXACT.isdisjoint(spec.element_type for spec in self._specs):
            return
        for name, change in (*_CHANGES.items(), (_NEAR_ROWS, _Near())):
            make = partial(self._changed_inputs, change)
            yield Sample(name, make, adversarial=True, has_nans=name == _NANS)

    def _changed_inputs(self, change: _Change) -> list[Array]:
        rng = np.random.default_rng([self._seed, 1])
        types = (spec.element_type for spec in self._specs)
        pairs = zip(self.usual[0].inputs, types, strict=True)
        return [self._changed(change, rng, *pair) for pair in pairs]

    def _changed(
        self, change: _Change, rng: np.random.Generator, array: Array, element_type: str
    ) -> Array:
        if element_type not in INEXACT:
            return array
        # In a wide type, because numpy knows few rules for 16 and 8 bits.
        wide = array.astype(np.complex128 if element_type in COMPLEX_PARTS else np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(change(wide, rng)).astype(array.dtype)


def others(number: int, count: int, *, is_given: bool) -> frozenset[str]:
    """Returns names of samples that one of several processes leaves to the others.

    The first usual inputs are compared in each.

    Args:
        number: Number of the process.
        count: Number of processes.
        is_given: True if the first usual inputs are the user's.
    """
    names = (*(["random 0"] if is_given else []), "random 1", *_CHANGES, _NEAR_ROWS)
    return frozenset(name for i, name in enumerate(names) if i % count != number)


class _Near:
    """Brings the rows of all arrays near each other, in two groups.

    Arrays whose rows have the same length have the same two groups, so that rows of one array are
    near those of another. What subtracts large numbers that are nearly equal, such as a distance
    from products, is wrong there.
    """

    def __init__(self) -> None:
        self._centers: dict[int, Array] = {}

    def __call__(self, array: Array, rng: np.random.Generator) -> Array:
        """Returns the array with its rows, those of the last dimension, near two of them."""
        if array.ndim < 2 or array.size == 0:
            return array
        rows = array.reshape(-1, array.shape[-1])
        centers = self._centers.setdefault(rows.shape[1], rows[[0, len(rows) // 2]])
        near = centers[np.arange(len(rows)) % 2] + _NEAR * rows
        return near.reshape(array.shape)


def _with(*values: float) -> _Change:
    """Returns a change that puts each value at one random place of an array.

    At more places, few outputs would be left to compare. A small array is left as it is: one of few
    elements, such as a rate of learning, would reach all outputs.
    """

    def change(array: Array, rng: np.random.Generator) -> Array:
        if array.size < _LEAST_SIZE:
            return array
        changed = array.flatten()
        changed[rng.choice(array.size, len(values), replace=False)] = values
        return changed.reshape(array.shape)

    return change


_NEAR_ROWS = "near"
_NANS = "NaNs"
_CHANGES: dict[str, _Change] = {
    "zeros": lambda array, rng: np.zeros_like(array) * rng.choice((-1.0, 1.0), array.shape),
    "large": lambda array, rng: array * _LARGE,
    "tiny": lambda array, rng: array * _TINY,
    "negative": lambda array, rng: -np.abs(array),
    "equal": lambda array, rng: np.full_like(array, 0.5),
    "infinities": _with(-np.inf, np.inf),
    _NANS: _with(np.nan),
}
