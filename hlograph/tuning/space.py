"""The space of one program: its knobs, and the plans of points."""

from __future__ import annotations

import json
from typing import Any

from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Limits, OneWorker
from hlograph.plans import Numerics, Plan
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.programs import Program
from hlograph.tuning.flag_knobs import values_of
from hlograph.tuning.knobs import Knob, Point
from hlograph.tuning.looking import MakeLooker
from hlograph.tuning.questions import (
    KernelsOf,
    KnobsAt,
    PlanBy,
    PlanOf,
    Question,
    RecipeOf,
)
from hlograph.tuning.recipe import Recipe
from hlograph.tuning.versions import STEPS

_SECONDS = 300.0  # for one request; large programs compile for a minute
_MEMORY = 16 << 30
_PRELOADED = ("hlograph.tuning.looking",)


class ProgramSpace:
    """The knobs of one program, in the user's jaxlib.

    Versions of the program are compiled and profiled in a worker process, so that what ends it
    costs a point only. The process ends with this object.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics = "close") -> None:
        limits = Limits(seconds=_SECONDS, idle_seconds=_SECONDS, memory=_MEMORY)
        self._worker = OneWorker(MakeLooker(program, numerics), limits, _PRELOADED)
        self._steps: list[str] = []
        self._known: dict[Point, list[Knob] | HloError] = {}

    def knobs(self, point: Point) -> list[Knob]:
        """Returns the knobs of the program when it is compiled as a point says.

        Raises:
            HloError: The program does not compile so.
        """
        version = point.version
        if version not in self._known:
            try:
                self._known[version] = self._ask(KnobsAt(version))
            except HloError as error:
                self._known[version] = error
        known = self._known[version]
        if isinstance(known, HloError):
            raise known
        steps = [Knob(STEPS, tuple(self._steps), about="rules")] if self._steps else []
        return [*steps, *known]

    def plan(self, point: Point) -> Plan:
        """Returns the plan of a point; values of knobs that the program does not have are left out.

        Raises:
            HloError: The program does not compile so.
        """
        return self._ask(PlanOf(point))

    def point_of(self, plan: Plan) -> Point:
        """Returns the point of a plan's steps and flags, and makes its steps a value of a knob.

        Layouts and placements name instructions, not kinds of them, and are left out.
        """
        values = values_of(plan.flags)
        if plan.steps:
            values[STEPS] = json.dumps(plan.steps)
            if values[STEPS] not in self._steps:
                self._steps.append(values[STEPS])
        return Point.of(values)

    def kernels(self, point: Point) -> list[KernelModule]:
        """Returns the kernels of the program when it is compiled as a point says.

        XLA optimizes the program and generates no code, which takes a part of a compilation.

        Raises:
            HloError: The program does not compile so.
        """
        return self._ask(KernelsOf(point))

    def recipe_of(self, plan: Plan) -> Recipe:
        """Returns the recipe of a plan of this program.

        Raises:
            HloError: The program does not compile so.
        """
        return self._ask(RecipeOf(plan))

    def plan_by(self, recipe: Recipe) -> Plan:
        """Returns the plan by a recipe of this or another version; what does not apply is left out.

        Raises:
            HloError: The program does not compile so.
        """
        return self._ask(PlanBy(recipe))

    def close(self) -> None:
        """Ends the worker process."""
        self._worker.close()

    def _ask(self, question: Question) -> Any:
        answer = self._worker.ask(question)
        if isinstance(answer, WorkerLostError):
            raise HloError(f"a process ended while it compiled the program: {answer}")
        if isinstance(answer, HloError):
            raise answer
        return answer
