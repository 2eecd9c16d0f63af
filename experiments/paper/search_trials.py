"""Trials of the comparison of searches: each method with each seed, on each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.checkpoint import Checkpoint
from experiments.checkpoint_player import LABELS
from experiments.crew import Crew
from experiments.search.guide import TrainedPolicy
from experiments.search.task import Found, Search
from experiments.shipped import available, checkpoint_location
from experiments.study import Trial

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


@dataclass(frozen=True)
class Budget:
    """What a search may spend on each benchmark: pass calls or seconds."""

    calls: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.seconds:g} s" if self.calls is None else f"{self.calls:,} calls"


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
        ValueError: It was made with other passes.
        OSError: It cannot be read.
    """
    found = [Competitor(method, method) for method in methods]
    taken: set[str] = set()
    for given in (checkpoints or tuple(available())) if guided else ():
        location = checkpoint_location(given)
        checkpoint = Checkpoint.load(location)
        label = LABELS[checkpoint.learner]
        if label in taken:
            label += f" (training seed {checkpoint.config['seed']})"
        taken.add(label)
        policy = TrainedPolicy.load(location)
        cost = f"{label} was trained on {checkpoint.steps:,} pass calls."
        found += [Competitor(f"{label} {m}", m, policy, cost) for m in guided]
    return found


def trained(competitors: Sequence[Competitor]) -> list[str]:
    """What the policies cost to train, a sentence for each."""
    return list(dict.fromkeys(c.trained_on for c in competitors if c.trained_on))


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
        seeds: Each method searches once with each.
        groups: Names of benchmarks, by what the group is called.
        budgets: Each makes a group of its own.
        done: Trials that need not be done, by method, seed and group.
    """
    for group, benchmarks in groups.items():
        for budget in budgets:
            for competitor in competitors:
                for seed in seeds:
                    label = f"{group}, {budget}"
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
