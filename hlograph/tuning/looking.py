"""The worker process of a space: compiles and profiles versions of a program, lists its knobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError
from hlograph.measuring.compiled import Shares
from hlograph.measuring.samples import Samples
from hlograph.plans import Numerics, compile_program
from hlograph.programs import Program
from hlograph.timing import lock
from hlograph.timing.runs import Run
from hlograph.tuning.flag_knobs import flag_knobs
from hlograph.tuning.knobs import Knob, Point
from hlograph.tuning.questions import (
    KernelsOf,
    KnobsAt,
    PlanBy,
    PlanOf,
    Question,
    RecipeOf,
)
from hlograph.tuning.versions import Version, Versions

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder


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
        self._versions, self._recorder = Versions(program, numerics), recorder
        self._shares: dict[Version, Shares | None] = {}

    def __call__(self, question: Question) -> Any:
        """Returns what is asked for; an HloError if there is none."""
        try:
            match question:
                case KnobsAt(point):
                    return self._knobs(point)
                case PlanOf(point):
                    with self._working(lock.compiling, question):
                        return self._versions.plan(point)
                case RecipeOf(plan):
                    with self._working(lock.compiling, question):
                        return self._versions.recipe(plan)
                case PlanBy(recipe):
                    with self._working(lock.compiling, question):
                        return self._versions.plan_by(recipe)
                case KernelsOf(point):
                    with self._working(lock.compiling, question):
                        return self._versions.kernels(point)
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
        versions = self._versions
        layouts, places = versions.layouts(base.plan.steps), versions.places(base)
        hot = None if shares is None else shares.kinds
        return [
            *flag_knobs(versions.opcodes, hot, versions.numerics),
            *layouts.knobs(hot),
            *places.knobs(None if shares is None else shares.instructions),
        ]

    def _looked_at(self, point: Point, question: Question) -> tuple[Version, Shares | None]:
        """Returns the version of a point and the shares of its time, with its knobs known."""
        executable = None
        with self._working(lock.compiling, question):
            base = self._versions.version(point)
            self._versions.layouts(base.plan.steps)
            self._versions.places(base)
            if base not in self._shares:
                executable = compile_program(self._versions.program, base.plan)
        if executable is not None:
            with self._working(lock.alone, question):
                self._shares[base] = self._profiled(executable)
        return base, self._shares[base]

    def _profiled(self, executable: Any) -> Shares | None:
        """Returns the shares of the time; None if XLA's profiler does not say."""
        program = self._versions.program
        inputs = Samples(program, None, 0).usual[0].inputs
        try:
            return Shares.of(executable, Run(executable, inputs, program.donated))
        except (HloError, RuntimeError):
            return None
