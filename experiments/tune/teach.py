"""Records the decisions of the fastest plans that were measured, for policies to imitate.

    python -m experiments.tune --split train --budget 20 --out runs/train
    python -m experiments.tune.teach runs/train

The plans are those that searches found, and the fastest of the data set of plan times. Each is said
again as decisions of hlograph/Tuning-v0. The fastest ones are kept, those that bring nothing are
left out, one by one, and what is left is measured beside jaxlib's default in two fresh processes.
Plans that decisions cannot say, such as orders of passes, are left out. Where no plan kept a lead,
the default is what is recorded. Lines of datasets/best_decisions.jsonl are replaced by those of
faster plans. Ctrl-C keeps the programs that are done.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Annotated

import tyro

from experiments.evaluate.run_folder import run_program

if TYPE_CHECKING:
    from experiments.evaluate.best_decisions import BestDecisions
    from hlograph.corpus import Benchmark
    from hlograph.corpus.plan_times import PlanTime
    from hlograph.plans.knobs import Recipe


@dataclass(frozen=True)
class TeachConfig:
    """Settings."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Folders of `experiments.tune`, or of a competitor and seed in one of these."""
    plan_times: bool = True
    """True to take plans of the data set of plan times, too."""
    least_plans: int = 10
    """Plans that must have been measured of a program, for no lead to say that the default is the
    fastest."""
    programs_at_once: int = 2
    """Programs that are compiled at the same time; one is measured at a time."""
    again: bool = False
    """True to measure programs again about which decisions are recorded."""
    file: Path | None = None
    """File of decisions; None is the project's."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Records the decisions that a command line asks for.

    Returns:
        Exit status.
    """
    name = "experiments.tune.teach"
    return run_program(_teach, TeachConfig, name, __doc__, arguments)


def _teach(config: TeachConfig) -> int:
    from tqdm import tqdm

    from experiments.evaluate import best_decisions
    from hlograph import corpus
    from hlograph.corpus import plan_times
    from hlograph.errors import HloError

    file = config.file or best_decisions.FILE
    recorded = best_decisions.read(file)
    times = plan_times.load("train").by_program() if config.plan_times else {}
    folders = [folder for run in config.runs for folder in _result_folders(run)]
    benchmarks = sorted(corpus.load("speed", "train"), key=lambda b: (b.op_count, b.name))
    lessons = [  # small programs first: large ones take minutes each
        (benchmark, recipes, measured)
        for benchmark in benchmarks
        if config.again or benchmark.name not in recorded
        for recipes, measured in [_recipes(benchmark, folders, times.get(benchmark.name, ()))]
        if recipes or measured >= config.least_plans
    ]
    if not lessons:
        where = ", ".join(map(str, config.runs)) or "the data set"
        raise HloError(f"expected plans of other programs of the train split in {where}")
    written = 0
    with (
        tqdm(total=len(lessons), unit="program", desc="teach", disable=None) as bar,
        ThreadPoolExecutor(config.programs_at_once) as threads,
    ):
        tasks = {threads.submit(_taught, *lesson): lesson[0].name for lesson in lessons}
        try:
            for task in as_completed(tasks):
                bar.update()
                bar.set_postfix_str(tasks[task])
                if failure := task.exception():
                    tqdm.write(f"left out: {tasks[task]}: {failure}")
                elif new := task.result():
                    written += best_decisions.write([new], file)
        finally:
            threads.shutdown(cancel_futures=True)
    print(f"recorded the decisions about {written} of {len(lessons)} programs in {file}")
    return 0


def _result_folders(run: Path) -> list[Path]:
    """Returns the folders of all competitors and seeds of a run, or the folder itself."""
    return sorted(run.glob("races/*/seed-*")) or [run]


def _recipes(
    benchmark: "Benchmark", folders: Sequence[Path], times: "Sequence[PlanTime]"
) -> "tuple[Mapping[str, Recipe], int]":
    """Returns the recipes of a program's fastest plans by method, and the number of all plans."""
    from experiments.tune.results import RaceResult
    from hlograph.measuring.trial import Job
    from hlograph.optimization.cache import recipe_of
    from hlograph.plans import Program
    from hlograph.plans.knobs import Point, Recipe
    from hlograph.plans.versions import steps_of

    recipes, measured = {}, len(times)
    for folder in folders:
        result = RaceResult.load(folder, benchmark.name)
        if result is None or result.error:
            continue
        measured += result.plans
        if result.method and result.plan is not None:
            job = Job(Program.of(benchmark.load()))
            recipes[result.plan.method] = recipe_of(job, result.plan)
    if times:
        # The lower quartile, as of a hundred plans the one with the largest median had luck.
        fastest = max(times, key=lambda plan: quantiles(plan.ratios)[0])
        point = Point.of(fastest.decisions)
        recipes["plan times"] = Recipe.of(steps_of(point), point)
    return recipes, measured


def _taught(
    benchmark: "Benchmark", recipes: "Mapping[str, Recipe]", number: int
) -> "BestDecisions | None":
    """Returns the decisions of the fastest plan; None if decisions say none of the plans.

    Raises:
        HloError: The program cannot be measured, or a plan cannot be read.
    """
    from experiments.evaluate.best_decisions import BestDecisions
    from experiments.search.tuning.teaching import decisions_by, taught
    from hlograph.measuring.trial import Job
    from hlograph.plans import Program
    from hlograph.storage.machine import machine
    from hlograph.transforms.rules import rules

    job = Job(Program.of(benchmark.load()))
    names = rules.names_for_time(exact=False)
    ways = [way for recipe in recipes.values() for way in decisions_by(recipe, names)]
    decisions, measured = taught(job, ways) if ways else ((), None)
    if ways and not any(ways):
        return None
    here = machine()
    return BestDecisions(
        benchmark.name,
        job.program.fingerprint,
        decisions,
        measured.ratio if measured else 1.0,
        measured.low if measured else 1.0,
        measured.high if measured else 1.0,
        ", ".join(recipes),
        number,
        here.jaxlib,
        here.cpu,
    )


if __name__ == "__main__":
    sys.exit(main())
