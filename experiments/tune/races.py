"""The races of a run: each program, competitor and seed, and the winners once more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from experiments.outcomes.run_folder import file_stem
from experiments.speed.results import SpeedResult
from experiments.speed.trials import Rules, Subject, measured_again, plan_file, raced
from experiments.tune.boards import Board
from experiments.tune.results import TuneResult, folder_of
from hlograph.measuring.trial import Outcome
from hlograph.optimization.progress import best_text
from hlograph.plans import Numerics, Plan


@dataclass(frozen=True)
class Race:
    """One race of a run."""

    subject: Subject
    competitor: str
    seed: int
    budget: float
    numerics: Numerics
    run: Path
    """Folder of the run."""

    @property
    def rules(self) -> Rules:
        """Its rules."""
        return Rules(self.budget, self.numerics, self.competitor.split(","), self.seed)

    @property
    def folder(self) -> Path:
        """Folder of its result, which its competitor has with this seed on all programs."""
        return folder_of(self.run, self.competitor, self.seed)

    @property
    def board(self) -> Path:
        """Folder of its curves for TensorBoard."""
        boards = self.run / "tensorboard" / self.folder.relative_to(self.run / "races")
        return boards / file_stem(self.subject.name)

    @property
    def name(self) -> str:
        """Its name in a line of progress."""
        return f"{self.subject.name}, {self.competitor}, seed {self.seed}"

    def result(self) -> SpeedResult | None:
        """Returns its result; None if it was not run.

        Raises:
            DamagedFileError: The file of the result is none of this version.
        """
        return SpeedResult.load(self.folder, self.subject.name)


def races_of(
    subjects: Sequence[Subject],
    competitors: Sequence[str],
    seeds: Sequence[int],
    budget: float,
    numerics: Numerics,
    run: Path,
) -> list[Race]:
    """Returns the races of a run.

    The competitors take turns on each program, so that what changes on the machine within hours
    changes for all of them.
    """
    return [
        Race(subject, competitor, seed, budget, numerics, run)
        for seed in seeds
        for subject in subjects
        for competitor in competitors
    ]


def run_all(races: Sequence[Race]) -> None:
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
                _run(race, bar)
    for race in tqdm(races, unit="race", desc="measure again", disable=None):
        result = race.result()
        if result is not None and not result.is_final:
            again = measured_again(result, race.subject, race.rules, race.folder)
            again.save(race.folder)


def check_methods(races: Sequence[Race]) -> None:
    """Raises an error for an unknown method at once, not after hours.

    Raises:
        HloError: A competitor has an unknown method.
    """
    for rules in {race.competitor: race.rules for race in races}.values():
        rules.makers()


def _run(race: Race, bar: "tqdm[Race]") -> None:
    bar.set_postfix_str(race.name)
    with Board(race.board) as board:

        def watch(outcomes: Sequence[Outcome], best: Outcome) -> None:
            board(outcomes, best)
            bar.set_postfix_str(f"{race.name}: {len(outcomes)} plans, {best_text(best)}")

        raced(race.subject, race.rules, race.folder, watch).save(race.folder)


def results_of(races: Sequence[Race]) -> list[TuneResult]:
    """Returns the results of the races that were run, in order."""
    return list(_results(races))


def _results(races: Sequence[Race]) -> Iterator[TuneResult]:
    for race in races:
        result = race.result()
        if result is not None:
            plan = Plan.load(plan_file(race.folder, race.subject)) if result.method else None
            yield TuneResult(race.competitor, race.seed, result, plan)
