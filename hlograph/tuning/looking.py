"""The worker process of a space: compiles and profiles versions of a program, lists its knobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hlograph.errors import HloError
from hlograph.graph.vocabulary import OPCODES
from hlograph.measuring.compiled import Shares
from hlograph.measuring.samples import Samples
from hlograph.plans import Numerics, Plan, compile_program
from hlograph.plans.optimized import fingerprint, optimized_module
from hlograph.plans.transforming import apply_steps
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.programs import Program
from hlograph.timing import lock
from hlograph.timing.runs import Run
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import sweep
from hlograph.tuning.cutting.places import HeavyPlaces
from hlograph.tuning.cutting.region import parsed
from hlograph.tuning.cutting.timing import CutTimer
from hlograph.tuning.flag_knobs import flag_knobs, flags_of, values_of
from hlograph.tuning.knobs import DEFAULT, Knob, Point
from hlograph.tuning.layout_knobs import LayoutKnobs
from hlograph.tuning.place_knobs import PlaceKnobs
from hlograph.tuning.questions import (
    CutTimeOf,
    HeavyPlacesAt,
    KernelsOf,
    KnobsAt,
    PlanBy,
    PlanOf,
    Question,
    RecipeOf,
)
from hlograph.tuning.recipe import Recipe

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

STEPS = "steps program"
"""Name of the knob of passes and rewrites; its values are lists of steps, as JSON."""

# Versions of the program that are kept with their knobs.
_VERSIONS = 8


@dataclass(frozen=True)
class MakeLooker:
    """Makes the function that answers questions about one program; can be pickled."""

    program: Program
    numerics: Numerics

    def __call__(self, recorder: FlightRecorder) -> Looker:
        """Returns the function, in the worker process."""
        return Looker(self.program, self.numerics, recorder)


class Looker:
    """Answers questions about one program.

    Args:
        program: The program.
        numerics: Class of the results.
        recorder: Records each operation that may end the process.
    """

    def __init__(self, program: Program, numerics: Numerics, recorder: FlightRecorder) -> None:
        self._program, self._recorder = program, recorder
        self._numerics: Numerics = numerics
        self._layouts = lru_cache(_VERSIONS)(self._layout_knobs)
        self._places = lru_cache(_VERSIONS)(self._place_knobs)
        self._shares: dict[_Version, Shares | None] = {}
        self._timers: dict[_Version, CutTimer] = {}

    def __call__(self, question: Question) -> Any:
        """Returns what is asked for; an HloError if there is none."""
        try:
            match question:
                case KnobsAt(point):
                    return self._knobs(point)
                case PlanOf(point):
                    with self._working(lock.compiling, question):
                        return self._plan(point)
                case RecipeOf(plan):
                    with self._working(lock.compiling, question):
                        return self._recipe(plan)
                case PlanBy(recipe):
                    with self._working(lock.compiling, question):
                        return self._plan(recipe.point.but(STEPS, self._steps_by(recipe)))
                case KernelsOf(point):
                    with self._working(lock.compiling, question):
                        return self._kernels(point)
                case HeavyPlacesAt(point):
                    return self._heavy_places(point, question).heavy()
                case CutTimeOf(point, kind, values):
                    return self._cut_timer(point, question).time(kind, values)
        except HloError as error:
            return error
        except (RuntimeError, ValueError, KeyError, IndexError, StopIteration) as error:
            return HloError(f"the program has an unknown form: {error!r}")

    @contextmanager
    def _working(
        self, locked: Callable[[], AbstractContextManager[None]], question: Question
    ) -> Iterator[None]:
        """Holds a lock, and records what is done, without the time that the lock takes."""
        with locked():
            self._recorder.begin(repr(question).encode()[:1000])
            try:
                yield
            finally:
                self._recorder.end()

    def _knobs(self, point: Point) -> list[Knob]:
        base, shares = self._looked_at(point, KnobsAt(point))
        layouts, places = self._layouts(_steps(point)), self._places(base)[0]
        hot = None if shares is None else shares.kinds
        return [
            *flag_knobs(self._opcodes, hot, self._numerics),
            *layouts.knobs(hot),
            *places.knobs(None if shares is None else shares.instructions),
        ]

    def _looked_at(self, point: Point, question: Question) -> tuple[_Version, Shares | None]:
        """Returns the version of a point and the shares of its time, with its knobs known."""
        executable = None
        with self._working(lock.compiling, question):
            base = self._base(point)
            self._layouts(_steps(point))
            self._places(base)
            if base not in self._shares:
                executable = compile_program(self._program, base.plan)
        if executable is not None:
            with self._working(lock.alone, question):
                self._shares[base] = self._profiled(executable)
        return base, self._shares[base]

    def _heavy_places(self, point: Point, question: Question) -> HeavyPlaces:
        base, shares = self._looked_at(point, question)
        if shares is None:
            raise HloError("XLA's profiler does not say where the program spends its time")
        knobs = self._places(base)[0]
        return HeavyPlaces(parsed(knobs.proto), knobs.decided, shares.instructions)

    def _cut_timer(self, point: Point, question: Question) -> CutTimer:
        base = self._looked_at(point, question)[0]
        if base not in self._timers:
            places = self._heavy_places(point, question)

            def working(alone: bool) -> AbstractContextManager[None]:
                return self._working(lock.alone if alone else lock.compiling, question)

            # The values of one version are timed before those of the next one.
            proto = self._places(base)[0].proto
            self._timers = {base: CutTimer(proto, places, base.plan, working)}
        return self._timers[base]

    @cached_property
    def _opcodes(self) -> list[str]:
        counts = self._program.module().op_counts()
        return [OPCODES[number] for number in np.flatnonzero(counts)]

    def _plan(self, point: Point) -> Plan:
        base = self._base(point)
        values = point.at("fusion", "kernel")
        if not values:
            return base.plan
        knobs, placed = self._places(base)
        placements = knobs.placements(values)
        return replace(base.plan, placements=placements, placed=placed if placements else "")

    def _kernels(self, point: Point) -> list[KernelModule]:
        base = self._base(point)
        knobs = self._places(base)[0]
        return knobs.kernels(point.at("fusion", "kernel"))

    def _recipe(self, plan: Plan) -> Recipe:
        values = values_of(plan.flags)
        if plan.layouts:
            values |= self._layouts(plan.steps).values_of(plan.layouts)
        if plan.placements:
            base = replace(plan, placements=(), placed="")
            values |= self._places(_Version(base))[0].values_of(plan.placements)
        return Recipe.of(plan.steps, Point.of(values))

    def _steps_by(self, recipe: Recipe) -> str:
        """Returns the steps of a recipe as a value of the knob; what does not apply is left out."""
        module = self._program.module()
        steps: list[str] = []
        for name in recipe.steps:
            try:
                if name in rules:
                    steps += sweep(module, name)
                else:
                    apply_steps(module, (name,))
                    steps.append(name)
            except HloError:
                continue
        return json.dumps(steps) if steps else DEFAULT

    def _base(self, point: Point) -> _Version:
        """Returns the version of the program that the placements of a point are about."""
        values = point.at("layout")
        steps = _steps(point)
        return _Version(
            Plan(
                self._program.name,
                self._program.fingerprint,
                steps,
                layouts=self._layouts(steps).layouts(values) if values else {},
                flags=flags_of(point.at("flags")),
                numerics=self._numerics,
            )
        )

    def _layout_knobs(self, steps: tuple[str, ...]) -> LayoutKnobs:
        module = self._program.module()
        apply_steps(module, steps)
        return LayoutKnobs(module.to_proto())

    def _place_knobs(self, version: _Version) -> tuple[PlaceKnobs, str]:
        proto = optimized_module(self._program, version.plan)
        return PlaceKnobs(proto), fingerprint(proto)

    def _profiled(self, executable: Any) -> Shares | None:
        """Returns the shares of the time; None if XLA's profiler does not say."""
        inputs = Samples(self._program, None, 0).usual[0].inputs
        try:
            return Shares.of(executable, Run(executable, inputs, self._program.donated))
        except (HloError, RuntimeError):
            return None


class _Version:
    """A plan without placements, as the key of what is known of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __hash__(self) -> int:
        return hash(self.plan.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Version) and self.plan.digest == other.plan.digest


def _steps(point: Point) -> tuple[str, ...]:
    found = point.at("steps").get(STEPS)
    return tuple(json.loads(found)) if found else ()
