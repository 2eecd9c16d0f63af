"""The space of one program: its knobs, and the plans of points."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.tuning.flag_knobs import values_of
from hlograph.tuning.knobs import Knob, Point, Recipe
from hlograph.tuning.versions import STEPS, Looker

_SECONDS = 300.0  # for one request; large programs compile for a minute
_MEMORY = 16 << 30
_PRELOADED = ("hlograph.tuning.versions",)

P = ParamSpec("P")
R = TypeVar("R")


class ProgramSpace:
    """The knobs of one program, in the user's jaxlib.

    Versions of the program are compiled and profiled in a worker process, so that what ends it
    costs a point only. The process ends with this object.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics = "close") -> None:
        limits = WorkerLimits(seconds=_SECONDS, idle_seconds=_SECONDS, memory=_MEMORY)
        self._looker = Remote(partial(Looker, program, numerics), limits, _PRELOADED)
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
                self._known[version] = self._call(Looker.knobs, version)
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
        return self._call(Looker.plan, point)

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

    def recipe_of(self, plan: Plan) -> Recipe:
        """Returns the recipe of a plan of this program.

        Raises:
            HloError: The program does not compile so.
        """
        return self._call(Looker.recipe, plan)

    def plan_by(self, recipe: Recipe) -> Plan:
        """Returns the plan by a recipe of this or another version; what does not apply is left out.

        Raises:
            HloError: The program does not compile so.
        """
        return self.plan(recipe.point.but(STEPS, self._call(Looker.steps_by, recipe)))

    def close(self) -> None:
        """Ends the worker process."""
        self._looker.close()

    def _call(
        self, method: Callable[Concatenate[Looker, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        try:
            return self._looker.call(method, *args, **kwargs)
        except WorkerLostError as lost:
            raise HloError(f"a process ended while it compiled the program: {lost}") from lost
