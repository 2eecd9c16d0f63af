"""One program of the speed set: a race, and a second measurement of its winner."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.speed.results import SpeedResult
from hlograph.corpus import Benchmark
from hlograph.errors import HloError
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, Trial
from hlograph.optimization import Report, Store, optimize_program
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program


def raced(
    benchmark: Benchmark,
    budget: float,
    numerics: Numerics,
    methods: Sequence[str] | None,
    folder: Path,
) -> SpeedResult:
    """Searches for a plan of one program, and returns the result, not measured again yet.

    Args:
        benchmark: The program.
        budget: Seconds of the race.
        numerics: Class of results.
        methods: Names of the methods; None takes all.
        folder: Folder of the run, for plans.
    """
    try:
        report = optimize_program(
            _job(benchmark, numerics),
            budget=budget,
            methods=methods,
            store=Store(folder / "plans"),
            measure_again=True,
            progress=False,
        )
    except HloError as error:
        return _failed(benchmark, str(error))
    report.plan.save(plan_file(folder, benchmark))
    return _of_report(benchmark, report)


def measured_again(
    result: SpeedResult, benchmark: Benchmark, numerics: Numerics, folder: Path
) -> SpeedResult:
    """Returns a result with the second measurement of its plan, in a fresh process."""
    if result.error or not result.method:
        return result
    plan = Plan.load(plan_file(folder, benchmark))
    with Measurer(_job(benchmark, numerics), workers=1) as measurer:
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


def plan_file(folder: Path, benchmark: Benchmark) -> Path:
    """Returns the file of a program's plan."""
    return folder / "plans" / f"{benchmark.name.replace('/', '--')}.plan.json"


def _job(benchmark: Benchmark, numerics: Numerics) -> Job:
    return Job(Program.of(benchmark.load()), None, numerics)


def _of_report(benchmark: Benchmark, report: Report) -> SpeedResult:
    timed = [o.measured.default_seconds for o in report.outcomes if o.measured is not None]
    return SpeedResult(
        program=benchmark.name,
        family=benchmark.family,
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
    )


def _failed(benchmark: Benchmark, error: str) -> SpeedResult:
    nothing = SpeedResult(
        benchmark.name, benchmark.family, "", (), "", "", math.nan, 1.0, 1.0, 1.0, 1.0, 1.0, 0, 0.0
    )
    return replace(nothing, error=error)
