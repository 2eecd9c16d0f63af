"""The worker process that compiles, times and profiles plans of one program."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from experiments.cost_model.plan_times.recording import KernelTime, Recording
from hlograph.decisions.plan_states import PlanAction, PlanStates
from hlograph.decisions.predicted_gains import after_predicted_rules, descent, log_ratios
from hlograph.errors import HloError
from hlograph.execution import lock
from hlograph.execution.load import LoadMeter
from hlograph.execution.runs import Run
from hlograph.execution.turns import in_turns
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.compiled import FinalModule
from hlograph.measuring.samples import Samples
from hlograph.optimization.methods import COLD
from hlograph.optimization.program_space import ProfiledVersions
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernels import measure
from hlograph.reading.hlo_text import without_metadata

# Turns of default and plan, in blocks of at least this many seconds, and seconds for all of them.
_TURNS, _LEAST_TURNS, _BLOCK, _MOST = 12, 5, 0.003, 0.3

# Runs under the profiler, and seconds for them.
_PROFILED_RUNS, _PROFILE_SECONDS = 4, 0.2

# Seconds that a plan may take for one run, as a multiple of the default's, and some more.
_SLOW, _SECONDS = 4.0, 20.0


class Unchanged(NamedTuple):
    """Answer about a point whose code is that of an earlier one."""

    ratio: float


class Recorder(ProfiledVersions):
    """Records plans of one program, and answers questions about its knobs, in a worker process.

    Args:
        program: The program.
        recorder: Records each operation that may end the process.
        max_seconds: Seconds that its run may take by default.
        max_compile_seconds: Seconds that its compilation may take.

    Raises:
        HloError: jaxlib does not compile or run the program, or it takes too long.
    """

    def __init__(
        self,
        program: Program,
        recorder: FlightRecorder,
        *,
        max_seconds: float = math.inf,
        max_compile_seconds: float = math.inf,
    ) -> None:
        super().__init__(program, "close", recorder)
        self._inputs = Samples(program, None, 0).usual[0].inputs
        with lock.compiling():
            self._default = self._run(self._compiled(max_compile_seconds))
            try:
                self._default.seconds()
                self._default_seconds = self._default.seconds()
            except (RuntimeError, IndexError) as error:  # a program for several devices
                raise HloError(f"left out: does not run: {error}") from error
        if self._default_seconds > max_seconds:
            raise HloError(f"left out: runs longer than {1e3 * max_seconds:g} ms")
        self._known: dict[object, float] = {}
        self._read = LoadMeter()

    def record(self, point: Point) -> Recording | Unchanged:
        """Compiles, times and profiles the plan of a point.

        Raises:
            HloError: The program does not compile or run so, or is much slower than the default.
        """
        plan = self.plan(point)
        try:
            return self._recorded(point, plan)
        except RuntimeError as error:
            raise HloError(str(error)) from error

    def single_decisions(self) -> list[Point]:
        """Returns points that differ from another one by a decision.

        In turns, they are those with a decision about the default, those with one more than the
        rules that rates predict to save time, and those of the trees' descent, with decisions
        beyond its end.

        Raises:
            HloError: XLA does not optimize the program.
        """
        states = PlanStates(self.program, self.numerics, computing=lock.compiling)
        chains = [self._decisions_on(states, Point())]
        with_rules = after_predicted_rules(states)
        if with_rules is not None:
            chains.append([with_rules, *self._decisions_on(states, with_rules)])
        chains.append(self._predicted_decisions(states))
        points = chain.from_iterable(zip_longest(*chains))
        return [point for point in dict.fromkeys(points) if point is not None]

    def _decisions_on(self, states: PlanStates, point: Point) -> list[Point]:
        """Returns the points with one decision more than a point.

        Rules come first, then flags and what is about most of the predicted time, in turns.
        """
        actions = states.state(point).actions
        rules = [action for action in actions if not action.knob]
        flags = [action for action in actions if action.knob.startswith("flags ")]
        values = [a for a in actions if a.knob and a not in flags and a.share >= COLD]
        values.sort(key=lambda action: -action.share)
        turns = chain.from_iterable(zip_longest(flags, values))
        return list(self._after(states, point, filter(None, (*rules, *turns))))

    def _predicted_decisions(self, states: PlanStates) -> list[Point]:
        """Returns the points of the trees' descent, and those with one decision more than its end.

        The decisions that are predicted to bring most come first.
        """
        with self.recorder.noted(b"the decisions that are predicted to bring most"):
            points = list(descent(states, self.trees))
        end = points[-1] if points else Point()
        state = states.state(end)
        order = (-log_ratios(state, self.trees, state.actions)).argsort(kind="stable")
        return [*points, *self._after(states, end, (state.actions[number] for number in order))]

    def _after(
        self, states: PlanStates, point: Point, actions: Iterable[PlanAction]
    ) -> Iterator[Point]:
        """Yields the points after actions, without those that do not apply."""
        for action in actions:
            with suppress(HloError), self.recorder.noted(action.name.encode()[:1000]):
                yield states.after(point, action)

    def _compiled(self, max_seconds: float) -> Any:
        """Returns the program as jaxlib compiles it by default.

        Raises:
            HloError: It does not compile, or takes longer than allowed.
        """
        for _ in range(2):  # jaxlib prepares the first compilation of a process for seconds
            begun = time.perf_counter()
            executable = compile_program(self.program)
            if time.perf_counter() - begun <= max_seconds:
                return executable
        raise HloError(f"left out: compiles longer than {max_seconds:g} s")

    def _recorded(self, point: Point, plan: Plan) -> Recording | Unchanged:
        with lock.compiling(), self._noted(point):
            begun = time.perf_counter()
            executable = compile_program(self.program, plan)
            compile_seconds = time.perf_counter() - begun
            run = self._run(executable)
            settings = (*sorted(plan.flags.items()), *sorted(plan.layouts.items()))
            key = FinalModule.of(executable).digest, settings
            if key in self._known:
                return Unchanged(self._known[key])
            if run.seconds() > 1.0 + _SLOW * self._default_seconds:
                raise HloError("the plan is much slower than the default")
        with lock.alone(), self._noted(point):
            turns = in_turns(
                [self._default.seconds, run.seconds],
                turns=_TURNS,
                block_seconds=_BLOCK,
                max_seconds=_MOST,
                least=_LEAST_TURNS,
                read=self._read,
            )
            profiled = measure(
                executable, run.seconds, runs=_PROFILED_RUNS, max_seconds=_PROFILE_SECONDS
            )
        times = turns.undisturbed(_LEAST_TURNS).seconds
        recording = Recording(
            point,
            dict(plan.flags),
            without_metadata(profiled.program.text),
            tuple((default, plan) for default, plan in times.tolist()),
            tuple(KernelTime(k.name, k.calls, k.seconds) for k in profiled.kernels),
            profiled.accounted,
            compile_seconds,
            executable.get_compiled_memory_stats().temp_size_in_bytes,
        )
        self._known[key] = recording.ratio
        return recording

    def _noted(self, point: Point) -> AbstractContextManager[None]:
        limit = _SECONDS + 2 * _SLOW * self._default_seconds
        return self.recorder.noted(point.to_json().encode()[:1000], limit)

    def _run(self, executable: Any) -> Run:
        return Run(executable, self._inputs, self.program.donated)
