"""Plays the policies of checkpoints on any benchmarks, in worker processes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.outcomes.benchmarks import Reference
from experiments.outcomes.evaluation import Outcome
from experiments.outcomes.study import Trial
from experiments.paper.benchmarks import all_references
from experiments.policies.checkpoint import Checkpoint, policy_of
from experiments.policies.config import PassTrainConfig, Workers
from experiments.policies.learner import LearnerName
from experiments.search.guide import TrainedPolicy
from experiments.search.task import Found, Search
from experiments.workers.crew import Crew, parameters_of, pool_of
from experiments.workers.playing import STOP_ABOVE
from experiments.workers.tasks import PlaySamples
from models.actor_critic import ActorCritic

LABELS: Mapping[LearnerName, str] = {
    "gnn": "GNN",
    "op_counts": "op counts",
    "rewrites": "GNN on rewrites",
}
"""What tables call the policies."""


def step_noun(learner: LearnerName) -> str:
    """What a step of a policy is, as texts call several of them."""
    return "rewrites" if learner == "rewrites" else "pass calls"


def training_cost(checkpoint: Checkpoint) -> str:
    """What a policy cost to train, as a sentence.

    Its budgets hold none of that: neither the pass calls that it learned from nor those of the
    searches whose orders it imitated.
    """
    kept = checkpoint.steps if checkpoint.best is None else checkpoint.best.steps
    learner = checkpoint.learner
    imitated = (
        "" if learner == "rewrites" else f"imitating {checkpoint.imitated or 0:,} searched orders, "
    )
    return (
        f"{LABELS[learner]}, seed {checkpoint.config['seed']}: trained on "
        f"{checkpoint.steps:,} {step_noun(learner)}, kept after {kept:,}, {imitated}"
        f"on modules of at most {checkpoint.config['train_op_limit']:,} instructions."
    )


@dataclass(frozen=True)
class Player:
    """The policy of one checkpoint, and workers that play it."""

    checkpoint: Checkpoint
    policy: ActorCritic
    crew: Crew

    def method(self, samples: int = 1, stop_above: float = STOP_ABOVE) -> str:
        """What tables call it."""
        name = LABELS[self.checkpoint.learner]
        if stop_above != STOP_ABOVE:
            name += f", stops above {stop_above:g}"
        return name if samples == 1 else f"{name}, best of {samples}"

    def references(self, names: Sequence[str]) -> tuple[dict[str, Reference], list[str]]:
        """All references by benchmark, and a note on each benchmark that has to be left out."""
        return all_references(self.crew, names)

    def trial(
        self,
        group: str,
        names: Sequence[str],
        samples: int = 1,
        seed: int = 0,
        stop_above: float = STOP_ABOVE,
    ) -> Trial:
        """Plays the policy on benchmarks, each by itself, and checks what comes out.

        Args:
            group: What the benchmarks are called.
            names: The benchmarks.
            samples: Episodes on each, of which the best is kept; one is greedy.
            seed: Seed of all episodes but the first, which is greedy.
            stop_above: Probability of stopping above which a greedy episode ends.

        Returns:
            The trial; its seed is that of the training.
        """
        parameters = parameters_of(self.policy)
        tasks = [
            PlaySamples(
                learner=self.checkpoint.learner,
                parameters=parameters,
                benchmark=name,
                samples=samples,
                seed=seed,
                stop_above=stop_above,
            )
            for name in names
        ]
        played: list[tuple[Outcome, float]] = self.crew.run(tasks, "an evaluation")
        outcomes, seconds = [outcome for outcome, _ in played], [s for _, s in played]
        return self._trial(self.method(samples, stop_above), group, outcomes, seconds)

    def beam(self, group: str, names: Sequence[str], calls: int) -> Trial:
        """Has the policy guide a beam search on benchmarks, and checks what comes out.

        Args:
            group: What the benchmarks are called.
            names: The benchmarks.
            calls: Pass calls to spend on each.
        """
        guide = TrainedPolicy.of(self.checkpoint)
        tasks = [
            Search(
                benchmark=name,
                method="policy-beam",
                seed=0,  # a beam draws nothing
                calls=calls,
                seconds=None,
                policy=guide,
            )
            for name in names
        ]
        found: list[Found] = self.crew.run(tasks, "a beam search")
        method = f"{self.method()}, beam of {calls:,} calls"
        curves = {f.outcome.benchmark: f.curve for f in found}
        outcomes, seconds = [f.outcome for f in found], [f.seconds for f in found]
        return self._trial(method, group, outcomes, seconds, curves)

    def _trial(
        self,
        method: str,
        group: str,
        outcomes: Sequence[Outcome],
        seconds: Sequence[float],
        curves: Mapping[str, Sequence[tuple[int, float, int]]] | None = None,
    ) -> Trial:
        """The trial of what was found, checked."""
        seed = self.checkpoint.config["seed"]
        return Trial(
            method, seed, group, outcomes, self.crew.check(outcomes), seconds, curves or {}
        )


@contextmanager
def player(
    checkpoint: Checkpoint,
    folder: Path,
    check_samples: int = 2,
    num_workers: int | None = None,
    workers: Workers = "processes",
) -> Iterator[Player]:
    """A player whose workers end with the block.

    Args:
        checkpoint: The policy.
        folder: Where lost workers and passes in quarantine are written down.
        check_samples: Random inputs that results are compared with their originals on.
        num_workers: Processes that play; None is one a core.
        workers: What plays.

    Raises:
        ValueError: It was made with other passes or networks, or decides about fusions.
    """
    if checkpoint.learner not in LABELS:
        raise ValueError(
            f"expected a policy that orders passes or rewrites, got {checkpoint.learner}: "
            "what it decides is no op count; its training ends with a table of its own"
        )
    _, policy = policy_of(checkpoint)
    settings = checkpoint.settings()
    if isinstance(settings, PassTrainConfig):
        settings = replace(settings, known_no_ops=None)
    config = replace(
        settings,
        # Nothing learns: what is rewarded is not looked at, and may cost time.
        reward="op-count-drop",
        samples=check_samples,
        workers=workers,
        num_workers=num_workers,
        device="cpu",
        out=None,
    )
    with pool_of(config) as pool:
        crew = Crew(config, pool, folder)
        crew.quarantine = crew.quarantine.with_pairs(checkpoint.quarantine)
        yield Player(checkpoint, policy, crew)
