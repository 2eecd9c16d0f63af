"""The measuring worker: compiles, verifies and times plans of one program in its process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any, NamedTuple

from hlograph.errors import HloError, NotExecutableError
from hlograph.execution import lock
from hlograph.execution.process_memory import resident_growth
from hlograph.execution.runs import Run, on_device
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.compiled import FinalModule, Shares
from hlograph.measuring.plan_timer import LEADS, PlanTimer, longest_run
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import LONG_RUN, Job, MeasurementRequest, PlanMeasurement
from hlograph.measuring.verification import Checks, Runner, Verifier
from hlograph.plans import Measured, Plan, compile_program
from hlograph.profiling.profile import MemoryUsage

DEFAULT = b"default"
"""Note of an operation of jaxlib's default in the flight recorder; a plan's is its digest."""

SAMPLE = b"default on "
"""Prefix of the note of a run of the default on generated inputs; their name follows."""

UNCHANGED = "jaxlib makes the same code of it as of the default"
"""Error of a plan that XLA's passes have undone, or that changed nothing; it is not timed."""

# The outputs of a plan that leads are checked as a winner's at once, unless a run takes longer: the
# checks run the default some twenty times.
_CHECKED = 0.05  # seconds of the default

# The control is a compilation of its own, unless that takes longer than this.
_LONG_COMPILE = 5.0  # seconds

# The compilation of a plan may take this many times as long as the default's, and some seconds, as
# an operation beyond its own limit. The default may take an hour.
_SLOW_COMPILE, _SECONDS, _HOUR = 5.0, 20.0, 3600.0

# In a screening a compilation takes at most this share of the budget, but it may always take some
# seconds, and this many times as long as the default's.
_SCREENED_SHARE, _SCREENED_SECONDS, _SCREENED_COMPILE = 0.2, 5.0, 4.0

# A loop may never end on generated inputs. On these the default may take this many times as long as
# on the first inputs, plus some seconds; on the first inputs, if they are random, five minutes.
_SLOW_SAMPLE, _SAMPLE_SECONDS, _UNKNOWN = 20.0, 5.0, 300.0

# Seconds in which the threads of a plan may still end the process; not added to those of a run.
_SETTLES = 0.002


class _TooSlowError(HloError):
    """Raised when the first run of a plan took so long that no more are needed."""


