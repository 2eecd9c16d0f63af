"""The races of a run: each program, competitor and seed, and the winners once more."""

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from experiments.evaluate.run_folder import file_stem
from experiments.tune.curves import Curve
from experiments.tune.programs import TunedProgram
from experiments.tune.results import RaceResult
from hlograph.errors import HloError
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Job, MeasurementRequest, PlanMeasurement
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.process_settings import with_kept_memory
from hlograph.optimization.race import WORKERS, Race
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings
from hlograph.optimization.watching import Watch, best_text, unwatched
from hlograph.plans import Numerics, Program
from hlograph.storage.machine import machine

DEFAULT_COMPETITOR = "recipes,forms,flags,passes,greedy,joint"
"""The methods that ``hlograph.optimize`` tries if none is named."""


@dataclass(frozen=True)
class TuningRace:
    """A search of one competitor for the fastest plan of one program, with a seed."""

    program: TunedProgram
    run: Path
    """Folder of the run."""
    budget: float
    """Seconds."""
    numerics: Numerics = "close"
    """Class of results."""
    competitor: str = DEFAULT_COMPETITOR
    """Names of the methods, with commas between them."""
    seed: int = 0
    """Seed of the methods that take one."""
    repeat: int = 0
    """Number of the search, of several with equal settings."""

    @property
    def folder(self) -> Path:
        """Folder of the result, with those of the competitor and seed on other programs."""
        return self.run / "races" / self._stem

    @property
    def measurements(self) -> Path:
        """Folder of the measurements, with a file for each model of machine."""
        return self.folder / "measurements" / file_stem(self.program.name)

    def outcomes(self) -> list[PlanMeasurement]:
        """Returns what was measured so far, on all models of machines."""
        files = sorted(self.measurements.glob("*.jsonl"))
        return [
            outcome for file in files for outcome in Measurements(file.stem, file.parent).read()
        ]

    @property
    def board(self) -> Path:
        """Folder of the curves for TensorBoard."""
        return self.run / "tensorboard" / self._stem / file_stem(self.program.name)

    @property
    def _stem(self) -> Path:
        repeat = f"-repeat-{self.repeat}" if self.repeat else ""
        return Path(file_stem(self.competitor), f"seed-{self.seed}{repeat}")

    def __str__(self) -> str:
        repeat = f", repeat {self.repeat}" if self.repeat else ""
        return f"{self.program.name}, {self.competitor}, seed {self.seed}{repeat}"

    def job(self) -> Job:
        """Returns the program and the conditions of its measurements.

        Raises:
            HloError: The program cannot be read.
        """
        return Job(Program.of(self.program.load()), None, self.numerics)

    def settings(self) -> SearchSettings:
        """Returns the settings of the search.

        Raises:
            HloError: There is no such method.
        """
        methods = tuple(self.competitor.split(","))
        return SearchSettings(self.budget, methods, progress=False, seed=self.seed)

    def result(self) -> RaceResult | None:
        """Returns the result; None if the race was not run.

        Raises:
            DamagedFileError: The file of the result is none of this version.
        """
        result = RaceResult.load(self.folder, self.program.name)
        return result and replace(
            result, competitor=self.competitor, seed=self.seed, repeat=self.repeat
        )

    def failed(self, error: str) -> RaceResult:
        """Returns the result that the program could not be measured."""
        name, family = self.program.name, self.program.family
        return RaceResult(self.competitor, self.seed, name, family, error=error, repeat=self.repeat)


def run_all(races: Sequence[TuningRace]) -> None:
    """Runs the races that have no result, then measures the winners a second time.

    Raises:
        HloError: A competitor has an unknown method.
        DamagedFileError: A result is of another version.
        KeyboardInterrupt: The run was ended by Ctrl-C; results so far are kept.
    """
    check_methods(races)
    with tqdm(races, unit="race", desc="tune", disable=None) as bar:
        for race in bar:
            if race.result() is None:
                bar.set_postfix_str(str(race))
                raced(race, functools.partial(_show, bar, race), race.board).save(race.folder)
    for race in tqdm(races, unit="race", desc="measure again", disable=None):
        result = race.result()
        if result is not None and not result.is_final:
            measured_again(race, result).save(race.folder)


