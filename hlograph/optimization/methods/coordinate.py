"""Greedy coordinate search over knobs, by expected gains, alone and in turns with evolution."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hlograph.optimization.methods.evolution import Evolution
from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed, Space
from hlograph.optimization.methods.predicted import Predicted
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Numerics, Program
from hlograph.plans.knobs import DEFAULT, Knob, Point, Stage, stage_of

Kind = tuple[Stage, str]
"""Kind of a value: its knob's stage, and the name of the flag or the first word of the value."""

_OPTIMISM = 0.3
"""Log ratio that a kind which was never tried promises for a knob of all of the time.

It is more than most values bring, so that each kind is tried before one is tried often.
"""

_WEIGHT = 0.3
"""Share of the time whose results weigh as much as what was known before."""

_LEAST = -0.1
"""Least log ratio that is counted: a value that hurts is not kept, and the next one may help."""

_HURTS = 0.97
"""A value hurts clearly if even the upper end of its interval is below this."""

_HEAVY = 0.1
"""A knob of less than this share of the time does not stand for its stage."""


class _Move(NamedTuple):
    """A value of a knob, and the point that it was tried on."""

    base: Point
    name: str
    value: str


class Coordinate(KnobSearch):
    """Proposes the best point with one value changed, the largest expected gain first.

    The expected gain is the knob's share of the time, times a mean by kind of value that is updated
    with each result (see ``Gains``). But first each stage has one value tried: a stage that brought
    little in other programs may decide this one. A point becomes the best one if it is clearly
    better. In a first round each value of each knob is tried once, on whatever point is the best
    one then. Then values are tried again on a best point that they were not tried on, those that
    brought most first, except those that hurt clearly. Values that were set are also set back then.
    It draws nothing.

    Args:
        space: The space.
        seed: Is not used.
        gains: Expected gains of values; None begins with optimism about all of them.
    """

    name = "knobs-coordinate"

    def __init__(self, space: Space, seed: int = 0, *, gains: Gains | None = None) -> None:
        super().__init__(space, seed)
        self._gains = gains or Gains()
        self._moves: dict[Point, _Move] = {}
        # Log ratio by name and value: None until it is told, or if it hurt clearly.
        self._tried: dict[tuple[str, str], float | None] = {}

    def propose(self) -> Point | None:
        """Returns the next point; None if nothing is left, or nothing until more is told."""
        best = self._memory.best
        for name, value in self._ranked(best):
            point = best.but(name, value)
            if self._memory.is_new(point):
                self._moves[point] = _Move(best, name, value)
                self._tried.setdefault((name, value), None)
                return self._memory.propose(point)
        return None

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result, also of one that it has not proposed."""
        move = self._moves.get(point) or self._move_to(point)
        if move is not None:
            self._judge(move, result)
        super().note(point, result)

    def _ranked(self, best: Point) -> Iterator[tuple[str, str]]:
        """Yields the values to try on a point, in order."""
        values, seen = best.values, {stage_of(name) for name, _ in self._tried}
        first: list[tuple[tuple[float, ...], str, str]] = []
        again: list[tuple[tuple[float, ...], str, str]] = []
        for knob in self._knobs_at(best):
            opens = knob.stage not in seen and knob.share >= _HEAVY
            current = values.get(knob.name, DEFAULT)
            for value in (*knob.values, DEFAULT):
                if value == current:
                    continue
                expected = self._gains.expected(knob, value, current)
                if value != DEFAULT and (knob.name, value) not in self._tried:
                    first.append(((opens, expected), knob.name, value))
                    continue
                gain = self._tried.get((knob.name, value), expected if value == DEFAULT else None)
                if gain is not None:
                    again.append(((gain,), knob.name, value))
        for moves in (first, again):
            # Equal gains stay in the order of the knobs and their values.
            for _, name, value in sorted(moves, key=lambda move: move[0], reverse=True):
                yield name, value

    def _move_to(self, point: Point) -> _Move | None:
        """Returns the move from the best point to another one; None if it is not a single one."""
        best = self._memory.best
        changed = [name for name, _ in set(best.items) ^ set(point.items)]
        if len(set(changed)) != 1:
            return None
        return _Move(best, changed[0], point.values.get(changed[0], DEFAULT))

    def _judge(self, move: _Move, result: PointSpeed) -> None:
        """Takes note of what a value brought on the point that it was tried on."""
        before = self._memory.told[move.base].ratio
        compared = result.ratio > 0 and before > 0
        log_ratio = math.log(result.ratio) - math.log(before) if compared else None
        hurts = result.is_bad or result.high < _HURTS * before
        self._tried[move.name, move.value] = None if hurts else log_ratio
        knob = self._knob(move)
        if knob is not None:
            current = move.base.values.get(move.name, DEFAULT)
            self._gains.tell(knob, move.value, current, log_ratio)

    def _knob(self, move: _Move) -> Knob | None:
        # What is told before the first proposal is not worth the seconds that a list may take.
        knobs = self._known_knobs(move.base)
        return next((knob for knob in knobs if knob.name == move.name), None)


def kind_of(name: str, value: str) -> Kind:
    """Returns the kind of a value of the knob of a name.

    Raises:
        HloError: The name does not begin with a stage.
    """
    stage = stage_of(name)
    if stage == "flags" and value != DEFAULT:
        return stage, name.partition(" ")[2]
    return stage, value.partition(" ")[0]


class Gains:
    """Expected log ratios of values: the knob's share of the time, times a mean by kind of value.

    The mean is that of the log ratios that were told, each over its knob's share and with that
    share as its weight: a result about little of the time says little beside the noise.

    Args:
        priors: Means that are known before, such as those of other programs. They are log ratios
            for a knob of all of the time.
        others: Mean of kinds that are not among them.
    """

    def __init__(
        self, priors: Mapping[Kind, float] | None = None, others: float = _OPTIMISM
    ) -> None:
        self._priors, self._others = dict(priors or {}), others
        self._sums: dict[Kind, float] = {}
        self._shares: dict[Kind, float] = {}

    def mean(self, kind: Kind) -> float:
        """Returns the expected log ratio of a value, for a knob of all of the time."""
        if kind[1] == DEFAULT:
            return 0.0
        prior = _WEIGHT * self._priors.get(kind, self._others)
        return (prior + self._sums.get(kind, 0.0)) / (_WEIGHT + self._shares.get(kind, 0.0))

    def expected(self, knob: Knob, value: str, current: str) -> float:
        """Returns the expected log ratio of a value over the current one."""
        gain = self.mean(kind_of(knob.name, value)) - self.mean(kind_of(knob.name, current))
        return knob.share * gain

    def tell(self, knob: Knob, value: str, current: str, log_ratio: float | None) -> None:
        """Takes note of what a value in place of another one brought.

        Args:
            knob: The knob.
            value: The value.
            current: The value that it replaced.
            log_ratio: Logarithm of the ratio with it over that without; None if the point could not
                be timed.
        """
        kind = kind_of(knob.name, value)
        if value == DEFAULT:
            return
        expected = knob.share * self.mean(kind_of(knob.name, current))
        gain = expected + (_LEAST if log_ratio is None else max(log_ratio, _LEAST))
        self._sums[kind] = self._sums.get(kind, 0.0) + gain
        self._shares[kind] = self._shares.get(kind, 0.0) + knob.share


# Mean gains of single values on 15 programs of the train split: the logarithm of the ratio, if it
# is above 1, over the share of the time that the knob is about. Other kinds brought less, or
# nothing, as layouts did.
_PRIORS: Mapping[Kind, float] = {
    ("kernel", "one-kernel"): 0.5,
    ("flags", "xla_cpu_small_while_loop_byte_threshold"): 0.29,
    ("kernel", "library"): 0.11,
    ("kernel", "partitions"): 0.1,
    ("fusion", "unfuse"): 0.08,
    ("flags", "xla_cpu_experimental_ynn_fusion_type"): 0.04,
    ("flags", "xla_cpu_multi_thread_eigen"): 0.04,
    ("flags", "xla_cpu_disable_tiled_emitter"): 0.03,
    ("flags", "xla_cpu_disable_new_fusion_emitters"): 0.03,
    ("flags", "xla_cpu_use_multi_output_fusion"): 0.03,
    ("flags", "xla_cpu_prefer_vector_width"): 0.02,
    ("fusion", "fuse"): 0.02,
}
_OTHERS = 0.01


class JointSearch(KnobSearch):
    """Coordinate search and evolution in turns, which both know all results.

    It begins with what is predicted to be fastest, and proposes the same beside each plan that
    becomes the fastest one. Then it changes choices of the fastest plans so far, one or several at
    a time. Choices about much of the time come first, by what their kind brings in this program and
    brought in others.

    Coordinate search finds what helps alone; evolution finds what helps together, and gains too
    small to be seen one by one. It draws nothing around the default first: of a few plans, as many
    as there are seconds for, each is to be better than the fastest one. Evolution changes the knobs
    of the fastest point's version only: to list those of each parent's version would take a
    compilation and a profile.

    Args:
        space: The space.
        seed: Seed of the evolution.
        predicted: Predicts points; None leaves that out.
    """

    name = "joint"

    def __init__(self, space: Space, seed: int = 0, predicted: Predicted | None = None) -> None:
        super().__init__(space, seed)
        self._predicted, self._promising = predicted, set[Point]()
        self._fastest, self._ratio = Point(), 1.0
        self._searches: deque[KnobSearch] = deque(
            [
                Coordinate(space, seed, gains=Gains(_PRIORS, _OTHERS)),
                Evolution(self, seed, initial=1),
            ]
        )

    @classmethod
    def of_program(cls, program: Program, numerics: Numerics, seed: int = 0) -> JointSearch:
        """Returns the search over a program that begins with predictions; see ``KnobSearch``."""
        space = ProgramSpace(program, numerics)
        return cls(space, seed, Predicted(space, goes_on=True))

    @property
    def ready(self) -> bool:
        """False while the first points are predicted."""
        return self._predicted is None or self._predicted.ready

    @property
    def comes_first(self) -> bool:
        """True while there are predicted points to propose; see ``Predicted``."""
        return self._predicted is not None and self._predicted.comes_first

    @property
    def waits_for(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Outcomes that it waits for after the predicted points."""
        return 0 if self.comes_first else KnobSearch.waits_for

    def close(self) -> None:
        """Ends the process that predicts, lists knobs and makes plans."""
        if self._predicted is not None:
            self._predicted.close()
        super().close()

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs of the fastest point, whatever point is asked about."""
        del point
        return self._space.knobs(self._fastest)

    def propose(self) -> Point | None:
        """Returns the next point; None if there is none now."""
        if self._predicted is not None and (point := self._predicted.propose()) is not None:
            self._promising.add(point)
            return point
        for _ in range(len(self._searches)):
            point = self._searches[0].propose()
            self._searches.rotate()
            if point is not None:
                return point
        return None

    def note(self, point: Point, result: PointSpeed) -> None:
        """Takes note of a point's result."""
        if result.ratio > self._ratio:
            self._fastest, self._ratio = point, result.ratio
        for search in filter(None, (*self._searches, self._predicted)):
            search.note(point, result)

    def _proposer(self, point: Point) -> str:
        return Predicted.name if point in self._promising else self.name
