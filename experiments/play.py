"""Plays trained policies on one module, in this process.

from experiments.play import play

played = play("gnn", "step.hlo")
print(played.start, played.op_count, played.passes)
played.module.save("smaller.hlo")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.outcomes.evaluation import Outcome
from experiments.policies.checkpoint import load_policy
from experiments.policies.greedy import STOP_ABOVE
from experiments.policies.kind import EnvRequest, PolicyKind
from experiments.policies.shipped import checkpoint_location
from experiments.workers.lockstep import Lockstep
from experiments.workers.playing import play_samples
from hlograph.decisions.benchmarks import NamedModule
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.module import Module
from hlograph.reading.sources import Source
from hlograph.transforms.steps import take_step
from models.actor_critic import ActorCritic

_NAME = "program"


@dataclass(frozen=True)
class Played:
    """Holds the result of playing a policy on a module."""

    module: Module
    """The module with the fewest instructions that it reached. The given one is unchanged."""
    start: int
    """Instructions of the given module."""
    op_count: int
    """Instructions of the result."""
    passes: tuple[str, ...]
    """Passes, or places of rewrites, that lead to the result, in order."""
    calls: int
    """Steps of all episodes, including those that changed nothing."""


def play(
    policy: str | Path | Sequence[str | Path],
    source: Module | Source,
    *,
    samples: int = 1,
    stop_above: float = STOP_ABOVE,
    seed: int = 0,
) -> Played:
    """Plays policies that order passes or rewrites, and returns the smallest module.

    Passes run in this process. ``python -m experiments.evaluate`` plays in worker processes,
    verifies the results and compares their outputs with the originals'.

    Args:
        policy: Name of a policy that comes with the project, such as ``"gnn"``, or the path or URL
            of a checkpoint. Of several, each goes on from the smallest module of the one before:
            ``("gnn", "sweeps")`` orders passes first, and then rewrites.
        source: A module, or what ``hlograph.Module.read`` makes one of: a lowered JAX function, a
            file, text.
        samples: Episodes, of which the best is kept; the first is greedy.
        stop_above: Probability of stopping above which the greedy episode ends. With more it makes
            more calls, and may leave fewer instructions.
        seed: Seed of the episodes after the first.

    Raises:
        HloError: The source holds no module, or there is no such policy.
        ValueError: The policy decides about something else, or there are no episodes to play.
        OSError: A file cannot be read.
    """
    if samples < 1:
        raise ValueError(f"expected at least 1 episode, got samples={samples}")
    policies = [policy] if isinstance(policy, str | Path) else list(policy)
    loaded = [_loaded(str(one)) for one in policies]
    module = source if isinstance(source, Module) else Module.read(source)
    played = Played(module.clone(), module.op_count, module.op_count, (), 0)
    for kind, network in loaded:
        outcome = _best(kind, network, played.module, samples, seed, stop_above)
        for name in outcome.passes:
            take_step(played.module, name)
        steps, calls = played.passes + outcome.passes, played.calls + outcome.calls
        played = Played(played.module, played.start, outcome.op_count, steps, calls)
    return played


def _loaded(policy: str) -> tuple[PolicyKind, ActorCritic]:
    kind, network = load_policy(checkpoint_location(policy))
    if kind.table != "op counts":
        raise ValueError(
            f"expected a policy that orders passes or rewrites, got {kind.label}; "
            "policies that decide about times are methods of hlograph.optimize"
        )
    return kind, network.eval()


def _best(
    kind: PolicyKind,
    network: ActorCritic,
    module: Module,
    samples: int,
    seed: int,
    stop_above: float,
) -> Outcome:
    """Returns the best of several episodes; the module is not changed."""
    benchmarks = [NamedModule(_NAME, lambda: module)]
    request = EnvRequest(benchmarks, Quarantine(), FlightRecorder(), learns=False)
    envs = Lockstep(kind, [kind.env_maker(request)()])
    return play_samples(envs, network, _NAME, samples, seed, stop_above)
