"""Plays a policy greedily on benchmarks, and checks what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from envs.validation import validate
from experiments.benchmarks import load
from experiments.lockstep import Lockstep
from experiments.states import STOP, State, stacked
from hlograph.equivalence import Limits
from hlograph.errors import VerificationError, WorkerLostError
from models.actor_critic import ActorCritic
from models.rollout import StateTable

# The reference evaluator goes element by element: it takes as long as compiling does on modules
# of a few hundred instructions, and several times as long on larger ones.
_LIMITS = Limits(evaluated_ops=500)


@dataclass(frozen=True)
class Outcome:
    """What a policy made of one benchmark."""

    benchmark: str
    start: int
    """Op count before any pass."""
    op_count: int
    """Op count when the episode ended."""
    passes: tuple[str, ...]
    """Passes that changed the module, in order: running them on it again gives the result."""
    calls: int
    """Pass calls, those that changed nothing included."""

    def unless(self, check: "Check") -> "Outcome":
        """The outcome; of one that failed its check, the benchmark without any pass."""
        return replace(self, op_count=self.start, passes=()) if check.problem else self


@dataclass(frozen=True)
class Check:
    """What was found when an outcome was checked."""

    problem: str | None
    """Why the outcome does not count; None if nothing speaks against it."""
    verdict: str
    """How its outputs compare with the original's; see ``hlograph.equivalence``."""

    @classmethod
    def lost(cls, error: WorkerLostError) -> "Check":
        """The check of an outcome that could not be checked to its end."""
        return cls(f"its check {error.kind.replace('_', ' ')}: {error}", "not comparable")


def check(outcome: Outcome, samples: int) -> Check:
    """Whether the passes alone lead to the outcome's op count and a valid, equivalent module.

    They are run on a fresh module, outside any environment, so that what the table shows
    does not rest on the environment's own books.

    Args:
        outcome: The outcome.
        samples: Random inputs to compare the outputs on; 0 for no comparison.
    """
    start = load(outcome.benchmark)
    module = start.clone()
    for name in outcome.passes:
        module.run(name)
    if module.op_count != outcome.op_count:
        return Check(f"its passes lead to {module.op_count} instructions", "not compared")
    if not samples:
        try:
            module.verify()
        except VerificationError as error:
            return Check(f"XLA's verifier rejects it: {error}", "not compared")
        return Check(None, "not compared")
    validation = validate(start, module, samples=samples, limits=_LIMITS)
    if validation.equivalence is None:
        return Check(str(validation), "not compared")
    verdict = validation.equivalence.verdict
    return Check(str(validation) if verdict == "different" else None, verdict)


@torch.no_grad()
def play_greedily(envs: Lockstep, policy: ActorCritic, benchmarks: Sequence[str]) -> list[Outcome]:
    """Plays one greedy episode in each environment, benchmark by benchmark.

    Args:
        envs: As many environments as benchmarks, in lockstep.
        policy: What acts; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
    """
    device = next(policy.parameters()).device
    table = StateTable(policy)
    begun = envs.reset(dict(enumerate(benchmarks)))
    running: dict[int, State] = {n: state for n, (state, _) in begun.items()}
    op_counts = {n: info["op_count"] for n, (_, info) in begun.items()}
    passes: dict[int, list[str]] = {n: [] for n in begun}
    calls = dict.fromkeys(begun, 0)
    while running:
        states = list(running.values())
        numbers = table.numbers([s.key for s in states], [s.item for s in states])
        context, mask = map(torch.from_numpy, stacked(states))
        log_probs, _ = policy(table.vectors(numbers), context.to(device), mask.to(device))
        actions = log_probs.argmax(1).tolist()
        for n, after in envs.step(dict(zip(running, actions, strict=True))).items():
            op_counts[n] = after.info["op_count"]
            if after.info["pass_name"] != STOP:
                calls[n] += 1
                passes[n] += [after.info["pass_name"]] * bool(after.info["changed"])
            running[n] = after.state
            if after.terminated or after.truncated:
                del running[n]
    return [
        Outcome(name, begun[n][1]["start_op_count"], op_counts[n], tuple(passes[n]), calls[n])
        for n, name in enumerate(benchmarks)
    ]
