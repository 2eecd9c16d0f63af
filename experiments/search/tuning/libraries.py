"""Searches over knobs that a library drives: (1+1) evolution of nevergrad, and TPE of optuna.

https://facebookresearch.github.io/nevergrad/, https://optuna.readthedocs.io/
"""

from __future__ import annotations

import importlib
import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from hlograph.errors import HloError
from hlograph.optimization.methods.evolution import TRIES, mutated
from hlograph.optimization.methods.knob_search import DEFAULT_RESULT, KnobSearch, PointSpeed, Space
from hlograph.plans.knobs import DEFAULT, Point

if TYPE_CHECKING:
    from nevergrad.parametrization.core import Parameter
    from optuna.trial import Trial

_BAD_LOSS = 3.0
"""Loss of a point that could not be timed: that of one which is twenty times slower."""

_BUDGET = 1000
"""Number of proposals that nevergrad plans for; it gives more if asked."""

Candidate = TypeVar("Candidate")
"""The library's object for a point that it has proposed."""


class LibrarySearch(KnobSearch, Generic[Candidate]):
    """Proposes what a library proposes, and never a point twice.

    The library searches among the knobs of jaxlib's default, each of which is a number, the
    position of its value, with the loss -log(ratio). Knobs that appear only after others are set
    are left out, as libraries search in a space that does not change. If the library proposes a
    known point, it is asked for another one; if it goes on repeating itself, a random change of the
    best point is proposed in its place. Points that others proposed are told to it if they set
    knobs of the default only.

    Args:
        space: The space.
        seed: Seed of all draws.
    """

    _repeats = 20
    """After so many known points in a row a random change is proposed."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._knobs = self._knobs_at(Point())
        self._values = [list(dict.fromkeys((DEFAULT, *knob.values))) for knob in self._knobs]
        self._random = np.random.default_rng(seed)
        self._candidates: dict[Point, Candidate] = {}
        self._shared: set[Point] = set()
        if self._knobs:
            self._prepare([len(values) for values in self._values], seed)
            self._share(Point(), DEFAULT_RESULT)

    def propose(self) -> Point | None:
        """Returns a point that is not known; None if there seems to be none."""
        if not self._knobs:
            return None
        for _ in range(self._repeats):
            candidate, positions = self._ask()
            point = self._point(positions)
            if self._memory.is_new(point):
                self._candidates[point] = candidate
                return self._memory.propose(point)
            self._repeat(candidate, self._memory.told.get(point))
        return self._drawn()

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        super().note(point, result)
        candidate = self._candidates.pop(point, None)
        if candidate is not None:
            self._shared.add(point)
            self._tell(candidate, result)
        elif point not in self._shared:
            self._share(point, result)

    @abstractmethod
    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        """Prepares the library for a search among knobs of these numbers of values."""

    @abstractmethod
    def _ask(self) -> tuple[Candidate, list[int]]:
        """Returns the library's next proposal, and the positions of its values."""

    @abstractmethod
    def _tell(self, candidate: Candidate, result: PointSpeed) -> None:
        """Tells the library the result of its proposal."""

    @abstractmethod
    def _tell_other(self, positions: Sequence[int], result: PointSpeed) -> None:
        """Tells the library the result of a point that it has not proposed."""

    def _repeat(self, candidate: Candidate, speed: PointSpeed | None) -> None:
        """Takes back a proposal that is known, or that was proposed and has no result yet."""

    def _share(self, point: Point, result: PointSpeed) -> None:
        """Tells the library of a point that it has not proposed, if it knows its values."""
        if self._knobs and (positions := self._positions(point)) is not None:
            self._shared.add(point)
            self._tell_other(positions, result)

    def _point(self, positions: Sequence[int]) -> Point:
        """Returns the point of positions of values."""
        rows = zip(self._knobs, self._values, positions, strict=True)
        return Point.of({knob.name: values[position] for knob, values, position in rows})

    def _positions(self, point: Point) -> list[int] | None:
        """Returns the positions of a point's values; None if it sets others."""
        chosen = point.values
        positions = []
        for knob, values in zip(self._knobs, self._values, strict=True):
            value = chosen.get(knob.name, DEFAULT)
            if value not in values:
                return None
            positions.append(values.index(value))
        return positions if self._point(positions) == point else None

    def _drawn(self) -> Point | None:
        best = self._memory.best
        base = best if self._positions(best) is not None else Point()
        for _ in range(TRIES):
            point = mutated(base, self._knobs, self._random)
            if self._memory.is_new(point):
                return self._memory.propose(point)
        return None


