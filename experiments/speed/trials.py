"""One program: a race, and a second measurement of its winner."""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from experiments.outcomes.run_folder import file_stem
from experiments.speed.curve import Curve
from experiments.speed.results import SpeedResult
from hlograph.errors import HloError
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, Trial
from hlograph.module import Module
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import MakeMethod
from hlograph.optimization.methods import methods as methods_by_name
from hlograph.optimization.race import Watch, unwatched
from hlograph.optimization.report import Report
from hlograph.optimization.searching import search
from hlograph.optimization.store import key_of
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.storage.machine import machine


class Subject(Protocol):
    """A program to race on, such as a benchmark of the corpus."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def family(self) -> str:
        """Its family."""
        ...

    def load(self) -> Module:
        """Returns the program."""
        ...


@dataclass(frozen=True)
class Rules:
    """Rules of a race."""

    budget: float
    """Seconds of the race."""
    numerics: Numerics = "close"
    """Class of results."""
    methods: Sequence[str] | None = None
    """Names of the methods; None takes all."""
    seed: int = 0
    """Seed of the methods that take one."""

    def makers(self) -> dict[str, MakeMethod]:
        """Returns the methods, to which the seed is given if they have a parameter ``seed``.

        Raises:
            HloError: There is no such method.
        """
        makers = methods_by_name(self.methods)
        return {name: _seeded(make, self.seed) for name, make in makers.items()}


def raced(
    subject: Subject,
    rules: Rules,
    folder: Path,
    watch: Watch = unwatched,
    keep: Callable[[str, Path], Measurements] = Measurements,
) -> SpeedResult:
    """Searches for a plan of one program, and returns the result, not measured again yet.

    A race that was cut off goes on with what is left of its budget: what it has measured on a
    machine of this kind is not measured again.

    Args:
        subject: The program.
        rules: Rules of the race.
        folder: Folder of the run, for plans and measurements.
        watch: Function that is told of each outcome.
        keep: Returns what keeps the outcomes, by the key of the job and their folder.

    Raises:
        KeyboardInterrupt: The race was ended by Ctrl-C.
    """
    makers = rules.makers()
    try:
        job = _job(subject, rules)
        curve = Curve(watch)
        measurements = keep(key_of(job), measurements_folder(folder, subject))
        spent = max((outcome.when for outcome in measurements.read()), default=0.0)
        report = search(job, makers, rules.budget, measurements, watch=curve, spent=spent)
    except HloError as error:
        return failed(subject, str(error))
    if report.interrupted:
        raise KeyboardInterrupt
    report.plan.save(plan_file(folder, subject))
    return replace(_of_report(subject, report), curve=tuple(curve.points))


def measured_again(
    result: SpeedResult, subject: Subject, rules: Rules, folder: Path
) -> SpeedResult:
    """Returns a result with the second measurement of its plan, in a fresh process."""
    if result.error or not result.method:
        return result
    plan = Plan.load(plan_file(folder, subject))
    with Measurer(_job(subject, rules), workers=1) as measurer:
        (outcome,) = measurer.measure([Trial(plan, FINAL)])
    measured = outcome.measured
    if measured is None:
        return replace(result, error=f"in the second measurement: {outcome.error}")
    return replace(
        result,
        ratio=measured.ratio,
        low=measured.low,
        high=measured.high,
        control=measured.control,
        default_ms=1e3 * measured.default_seconds,
    )


def measurements_folder(folder: Path, subject: Subject) -> Path:
    """Returns the folder of a program's measurements, with a file for each kind of machine."""
    return folder / "measurements" / file_stem(subject.name)


def plan_file(folder: Path, subject: Subject) -> Path:
    """Returns the file of a program's plan."""
    return folder / "plans" / f"{file_stem(subject.name)}.plan.json"


def _seeded(make: Any, seed: int) -> MakeMethod:
    try:
        takes_seed = "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # an object without a signature
        takes_seed = False
    return functools.partial(make, seed=seed) if takes_seed else make


def _job(subject: Subject, rules: Rules) -> Job:
    return Job(Program.of(subject.load()), None, rules.numerics)


def _of_report(subject: Subject, report: Report) -> SpeedResult:
    timed = [o.measured.default_seconds for o in report.outcomes if o.measured is not None]
    return SpeedResult(
        program=subject.name,
        family=subject.family,
        method=report.plan.method,
        decisions=() if report.plan.is_empty else tuple(report.plan.summary()),
        numerics=report.plan.numerics,
        outputs=report.final.checks.verdict if report.final and report.final.checks else "",
        default_ms=1e3 * min(timed, default=math.nan),
        raced=report.ratio,
        ratio=1.0,
        low=1.0,
        high=1.0,
        control=1.0,
        plans=len(report.outcomes),
        seconds=report.seconds,
        machine=machine(),
    )


def failed(subject: Subject, error: str) -> SpeedResult:
    """Returns the result of a program that was not measured."""
    nothing = SpeedResult(
        subject.name, subject.family, "", (), "", "", math.nan, 1.0, 1.0, 1.0, 1.0, 1.0, 0, 0.0
    )
    return replace(nothing, error=error)
