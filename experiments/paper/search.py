"""Searches at equal budgets: the same number of pass calls, or of seconds, for each method.

Random, greedy, beam and evolutionary search, local search from XLA's own orders, and searches that
follow a trained policy, on families that no policy was trained on.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.settings import ExperimentConfig
from experiments.policies.config_json import to_json
from hlograph.corpus.shipped import CorpusSet, Split
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json

if TYPE_CHECKING:
    from experiments.evaluate.study import Study
    from experiments.paper.search_trials import Competitor

BEGUN = "searches.json"
"""File in the run's folder with its policies and its number of workers."""
_KIND, _VERSION = "searches", 1


@dataclass(frozen=True)
class SearchComparisonConfig(ExperimentConfig):
    """Settings of the comparison of searches."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """Each method that draws at random searches each benchmark once with each seed; a method that
    draws nothing, or only breaks ties, searches once, with the first seed."""
    methods: tuple[str, ...] = ("random", "greedy", "beam-4", "evolution", "local")
    """Searches without a policy."""
    guided: tuple[str, ...] = ("policy-greedy", "policy", "policy-beam", "mcts")
    """Searches with a policy, each with every checkpoint; policy-greedy is its one greedy episode,
    whatever the budget."""
    checkpoints: tuple[str, ...] = ()
    """Policies: paths, URLs or names; none are those that come with the project, if there are
    any."""
    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus, each a group of benchmarks for each budget."""
    split: Split = "test-unseen"
    """Split that benchmarks are from. Settings of searches are chosen on validation."""
    op_limit: int = 2_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 6
    """Number of benchmarks of each set, evenly over families; None is all."""
    calls: tuple[int, ...] = (1_000,)
    """Budgets of pass calls for each benchmark."""
    seconds: tuple[float, ...] = (3.0,)
    """Budgets of wall time for each benchmark."""
    limit_seconds: float = 600.0
    """Time limit of a search with a budget of pass calls on one benchmark; the best state that it
    has found until then counts, and the study names it."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    num_workers: int | None = None
    """Searches side by side; None is one for each core that is idle when the run begins. A run that
    is continued keeps the number."""


PRESETS = {
    "quick": SearchComparisonConfig(checkpoints=("gnn", "op-counts"), count=4),
    "full": SearchComparisonConfig(
        preset="full",
        op_limit=8_000,
        count=40,
        calls=(1_000, 10_000),
        seconds=(3.0, 30.0),
        limit_seconds=3_600.0,
    ),
}

_NOTES = (
    "No method calls a pass twice in a state: all search in a table of states. A pass that a "
    "policy's own environment knows to change nothing is free there too.",
    "Local search begins with XLA's own orders, and pays for their passes; the others begin with "
    "no passes.",
    "No budget includes the cost of training a policy, neither its pass calls nor its time. The "
    "seconds of a search include the encoding of states, but not the time to read modules, "
    "policies and libraries.",
    "Methods that draw nothing, or only to order equal states, searched once, whatever the number "
    "of seeds: greedy, beam, and of those with a policy all except its drawn episodes.",
)


def run(config: SearchComparisonConfig, folder: Path) -> "Study":
    """Searches all benchmarks by all methods within each budget; see ``Experiment.run``."""
    from experiments.evaluate.best_known import known_of
    from experiments.evaluate.study import Study
    from experiments.paper.search_trials import (
        SearchBudget,
        competitors_of,
        ended_early,
        planned_trials,
        training_costs,
    )
    from experiments.paper.trials import run_trials, timed_out
    from experiments.policies.config import OpCountTrainConfig
    from experiments.workers.pools import pool_of
    from experiments.workers.references import all_references
    from experiments.workers.task_runner import TaskRunner

    competitors = competitors_of(config.methods, config.guided, config.checkpoints)
    workers = _workers(config, folder, competitors)
    settings = OpCountTrainConfig(
        workers=config.workers, num_workers=workers, samples=config.checks
    )
    groups, limit = _groups(config), config.limit_seconds
    timed = [SearchBudget(seconds=seconds) for seconds in config.seconds]
    budgets = [*(SearchBudget(calls=calls) for calls in config.calls), *timed]
    with pool_of(settings) as pool:
        runner = TaskRunner(settings, pool, folder)
        names = list(dict.fromkeys(name for group in groups.values() for name in group))
        references, left_out = all_references(runner, names)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        left = {g: [n for n in names if n in references] for g, names in groups.items()}
        known = known_of(references)
        side_by_side = f"{workers} searches ran side by side on {os.cpu_count()} cores."
        notes = [*_NOTES, side_by_side, *training_costs(competitors), *left_out]
        study = Study("search", config.preset, to_json(config), references, [], known, {}, notes)
        planned = planned_trials(competitors, config.seeds, left, budgets, limit)
        study = run_trials(runner, study, planned, folder)
    early = ended_early(study.trials, competitors, list(left), budgets, limit)
    besides = [budget.of(group) for budget in timed for group in left]
    return replace(study, notes=[*notes, *early, *timed_out(study.trials, limit, besides)])


def _workers(
    config: SearchComparisonConfig, folder: Path, competitors: "Sequence[Competitor]"
) -> int:
    """Returns the number of searches side by side; a run that is continued keeps it.

    Searches share the machine's cores, so budgets in seconds are worth less with more of them.

    Raises:
        HloError: The folder has searches with other policies, or of unknown policies.
    """
    from experiments.evaluate.study import STUDY

    policies = {c.label: c.digest for c in competitors if c.label}
    try:
        begun = read_checked_json(folder / BEGUN, _KIND, _VERSION)
    except FileNotFoundError:
        if (folder / STUDY).exists():
            raise HloError(
                f"{folder} does not say which policies its searches followed: choose another folder"
            ) from None
        begun = {"workers": config.num_workers or idle_cores(), "policies": policies}
        write_checked_json(folder / BEGUN, _KIND, _VERSION, begun)
    if begun["policies"] != policies:
        names = begun["policies"].keys() | policies.keys()
        changed = [n for n in sorted(names) if begun["policies"].get(n) != policies.get(n)]
        raise HloError(
            f"{folder} was begun with other checkpoints ({', '.join(changed)}): their searches are "
            "not to be mixed with these"
        )
    return int(begun["workers"])


def _groups(config: SearchComparisonConfig) -> dict[str, list[str]]:
    """Returns the names of benchmarks by set."""
    from experiments.evaluate.benchmarks import held_out_benchmarks

    return {
        f"{name} {config.split}": held_out_benchmarks(
            config.op_limit, config.count, name, config.split
        )
        for name in config.corpus_sets
    }


def idle_cores() -> int:
    """Returns the number of cores that were idle in the last minute, at least one."""
    cores = len(os.sched_getaffinity(0))
    return max(1, round(cores - os.getloadavg()[0]))