class OnePlusOne(LibrarySearch["Parameter"]):
    """Mutates the best point: each value with probability one over their number.

    It is nevergrad's discrete (1+1) evolution. For its arguments, see ``LibrarySearch``.
    """

    name = "knobs-one-plus-one"

    # A known point is not told again: nevergrad would take it for a more certain one, and prefer it
    # to faster points that were told once.
    _repeats = 200

    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        nevergrad = imported("nevergrad")
        upper = np.array(numbers, float) - 1
        array = nevergrad.p.Array(init=np.zeros(len(numbers)), lower=0 * upper, upper=upper)
        # So wide that a mutation may take any value: values have no order.
        array.set_mutation(sigma=float(upper.max()) / 2)
        array.set_integer_casting()
        array.random_state = np.random.RandomState(seed % 2**32)
        make = nevergrad.optimizers.registry["DiscreteOnePlusOne"]
        with warnings.catch_warnings():
            # Remarks on settings, and on numpy functions that nevergrad should no longer use.
            warnings.simplefilter("ignore")
            self._optimizer = make(array, budget=_BUDGET)

    def _ask(self) -> tuple[Parameter, list[int]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = self._optimizer.ask()
        return asked, [int(position) for position in asked.value]

    def _tell(self, candidate: Parameter, result: PointSpeed) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell(candidate, _loss_of(result))

    def _tell_other(self, positions: Sequence[int], result: PointSpeed) -> None:
        value = np.array(positions, float)
        self._tell(self._optimizer.parametrization.spawn_child(new_value=value), result)


class TPE(LibrarySearch["Trial"]):
    """Tree-structured Parzen estimator of optuna over all knobs together.

    The first ten points are random. For its arguments, see ``LibrarySearch``.
    """

    name = "knobs-tpe"

    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        optuna = imported("optuna")
        # It would write a line for each study and trial.
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = {
            f"{index}": optuna.distributions.CategoricalDistribution(range(number))
            for index, number in enumerate(numbers)
        }
        with warnings.catch_warnings():
            # Settings of the sampler are experimental.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed % 2**32, multivariate=True, group=True, constant_liar=True
            )
            self._study = optuna.create_study(sampler=sampler)

    def _ask(self) -> tuple[Trial, list[int]]:
        trial = self._study.ask(self._distributions)
        return trial, [trial.params[name] for name in self._distributions]

    def _tell(self, candidate: Trial, result: PointSpeed) -> None:
        self._study.tell(candidate, _loss_of(result))

    def _repeat(self, candidate: Trial, speed: PointSpeed | None) -> None:
        if speed is not None:
            self._tell(candidate, speed)
        else:
            self._study.tell(candidate, state=imported("optuna").trial.TrialState.FAIL)

    def _tell_other(self, positions: Sequence[int], result: PointSpeed) -> None:
        self._study.enqueue_trial(dict(zip(self._distributions, positions, strict=True)))
        self._tell(self._study.ask(self._distributions), result)


def _loss_of(result: PointSpeed) -> float:
    """Returns the loss of a result, which is least for the fastest point."""
    return _BAD_LOSS if result.is_bad else -math.log(result.ratio)


def imported(library: str) -> Any:
    """Returns a library that only some searches need, and whose import takes seconds.

    Raises:
        HloError: It is not installed.
    """
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise HloError(
            f"this search needs {library}, which is not installed: pip install 'hlograph[paper]'"
        ) from error
