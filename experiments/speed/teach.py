"""Records the decisions of the fastest plans that were measured, for policies to imitate.

    python -m experiments.speed --split train --per-family 2 --budget 20 --out runs/train
    python -m experiments.speed.teach runs/train

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

from experiments.search.program import run_program

if TYPE_CHECKING:
    from experiments.outcomes.best_decisions import BestDecisions
    from hlograph.corpus import Benchmark
    from hlograph.corpus.plan_times import PlanTime
    from hlograph.tuning.recipe import Recipe


@dataclass(frozen=True)
class TeachConfig:
    """Settings."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Folders of `experiments.speed`, or of a competitor and seed in one of `experiments.tune`."""
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
    name = "experiments.speed.teach"
    return run_program(_teach, TeachConfig, name, __doc__, arguments)


def _teach(config: TeachConfig) -> int:
    from tqdm import tqdm

    from experiments.outcomes import best_decisions
    from hlograph import corpus
    from hlograph.corpus import plan_times
    from hlograph.errors import HloError

    file = config.file or best_decisions.FILE
    known = best_decisions.read(file)
    times = plan_times.load("train").by_program() if config.plan_times else {}
    subjects = sorted(corpus.load("speed", "train"), key=lambda one: (one.op_count, one.name))
    found = [  # small programs first: large ones take minutes each
        (subject, recipes, measured)
        for subject in subjects
        if config.again or subject.name not in known
        for recipes, measured in [_recipes(subject, config.runs, times.get(subject.name, ()))]
        if recipes or measured >= config.least_plans
    ]
    if not found:
        where = ", ".join(map(str, config.runs)) or "the data set"
        raise HloError(f"expected plans of other programs of the train split in {where}")
    recorded = 0
    with (
        tqdm(total=len(found), unit="program", desc="teach", disable=None) as bar,
        ThreadPoolExecutor(config.programs_at_once) as threads,
    ):
        tasks = {threads.submit(_taught, *one): one[0].name for one in found}
        try:
            for task in as_completed(tasks):
                bar.update()
                bar.set_postfix_str(tasks[task])
                if failure := task.exception():
                    tqdm.write(f"left out: {tasks[task]}: {failure}")
                elif new := task.result():
                    recorded += best_decisions.write([new], file)
        finally:
            threads.shutdown(cancel_futures=True)
    print(f"recorded the decisions about {recorded} of {len(found)} programs in {file}")
    return 0


def _recipes(
    subject: "Benchmark", runs: Sequence[Path], times: "Sequence[PlanTime]"
) -> "tuple[Mapping[str, Recipe], int]":
    """Returns the recipes of a program's fastest plans by method, and the number of all plans."""
    from experiments.speed.results import SpeedResult
    from experiments.speed.trials import plan_file
    from hlograph.measuring.trial import Job
    from hlograph.optimization.versions import recipe_of
    from hlograph.plans import Plan
    from hlograph.programs import Program
    from hlograph.tuning.knobs import Point
    from hlograph.tuning.recipe import Recipe
    from hlograph.tuning.versions import steps_of

    recipes, measured = {}, len(times)
    for run in runs:
        result = SpeedResult.load(run, subject.name)
        if result is None or result.error:
            continue
        measured += result.plans
        if result.method:
            plan = Plan.load(plan_file(run, subject))
            recipes[plan.method] = recipe_of(Job(Program.of(subject.load())), plan)
    if times:
        # The lower quartile, as of a hundred plans the one with the largest median had luck.
        fastest = max(times, key=lambda plan: quantiles(plan.ratios)[0])
        point = Point.of(fastest.decisions)
        recipes["plan times"] = Recipe.of(steps_of(point), point)
    return recipes, measured


def _taught(
    subject: "Benchmark", recipes: "Mapping[str, Recipe]", number: int
) -> "BestDecisions | None":
    """Returns the decisions of the fastest plan; None if decisions say none of the plans.

    Raises:
        HloError: The program cannot be measured, or a plan cannot be read.
    """
    from experiments.outcomes.best_decisions import BestDecisions
    from experiments.search.tuning.following import decisions_by
    from experiments.search.tuning.teaching import taught
    from hlograph.measuring.trial import Job
    from hlograph.programs import Program
    from hlograph.storage.machine import machine
    from hlograph.transforms.rules import rules

    job = Job(Program.of(subject.load()))
    names = rules.names_for_time(exact=False)
    ways = [way for recipe in recipes.values() for way in decisions_by(recipe, names)]
    decisions, measured = taught(job, ways) if ways else ((), None)
    if ways and not any(ways):
        return None
    here = machine()
    return BestDecisions(
        subject.name,
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
