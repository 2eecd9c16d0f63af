"""Trials of the comparison of searches: each method with each seed, on each group."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.outcomes.study import Trial
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.shipped import ORDERING, checkpoint_location, one_of_each
from experiments.search.guide import TrainedPolicy
from experiments.search.methods import SEEDLESS, check_guided
from experiments.search.task import Found, Search
from experiments.workers.crew import Crew
from experiments.workers.player import LABELS
from hlograph.storage.locations import read_bytes

GREEDY = "policy-greedy"
"""The method that spends what it spends."""


@dataclass(frozen=True)
class Competitor:
    """A method, and the policy that it follows, if any."""

    name: str
    """What tables call it."""
    method: str
    policy: TrainedPolicy | None = None
    trained_on: str = ""
    """What its policy cost to train."""
    label: str = ""
    """What tables call the policy."""
    digest: str = ""
    """SHA-256 of the file of its checkpoint."""

    def seeds(self, seeds: Sequence[int]) -> Sequence[int]:
        """Those of some seeds that it searches with: one, if it does the same with all."""
        return seeds[:1] if self.method in SEEDLESS else seeds


@dataclass(frozen=True)
class Budget:
    """What a search may spend on each benchmark: pass calls or seconds."""

    calls: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.seconds:g} s" if self.calls is None else f"{self.calls:,} calls"

    def of(self, group: str) -> str:
        """Name of the group of trials that search a group of benchmarks with this budget."""
        return f"{group}, {self}"

    def left_over(self, trial: Trial) -> int:
        """Searches of a trial that ended before they had spent it."""
        if self.calls is not None:
            return sum(outcome.calls < self.calls for outcome in trial.outcomes)
        return sum(seconds < (self.seconds or 0.0) for seconds in trial.seconds)


def competitors_of(
    methods: Sequence[str], guided: Sequence[str], checkpoints: Sequence[str]
) -> list[Competitor]:
    """All methods, those with a policy once for each checkpoint.

    Args:
        methods: Names of those without a policy.
        guided: Names of those with one.
        checkpoints: Paths, URLs or names; none are those that come with the project.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        ValueError: It was made with other passes, or a method cannot go by it.
        OSError: It cannot be read.
    """
    found = [Competitor(method, method) for method in methods]
    taken: set[str] = set()
    for given in (checkpoints or tuple(one_of_each(kinds=ORDERING))) if guided else ():
        location = checkpoint_location(given)
        checkpoint = Checkpoint.load(location)
        label = _label(LABELS[checkpoint.learner], checkpoint.config["seed"], taken)
        taken.add(label)
        policy = TrainedPolicy.of(checkpoint)
        cost = f"{label} was trained on {checkpoint.steps:,} pass calls."
        digest = hashlib.sha256(read_bytes(location)).hexdigest()
        for method in guided:
            check_guided(method, policy)
            found.append(Competitor(f"{label} {method}", method, policy, cost, label, digest))
    return found


def _label(learner: str, seed: int, taken: set[str]) -> str:
    """What a policy is called that no other is called."""
    if learner not in taken:
        return learner
    label = f"{learner} (training seed {seed})"
    number = 2
    while label in taken:
        label = f"{learner} (training seed {seed}, #{number})"
        number += 1
    return label


def trained(competitors: Sequence[Competitor]) -> list[str]:
    """What the policies cost to train, a sentence for each."""
    return list(dict.fromkeys(c.trained_on for c in competitors if c.trained_on))


def ended_early(
    trials: Sequence[Trial],
    competitors: Sequence[Competitor],
    groups: Sequence[str],
    budgets: Sequence[Budget],
) -> list[str]:
    """How many searches had nothing left to try before their budget was spent, by group."""
    notes = []
    for label, budget in ((budget.of(group), budget) for group in groups for budget in budgets):
        shares = []
        # An episode is no search: it ends when the policy stops.
        for name in (c.name for c in competitors if c.method != GREEDY):
            own = [t for t in trials if (t.method, t.group) == (name, label)]
            early = sum(budget.left_over(trial) for trial in own)
            if early:
                shares.append(f"{name} {early} of {sum(len(t.outcomes) for t in own)}")
        if shares:
            notes.append(
                f"Searches of {label} that ended before their budget: {'; '.join(shares)}."
            )
    return notes


def trials_of(
    crew: Crew,
    competitors: Sequence[Competitor],
    seeds: Sequence[int],
    groups: Mapping[str, Sequence[str]],
    budgets: Sequence[Budget],
    done: Mapping[tuple[str, int, str], Trial],
) -> Iterator[Trial]:
    """Searches, group by group and budget by budget, and checks what comes out.

    Args:
        crew: Does them.
        competitors: The methods.
        seeds: Each method searches once with each; those that draw nothing, with the first.
        groups: Names of benchmarks, by what the group is called.
        budgets: Each makes a group of its own.
        done: Trials that need not be done, by method, seed and group.
    """
    for group, benchmarks in groups.items():
        for budget in budgets:
            for competitor in competitors:
                for seed in competitor.seeds(seeds):
                    label = budget.of(group)
                    if (competitor.name, seed, label) in done:
                        yield done[competitor.name, seed, label]
                    elif benchmarks:
                        yield _trial(crew, competitor, seed, label, benchmarks, budget)


def _trial(
    crew: Crew,
    competitor: Competitor,
    seed: int,
    label: str,
    benchmarks: Sequence[str],
    budget: Budget,
) -> Trial:
    tasks = [
        Search(
            benchmark=name,
            method=competitor.method,
            seed=seed,
            calls=budget.calls,
            seconds=budget.seconds,
            policy=competitor.policy,
        )
        for name in benchmarks
    ]
    print(f"{label}: {competitor.name}, seed {seed}, {len(tasks)} benchmarks")
    found: list[Found] = crew.run(tasks, "a search")
    outcomes = [result.outcome for result in found]
    return Trial(
        competitor.name,
        seed,
        label,
        outcomes,
        crew.check(outcomes),
        [result.seconds for result in found],
        # An episode is one point, not a curve: what others had found by then is told of it.
        {} if competitor.method == GREEDY else {r.outcome.benchmark: r.curve for r in found},
    )
