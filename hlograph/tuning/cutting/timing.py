"""Times of cuts, each beside the cut as XLA has optimized it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.compiled import FinalModule
from hlograph.measuring.samples import Samples
from hlograph.measuring.worker import hopeless
from hlograph.plans import Plan
from hlograph.plans.carrier import compile_optimized
from hlograph.plans.placement import Placement
from hlograph.plans.placing import place
from hlograph.programs import Program
from hlograph.timing.bootstrap import Interval
from hlograph.timing.runs import Run
from hlograph.timing.turns import in_turns
from hlograph.tuning.cutting.places import HeavyPlaces
from hlograph.tuning.cutting.region import CutError, Cutter

# A run of a cut takes about so long: beside that the call of an executable is short.
_RUN_SECONDS = 1e-3
_MOST_TURNS = 64

_PAIRS, _LEAST_PAIRS, _BLOCK, _MOST_SECONDS = 11, 5, 0.003, 1.0


class CutTime(NamedTuple):
    """The speed of a cut with some values of its knobs.

    Attributes:
        ratio: Time without the values over that with them; 0 if it could not be timed.
        low: Lower end of the 95 % interval of the ratio.
        high: Upper end.
        seconds: Time of the cut without the values.
        error: The reason why it could not be timed; empty if it could.
    """

    ratio: float
    low: float = 0.0
    high: float = 0.0
    seconds: float = 0.0
    error: str = ""


class _Base(NamedTuple):
    """A cut as XLA has optimized it."""

    proto: bytes
    inputs: list[Array]
    turns: int
    run: Run
    digest: str


Working = Callable[[bool], AbstractContextManager[None]]
"""Function whose context holds the machine: alone if it is passed True, or beside compilations."""


class CutTimer:
    """Compiles and times the cuts of one version of a program.

    Args:
        proto: Serialized ``HloModuleProto`` of the optimized module.
        places: Its heavy places.
        plan: Plan of the version, whose flags the code is generated with.
        working: Holds the machine.
    """

    def __init__(self, proto: bytes, places: HeavyPlaces, plan: Plan, working: Working) -> None:
        self._cutter, self._places, self._plan = Cutter(proto), places, plan
        self._working = working
        self._bases: dict[str, _Base | HloError] = {}

    def time(self, kind: str, values: Mapping[str, str]) -> CutTime:
        """Returns the speed of the cut of a kind of places with values of its knobs.

        Raises:
            CutError: The place cannot be cut out.
        """
        base = self._base(kind)
        try:
            with self._working(False):
                run = self._changed(base, self._places.placements(values))
        except (HloError, RuntimeError) as error:
            return CutTime(0.0, error=str(error))
        if run is None:
            return CutTime(1.0, 1.0, 1.0)
        with self._working(True):
            times = in_turns(
                [base.run.seconds, run.seconds],
                turns=_PAIRS,
                block_seconds=_BLOCK,
                max_seconds=_MOST_SECONDS,
                least=_LEAST_PAIRS,
                stop=hopeless,
            ).seconds
        ratios = (times[:, 0] / times[:, 1]).tolist()
        seconds = float(np.median(times[:, 0])) / base.turns
        return CutTime(*Interval.of_median(ratios), seconds)

    def seconds(self, kind: str) -> float:
        """Returns the time of the cut of a kind of places, as XLA has optimized it.

        Raises:
            CutError: The place cannot be cut out.
        """
        base = self._base(kind)
        with self._working(True):
            times = in_turns(
                [base.run.seconds], turns=_PAIRS, block_seconds=_BLOCK, max_seconds=_MOST_SECONDS
            ).seconds
        return float(np.median(times)) / base.turns

    def _base(self, kind: str) -> _Base:
        if kind not in self._bases:
            try:
                with self._working(False):
                    self._bases[kind] = self._made(self._places.region(kind))
            except HloError as error:
                self._bases[kind] = error
        found = self._bases[kind]
        if isinstance(found, HloError):
            raise found
        return found

    def _made(self, names: list[str]) -> _Base:
        proto = self._cutter.cut(names)
        try:
            inputs = Samples(Program("cut", "hlo", proto), None, 0).usual[0].inputs
        except HloError as error:
            raise CutError(f"no inputs are known for the cut of {names[0]}: {error}") from error
        executable = self._compiled(proto)
        run = Run(executable, inputs)
        run.seconds()
        turns = max(1, min(_MOST_TURNS, math.ceil(_RUN_SECONDS / run.seconds())))
        if turns > 1:
            proto = self._cutter.cut(names, turns)
            executable = self._compiled(proto)
            run = Run(executable, inputs)
        return _Base(proto, inputs, turns, run, FinalModule.of(executable).digest)

    def _changed(self, base: _Base, placements: list[Placement]) -> Run | None:
        """Returns a cut with placements; None if its code is the same."""
        executable = self._compiled(place(base.proto, placements))
        if FinalModule.of(executable).digest == base.digest:
            return None
        return Run(executable, base.inputs)

    def _compiled(self, proto: bytes) -> Any:
        return compile_optimized(proto, self._plan)
