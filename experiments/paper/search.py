"""Searches at equal budgets: each method with each seed, on each group, within each budget."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from experiments.evaluate.benchmarks import held_out_benchmarks
from experiments.evaluate.study import STUDY, Study, Trial
from experiments.paper.checkpoints import labelled
from experiments.paper.settings import SearchComparisonConfig
from experiments.paper.trials import (
    Cell,
    Competitor,
    begun_study,
    planned_trials,
    run_trials,
    timed_out,
)
from experiments.policies.config import PassTrainConfig
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy, check_guided
from experiments.search.task import SearchTask
from hlograph.decisions.searches import SEARCHES
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import read_bytes

BEGUN = "searches.json"
"""File in the run's folder with its policies and its number of workers."""
_KIND, _VERSION = "searches", 1
_EPISODE = "policy-greedy"  # the method that plays one episode, whatever the budget
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


class GuidingPolicy(NamedTuple):
    """A policy that guides searches."""

    policy: TrainedPolicy
    steps: int
    """Pass calls that it was trained on."""
    digest: str
    """SHA-256 of the checkpoint's file."""


@dataclass(frozen=True)
class SearchBudget:
    """Budget of a search on each benchmark: pass calls or seconds."""

    calls: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.seconds:g} s" if self.calls is None else f"{self.calls:,} calls"

    def of(self, group: str) -> str:
        """Returns the name of the group of trials on some benchmarks with this budget."""
        return f"{group}, {self}"

    def left_over(self, trial: Trial, limit: float) -> int:
        """Returns how many searches of a trial ended before the budget and the time limit."""
        seconds = limit if self.seconds is None else self.seconds
        return sum(
            spent < seconds and (self.calls is None or outcome.calls < self.calls)
            for outcome, spent in zip(trial.outcomes, trial.seconds, strict=True)
        )


def run(config: SearchComparisonConfig, folder: Path) -> Study:
    """Searches all benchmarks by all methods within each budget."""
    policies = policies_of(config)
    competitors = competitors_of(config, policies)
    workers = _workers(config, folder, {label: p.digest for label, p in policies.items()})
    settings = PassTrainConfig(workers=config.workers, num_workers=workers, samples=config.checks)
    groups = {
        f"{name} {config.split}": held_out_benchmarks(
            config.op_limit, config.count, name, config.split
        )
        for name in config.corpus_sets
    }
    notes = [*_NOTES, f"{workers} searches ran side by side on {os.cpu_count()} cores."]
    notes += [f"{label} was trained on {p.steps:,} pass calls." for label, p in policies.items()]
    everything = list(dict.fromkeys(name for names in groups.values() for name in names))
    with begun_study("search", config, settings, folder, everything, notes) as (runner, study):
        cells = [
            Cell(budget.of(group), [n for n in names if n in study.references], budget)
            for group, names in groups.items()
            for budget in _budgets(config)
        ]
        study = run_trials(runner, study, planned_trials(cells, competitors), folder)
    limit = config.limit_seconds
    early = ended_early(study.trials, competitors, cells, limit)
    besides = [cell.group for cell in cells if cell.aim.seconds is not None]
    return replace(study, notes=[*study.notes, *early, *timed_out(study.trials, limit, besides)])


def _budgets(config: SearchComparisonConfig) -> list[SearchBudget]:
    budgets = [SearchBudget(calls=calls) for calls in config.calls]
    return [*budgets, *(SearchBudget(seconds=seconds) for seconds in config.seconds)]


def policies_of(config: SearchComparisonConfig) -> dict[str, GuidingPolicy]:
    """Returns the policies that guide searches, by their names in tables.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: None of its actions exists any more.
        OSError: It cannot be read.
    """
    if not config.guided:
        return {}
    policies = {}
    for label, (given, checkpoint) in labelled(config.checkpoints).items():
        digest = hashlib.sha256(read_bytes(checkpoint_location(given))).hexdigest()
        policies[label] = GuidingPolicy(TrainedPolicy.of(checkpoint), checkpoint.steps, digest)
    return policies


def competitors_of(
    config: SearchComparisonConfig, policies: Mapping[str, GuidingPolicy]
) -> list[Competitor]:
    """Returns all methods, those with a policy once for each policy.

    Raises:
        ValueError: A policy cannot guide a method.
    """

    def competitor(name: str, method: str, policy: TrainedPolicy | None) -> Competitor:
        return Competitor(
            name,
            # A method whose seed changes nothing searches with the first alone.
            config.seeds if SEARCHES["passes"][method].draws else config.seeds[:1],
            partial(_task, method, policy, config.limit_seconds),
            _budgets(config),
            # An episode is one point, not a curve that others' budgets are compared with.
            keeps_curves=method != _EPISODE,
        )

    competitors = [competitor(method, method, None) for method in config.methods]
    for label, guiding in policies.items():
        for method in config.guided:
            check_guided(method, guiding.policy)
            competitors.append(competitor(f"{label} {method}", method, guiding.policy))
    return competitors


def _task(
    method: str,
    policy: TrainedPolicy | None,
    limit: float,
    benchmark: str,
    budget: SearchBudget,
    seed: int,
) -> SearchTask:
    return SearchTask(
        benchmark=benchmark,
        method=method,
        seed=seed,
        calls=budget.calls,
        seconds=limit if budget.seconds is None else budget.seconds,
        policy=policy,
    )


def ended_early(
    trials: Sequence[Trial], competitors: Sequence[Competitor], cells: Sequence[Cell], limit: float
) -> list[str]:
    """Returns notes on searches that had nothing left to try before their budget was spent.

    Args:
        trials: All trials.
        competitors: The methods.
        cells: Groups of benchmarks, each with its budget.
        limit: Time limit of a search on one benchmark, in seconds.
    """
    notes = []
    for cell in cells:
        shares = []
        # An episode is no search: it ends when the policy stops.
        for name in (c.name for c in competitors if c.keeps_curves):
            own = [t for t in trials if (t.method, t.group) == (name, cell.group)]
            early = sum(cell.aim.left_over(trial, limit) for trial in own)
            if early:
                shares.append(f"{name} {early} of {sum(len(t.outcomes) for t in own)}")
        if shares:
            notes.append(
                f"Searches of {cell.group} that ended before their budget: {'; '.join(shares)}."
            )
    return notes


def _workers(config: SearchComparisonConfig, folder: Path, policies: dict[str, str]) -> int:
    """Returns the number of searches side by side; a run that is continued keeps it.

    Searches share the machine's cores, so budgets in seconds are worth less with more of them.

    Raises:
        HloError: The folder has searches with other policies, or of unknown policies.
    """
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


def idle_cores() -> int:
    """Returns the number of cores that were idle in the last minute, at least one."""
    cores = len(os.sched_getaffinity(0))
    return max(1, round(cores - os.getloadavg()[0]))