class MeasuringWorker:
    """Measures plans of one program beside jaxlib's default, or another reference of the job.

    What is called the default here is that reference. Time limits are those of operations, without
    the time that a worker waits for the machine.

    Args:
        job: The program and the conditions.
        recorder: Records each operation that may end the process.

    Raises:
        NotExecutableError: jaxlib does not compile or run the default.
    """

    def __init__(self, job: Job, recorder: FlightRecorder) -> None:
        self._job, self._recorder = job, recorder
        self._samples = Samples(job.program, job.given, job.seed)
        self._inputs = self._samples.usual[0].inputs
        self._first_arguments = on_device(self._inputs)
        self._arguments: tuple[list[Any], list[Any]] | None = None
        # Beside another program, or a compilation, threads that spin take each other's CPUs, and a
        # run takes up to thirty times as long.
        self._running = lock.alone if job.program.calls_lapack else lock.compiling
        try:
            self._default = self._compiled(job.reference, DEFAULT, job.patience)
            self._default_seconds = self._seconds_of_default()
        except (HloError, RuntimeError) as error:
            raise NotExecutableError(
                f"jaxlib does not compile or run {job.program.name}: {error}"
            ) from error
        self._timer = PlanTimer(
            self._default.run, self._default_seconds, self._compiled_again, recorder
        )
        self._checked: dict[tuple[str, ...], Checks] = {}
        self._fastest = 0.0  # of the plans that passed a thorough check
        self._known = {self._default.code: PlanMeasurement(Plan(), error=UNCHANGED)}
        self._verifier = Verifier(
            job.program,
            self._samples,
            self._default_on,
            job.numerics,
        )

    def __call__(self, trial: MeasurementRequest) -> PlanMeasurement:
        """Performs a trial. A plan that fails is an outcome with an error."""
        begun = time.perf_counter()
        outcome = self._measured(trial)
        self._settle(trial.plan.digest.encode())
        hot = self._hot() if trial.profiled else None
        return replace(outcome, seconds=time.perf_counter() - begun, hot=hot)

    def _settle(self, note: bytes) -> None:
        """Lets threads of a plan end, so that a fault after its last call is blamed on it."""
        with self._recorder.noted(note, _HOUR):
            time.sleep(_SETTLES)
            if self._default_seconds < _SETTLES:
                self._default.run.seconds()

    def _measured(self, trial: MeasurementRequest) -> PlanMeasurement:
        """Returns the outcome of a plan, or that of another one with the same code."""
        plan, thorough, digest = trial.plan, trial.effort.thorough, trial.plan.digest.encode()
        try:
            compiled = self._compiled(plan, digest, self._slow_compile(thorough))
            if not thorough and (earlier := self._known.get(compiled.code)):
                return replace(earlier, plan=plan, compile_seconds=compiled.seconds)
            longest = longest_run(self._default_seconds)
            runner = self._runner(compiled.executable, digest, _SECONDS + 2 * longest, longest)
            checks = self._verifier.check(runner, thorough=thorough, without=trial.without)
        except (HloError, RuntimeError) as error:
            return PlanMeasurement(plan, thorough, error=str(error), accident=_is_accident(error))
        outcome = PlanMeasurement(
            plan,
            thorough,
            checks=checks,
            compile_seconds=compiled.seconds,
            changes=self._default.module.changes(compiled.module),
        )
        if not checks.accepted:
            return replace(outcome, error=_refusal(checks))
        measured = self._timed(compiled.run, trial, digest)
        measured = self._with_memory(measured, compiled, digest, resident=thorough)
        outcome = replace(outcome, measured=measured)
        if not thorough:
            outcome = self._checked_lead(outcome, runner, trial.without)
            self._known[compiled.code] = outcome
        return outcome

    def _checked_lead(
        self, outcome: PlanMeasurement, runner: Runner, without: Set[str]
    ) -> PlanMeasurement:
        """Returns the outcome of a plan, refused if it leads and does not pass a thorough check.

        A search would build on it, and lose all of that in the end. In a process, the first plan of
        each combination of steps is checked, and each plan that is faster than all that passed.
        """
        steps, ratio = outcome.plan.steps, outcome.ratio
        if ratio < LEADS or self._default_seconds > _CHECKED:
            return outcome
        checks = self._checked.get(steps)
        if checks is None or (checks.accepted and ratio > self._fastest):
            try:
                checks = self._verifier.check(runner, thorough=True, without=without)
            except (HloError, RuntimeError) as error:
                accident = _is_accident(error)
                return replace(outcome, measured=None, error=str(error), accident=accident)
        if not checks.accepted:
            # What else the plan decides may be the reason.
            if steps and outcome.plan.num_decisions == len(steps):
                self._checked[steps] = checks
            return replace(outcome, measured=None, checks=checks, error=_refusal(checks))
        self._checked[steps] = checks
        self._fastest = max(self._fastest, ratio)
        return outcome

    def _compiled(self, plan: Plan, note: bytes, limit: float) -> _Compiled:
        with lock.compiling(), self._recorder.noted(note, limit):
            begun = time.perf_counter()
            executable = compile_program(self._job.program, plan)
            seconds = time.perf_counter() - begun
            return _Compiled(
                executable,
                self._run_of(executable),
                seconds,
                FinalModule.of(executable),
                (tuple(sorted(plan.flags.items())), tuple(sorted(plan.layouts.items()))),
            )

    def _run_of(self, executable: Any) -> Run:
        return Run(executable, self._first_arguments, self._job.program.donated)

    def _on_device(self, inputs: list[Any]) -> list[Any]:
        """Returns inputs in jax's memory; the default and a plan run on the same ones in turns."""
        if inputs is self._inputs:
            return self._first_arguments
        if self._arguments is None or self._arguments[0] is not inputs:
            self._arguments = inputs, on_device(inputs)
        return self._arguments[1]

    def _hot(self) -> dict[str, float] | None:
        """Returns where the default spends its time; None if XLA's profiler does not say."""
        with lock.alone(), self._recorder.noted(DEFAULT, _HOUR):
            try:
                executable, run = self._default.executable, self._default.run
                return dict(Shares.of(executable, run, self._default_seconds).kinds)
            except (HloError, RuntimeError):
                return None

    def _seconds_of_default(self) -> float:
        limit = min(self._job.patience, _UNKNOWN if self._job.given is None else _HOUR)
        with self._running(), self._recorder.noted(DEFAULT, limit):
            begun = time.perf_counter()
            self._first_outputs = self._default.run.outputs()
            seconds = time.perf_counter() - begun
            return seconds if seconds >= LONG_RUN else self._default.run.seconds()

    def _default_on(self, sample: str) -> Runner:
        """Returns what runs the default on a sample, with a time limit on all but the first."""
        if sample == self._samples.usual[0].name:
            run = self._runner(self._default.executable, DEFAULT, _HOUR)
            return lambda inputs: self._first_outputs if inputs is self._inputs else run(inputs)
        limit = _SAMPLE_SECONDS + _SLOW_SAMPLE * self._default_seconds
        return self._runner(self._default.executable, SAMPLE + sample.encode(), limit)

    def _slow_compile(self, thorough: bool) -> float:
        """Returns the seconds after which the compilation of a plan is ended.

        No other plan is timed meanwhile, so one that compiles long costs a screening many others.
        """
        default = self._default.seconds
        limit = _SECONDS + _SLOW_COMPILE * default
        if thorough:
            return limit
        share = _SCREENED_SHARE * self._job.budget
        return min(limit, max(share, _SCREENED_SECONDS, _SCREENED_COMPILE * default))

    def _runner(
        self, executable: Any, note: bytes, limit: float, slow: float = math.inf
    ) -> Callable[[list[Any]], list[Any]]:
        def run(inputs: list[Any]) -> list[Any]:
            with self._running(), self._recorder.noted(note, limit):
                prepared = Run(executable, self._on_device(inputs), self._job.program.donated)
                begun = time.perf_counter()
                outputs = prepared.outputs()
                seconds = time.perf_counter() - begun
            if seconds > slow:
                raise _TooSlowError(
                    f"a run took {seconds:.1f} s, and {self._default_seconds:.1f} s by default"
                )
            return outputs

        return run

    def _timed(self, run: Run, trial: MeasurementRequest, note: bytes) -> Measured:
        if not trial.effort.thorough:
            return self._timer.screened(run, trial.effort, note, trial.best)
        if trial.beside_default and not self._job.reference.is_empty:
            default = self._compiled(Plan(), DEFAULT, _HOUR)
            runs = [default.run, run, self._run_of(default.executable)]
            return self._timer.in_turns(runs, trial.effort, note)
        return self._timer.confirmed(run, trial.effort, note)

    def _compiled_again(self) -> Run:
        """Returns a run of the default, compiled a second time unless that takes long."""
        if self._default.seconds < _LONG_COMPILE:
            return self._compiled(self._job.reference, DEFAULT, _HOUR).run
        return self._run_of(self._default.executable)

    def _with_memory(
        self, measured: Measured, compiled: _Compiled, note: bytes, *, resident: bool
    ) -> Measured:
        """Returns a plan's speed with its memory and the default's.

        Args:
            measured: The speed.
            compiled: The plan's executable.
            note: Note of its runs in the flight recorder.
            resident: True also looks how far the process grows in a run.
        """
        pair = (self._default, DEFAULT), (compiled, note)
        planned = [MemoryUsage.of(each.executable).needed for each, _ in pair]
        grown = [0, 0]
        if resident:
            for number, (each, name) in enumerate(pair):
                with self._running(), self._recorder.noted(name, _HOUR):
                    grown[number] = resident_growth(each.run.seconds)
        return replace(
            measured,
            default_memory=planned[0],
            memory=planned[1],
            default_resident=grown[0],
            resident=grown[1],
        )


class _Compiled(NamedTuple):
    """An executable of jaxlib, a run of it, and the seconds that its compilation took.

    Its module and its settings, flags and layouts, decide on its code.
    """

    executable: Any
    run: Run
    seconds: float
    module: FinalModule
    settings: tuple[object, ...]

    @property
    def code(self) -> tuple[object, ...]:
        """Key that is equal for equal code."""
        return self.module.digest, self.settings


def _is_accident(error: Exception) -> bool:
    """Returns True for an error of time or memory, which other processes take from a plan."""
    return isinstance(error, _TooSlowError) or "RESOURCE_EXHAUSTED" in str(error)


def _refusal(checks: Checks) -> str:
    return f"outputs are {checks.verdict}: {checks.reason}"
