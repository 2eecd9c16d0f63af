"""The space of one program: its knobs, and the plans of points."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import promising_points
from hlograph.errors import HloError, WorkerLostError
from hlograph.execution import lock
from hlograph.execution.runs import Run
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.compiled import Shares
from hlograph.measuring.samples import Samples
from hlograph.plans import Numerics, Plan, Program, compile_program
from hlograph.plans.knobs import Knob, Point, Recipe, flag_knobs, values_of
from hlograph.plans.versions import STEPS, Versions
from hlograph.profiling.kernel_trees import KernelTrees, shipped_trees

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder

_SECONDS = 300.0  # for one request; large programs compile for a minute
_MEMORY = 16 << 30
_PREDICTING = 2.0  # seconds after which XLA optimizes no further state for predictions
_PRELOADED = ("hlograph.optimization.program_space",)

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Callable[..., Any])


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
        self._looker = Remote(partial(ProfiledVersions, program, numerics), limits, _PRELOADED)
        self._steps: list[str] = []
        self._known: dict[Point, list[Knob] | HloError] = {}
        self._calling = threading.Lock()

    def knobs(self, point: Point) -> list[Knob]:
        """Returns the knobs of the program when it is compiled as a point says.

        Raises:
            HloError: The program does not compile so.
        """
        version = point.version
        if version not in self._known:
            try:
                self._known[version] = self._call(ProfiledVersions.knobs, version)
            except HloError as error:
                self._known[version] = error
        listed = self._known[version]
        if isinstance(listed, HloError):
            raise listed
        steps = [Knob(STEPS, tuple(self._steps), about="rules")] if self._steps else []
        return [*steps, *listed]

    def plan(self, point: Point) -> Plan:
        """Returns the plan of a point; values of knobs that the program does not have are left out.

        Raises:
            HloError: The program does not compile so.
        """
        return self._call(ProfiledVersions.plan, point)

    def promising_points(self, start: Point) -> list[Point]:
        """Returns points that are predicted to be faster than another one.

        Raises:
            HloError: The program does not compile so.
        """
        return self._call(ProfiledVersions.promising_points, start, _PREDICTING)

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
        return self._call(ProfiledVersions.recipe, plan)

    def plan_by(self, recipe: Recipe) -> Plan:
        """Returns the plan by a recipe of this or another version; what does not apply is left out.

        Raises:
            HloError: The program does not compile so.
        """
        return self.plan(recipe.point.but(STEPS, self._call(ProfiledVersions.steps_by, recipe)))

    def close(self) -> None:
        """Ends the worker process."""
        self._looker.close()

    def _call(
        self,
        method: Callable[Concatenate[ProfiledVersions, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        try:
            with self._calling:  # a thread predicts, while another one makes plans
                return self._looker.call(method, *args, **kwargs)
        except WorkerLostError as lost:
            raise HloError(f"a process ended while it compiled the program: {lost}") from lost


@contextmanager
def _reading() -> Iterator[None]:
    """Turns what is raised for a module of an unknown form into an HloError."""
    try:
        yield
    except HloError:
        raise
    except (RuntimeError, ValueError, KeyError, IndexError, StopIteration) as error:
        raise HloError(f"the program has an unknown form: {error!r}") from error


def _compiling(method: M) -> M:
    """Returns a method that waits until nothing is measured, and records what it does then."""

    @wraps(method)
    def locked(self: ProfiledVersions, *args: Any) -> Any:
        with _reading(), lock.compiling(), self.recorder.noted(repr(args).encode()[:1000]):
            return method(self, *args)

    return cast("M", locked)


class ProfiledVersions(Versions):
    """Compiles and profiles versions of one program beside other processes that measure.

    Args:
        program: The program.
        numerics: Class of the results.
        recorder: Records each operation that may end the process.
    """

    def __init__(self, program: Program, numerics: Numerics, recorder: FlightRecorder) -> None:
        super().__init__(program, numerics)
        self.recorder = recorder
        self._shares: dict[Plan, Shares | None] = {}

    @cached_property
    def trees(self) -> KernelTrees:
        """The trees that come with hlograph."""
        with lock.compiling():
            return shipped_trees()

    @cached_property
    def _states(self) -> PlanStates:
        return PlanStates(self.program, self.numerics, self.trees, lock.compiling, self)

    plan = _compiling(Versions.plan)
    recipe = _compiling(Versions.recipe)
    steps_by = _compiling(Versions.steps_by)

    def knobs(self, point: Point) -> list[Knob]:
        """Returns the knobs of the program when it is compiled as a point says.

        Raises:
            HloError: The program does not compile so.
        """
        version, executable = self._prepared(point)
        if executable is not None:
            with lock.alone(), self.recorder.noted(repr(point).encode()[:1000]):
                self._shares[version] = self._profiled(executable)
        shares = self._shares[version]
        hot = None if shares is None else shares.kinds
        with _reading():
            return [
                *flag_knobs(self.opcodes, hot, self.numerics),
                *self.layouts(version.steps).knobs(hot),
                *self.places(version).knobs(None if shares is None else shares.instructions),
            ]

    def promising_points(self, start: Point, seconds: float) -> list[Point]:
        """Returns points that are predicted to be faster than another (``hlograph.decisions``).

        Raises:
            HloError: The program does not compile so.
        """
        with _reading(), self.recorder.noted(b"the decisions that are predicted to bring most"):
            return promising_points(self._states, self.trees, start, seconds)

    @_compiling
    def _prepared(self, point: Point) -> tuple[Plan, Any]:
        """Returns the version of a point, and its executable if it was not profiled before."""
        version = self.version(point)
        self.layouts(version.steps)
        self.places(version)
        profiled = version in self._shares
        return version, None if profiled else compile_program(self.program, version)

    def _profiled(self, executable: Any) -> Shares | None:
        """Returns the shares of the time; None if XLA's profiler does not say."""
        inputs = Samples(self.program, None, 0).usual[0].inputs
        try:
            return Shares.of(executable, Run(executable, inputs, self.program.donated))
        except (HloError, RuntimeError):
            return None
