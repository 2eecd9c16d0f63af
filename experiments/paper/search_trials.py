"""Plans the trials of the comparison of searches: each method with each seed, on each group."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.evaluate.study import Trial
from experiments.paper.checkpoints import labelled
from experiments.paper.trials import PlannedTrial
from experiments.policies.shipped import checkpoint_location
from experiments.search.guide import TrainedPolicy
from experiments.search.methods import SEEDLESS, check_guided
from experiments.search.task import Search
from hlograph.storage.locations import read_bytes

GREEDY = "policy-greedy"
"""Method that plays one episode, whatever the budget."""


@dataclass(frozen=True)
class Competitor:
    """A search method, and the policy that guides it, if any."""

    name: str
    """Name shown in tables."""
    method: str
    policy: TrainedPolicy | None = None
    trained_on: str = ""
    """Sentence on the cost of the policy's training."""
    label: str = ""
    """Name of the policy in tables."""
    digest: str = ""
    """SHA-256 of the checkpoint's file."""

    def seeds(self, seeds: Sequence[int]) -> Sequence[int]:
        """Returns the seeds to search with: the first alone if the seed changes nothing."""
        return seeds[:1] if self.method in SEEDLESS else seeds


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


def competitors_of(
    methods: Sequence[str], guided: Sequence[str], checkpoints: Sequence[str]
) -> list[Competitor]:
    """Returns all methods, those with a policy once for each checkpoint.

    Args:
        methods: Names of methods without a policy.
        guided: Names of methods with a policy.
        checkpoints: Paths, URLs or names; empty is those that come with the project.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: None of its actions exists any more, or it cannot guide a method.
        OSError: It cannot be read.
    """
    found = [Competitor(method, method) for method in methods]
    if not guided:
        return found
    for label, (given, checkpoint) in labelled(checkpoints).items():
        policy = TrainedPolicy.of(checkpoint)
        cost = f"{label} was trained on {checkpoint.steps:,} pass calls."
        digest = hashlib.sha256(read_bytes(checkpoint_location(given))).hexdigest()
        for method in guided:
            check_guided(method, policy)
            found.append(Competitor(f"{label} {method}", method, policy, cost, label, digest))
    return found


def training_costs(competitors: Sequence[Competitor]) -> list[str]:
    """Returns a sentence on the training of each policy."""
    return list(dict.fromkeys(c.trained_on for c in competitors if c.trained_on))


def ended_early(
    trials: Sequence[Trial],
    competitors: Sequence[Competitor],
    groups: Sequence[str],
    budgets: Sequence[SearchBudget],
    limit: float,
) -> list[str]:
    """Returns notes on searches that had nothing left to try before their budget was spent.

    Args:
        trials: All trials.
        competitors: The methods.
        groups: Names of the groups of benchmarks.
        budgets: The budgets.
        limit: Time limit of a search on one benchmark, in seconds.
    """
    notes = []
    for label, budget in ((budget.of(group), budget) for group in groups for budget in budgets):
        shares = []
        # An episode is no search: it ends when the policy stops.
        for name in (c.name for c in competitors if c.method != GREEDY):
            own = [t for t in trials if (t.method, t.group) == (name, label)]
            early = sum(budget.left_over(trial, limit) for trial in own)
            if early:
                shares.append(f"{name} {early} of {sum(len(t.outcomes) for t in own)}")
        if shares:
            notes.append(
                f"Searches of {label} that ended before their budget: {'; '.join(shares)}."
            )
    return notes


def planned_trials(
    competitors: Sequence[Competitor],
    seeds: Sequence[int],
    groups: Mapping[str, Sequence[str]],
    budgets: Sequence[SearchBudget],
    limit: float,
) -> list[PlannedTrial]:
    """Plans the trials, group by group and budget by budget.

    Args:
        competitors: The methods.
        seeds: Seeds of methods that draw at random.
        groups: Names of benchmarks, by group.
        budgets: The budgets; each makes a group of its own.
        limit: Time limit of a search on one benchmark, in seconds.
    """
    return [
        PlannedTrial(
            budget.of(group),
            one.name,
            seed,
            {
                name: Search(
                    benchmark=name,
                    method=one.method,
                    seed=seed,
                    calls=budget.calls,
                    seconds=limit if budget.seconds is None else budget.seconds,
                    policy=one.policy,
                )
                for name in names
            },
            # An episode is one point, not a curve that others' budgets are compared with.
            keeps_curves=one.method != GREEDY,
        )
        for group, names in groups.items()
        if names
        for budget in budgets
        for one in competitors
        for seed in one.seeds(seeds)
    ]