def check_methods(races: Sequence[TuningRace]) -> None:
    """Raises an error for an unknown method at once, not after hours.

    Raises:
        HloError: A competitor has an unknown method.
    """
    for race in {race.competitor: race for race in races}.values():
        race.settings()


def _show(
    bar: "tqdm[TuningRace]",
    race: TuningRace,
    outcomes: Sequence[PlanMeasurement],
    best: PlanMeasurement,
) -> None:
    bar.set_postfix_str(f"{race}: {len(outcomes)} plans, {best_text(best)}")


def raced(
    race: TuningRace,
    watch: Watch = unwatched,
    board: Path | None = None,
    keep: Callable[[str, Path], Measurements] = Measurements,
) -> RaceResult:
    """Runs a race, and returns its result, not measured again yet.

    A race that was cut off goes on with what is left of its budget: what it has measured on a
    machine of this model is not measured again.

    Args:
        race: The race.
        watch: Function that is told of each outcome.
        board: Folder of the curves for TensorBoard; None writes none.
        keep: Returns what keeps the outcomes, by the key of the job and their folder.

    Raises:
        KeyboardInterrupt: The race was ended by Ctrl-C.
    """
    settings = race.settings()
    with closing(Curve(board)) as curve:

        def note(outcomes: Sequence[PlanMeasurement], best: PlanMeasurement) -> None:
            curve(outcomes, best)
            watch(outcomes, best)

        try:
            job = race.job()
            measurements = keep(CacheKey.of(job), race.measurements)
            spent = max((outcome.when for outcome in measurements.read()), default=0.0)
            report = Race(job, settings, measurements, note, spent=spent).search()
            report = with_kept_memory(job, report, race.budget, keeps=False)
        except HloError as error:
            return race.failed(str(error))
    if report.interrupted:
        raise KeyboardInterrupt
    return replace(_result_of(race, report), curve=tuple(curve.points))


def measured_again(race: TuningRace, result: RaceResult) -> RaceResult:
    """Returns a result with the second measurement of its plan, in a fresh process."""
    if result.error or not result.method or result.plan is None:
        return result
    with Measurer(race.job(), workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(result.plan, FINAL)])
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


def _result_of(race: TuningRace, report: Report) -> RaceResult:
    work, wall = _shares_of_judging(report)
    timed = [o.measured.default_seconds for o in report.outcomes if o.measured is not None]
    return RaceResult(
        race.competitor,
        race.seed,
        race.program.name,
        race.program.family,
        method=report.plan.method,
        decisions=() if report.plan.is_empty else tuple(report.plan.summary()),
        numerics=report.plan.numerics,
        outputs=report.final.checks.verdict if report.final and report.final.checks else "",
        default_ms=1e3 * min(timed, default=math.nan),
        raced=report.ratio,
        plans=len(report.outcomes),
        seconds=report.seconds,
        machine=machine(),
        verdict=report.judgement.verdict if report.judgement else "",
        judged=report.judging.until,
        judging_work=work,
        judging_wall=wall,
        repeat=race.repeat,
        plan=report.plan,
    )


def _shares_of_judging(report: Report) -> tuple[float, float] | tuple[None, None]:
    """Returns the shares of all processes' time and of the race's time that references took."""
    plain, asking = report.judging.plain, report.judging.asking
    work = sum(outcome.seconds for outcome in report.outcomes) + asking
    if not work:
        return None, None
    # The measurements beside a wrong default are dropped.
    return min((plain + asking) / work, 1.0), (plain / WORKERS + asking) / report.seconds
