"""Plays a policy greedily on benchmarks, and checks what comes out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gymnasium
import torch

from experiments.benchmarks import load
from experiments.lockstep import Lockstep, lockstep
from experiments.states import STOP, State, stacked
from hlograph.errors import VerificationError
from models.actor_critic import ActorCritic
from models.rollout import StateTable


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


def evaluate(
    make_env: Callable[[], gymnasium.Env],
    policy: ActorCritic,
    benchmarks: Sequence[str],
    num_envs: int,
    threads: int,
    node_budget: int,
) -> list[Outcome]:
    """Plays one greedy episode on each benchmark.

    The environments are new, so nothing is known yet of any pass that does nothing: a
    policy pays for each of its mistakes with a call.

    Args:
        make_env: Makes an environment that can play all of the benchmarks.
        policy: What acts; the likeliest action under the mask is taken.
        benchmarks: Names of the benchmarks.
        num_envs: Episodes played side by side; the result does not depend on it but for
            rounding.
        threads: Threads that the passes run on.
        node_budget: Nodes encoded at once.
    """
    outcomes: list[Outcome] = []
    for begin in range(0, len(benchmarks), num_envs):
        group = benchmarks[begin : begin + num_envs]
        with lockstep(make_env, len(group), threads) as envs:
            outcomes += _play_greedily(envs, policy, group, node_budget)
    return outcomes


def verified(outcome: Outcome) -> bool:
    """Whether the passes alone lead to the outcome's op count and a valid module.

    They are run on a fresh module, outside any environment, so that what the table shows
    does not rest on the environment's own books.
    """
    module = load(outcome.benchmark)
    for name in outcome.passes:
        module.run(name)
    try:
        module.verify()
    except VerificationError:
        return False
    return module.op_count == outcome.op_count


@torch.no_grad()
def _play_greedily(
    envs: Lockstep, policy: ActorCritic, benchmarks: Sequence[str], node_budget: int
) -> list[Outcome]:
    """One episode in each environment, benchmark by benchmark."""
    device = next(policy.parameters()).device
    table = StateTable(policy, node_budget)
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
