"""Plays trained policies on one module.

    from experiments.play import play

    played = play("gnn", "step.hlo")
    print(played.start, played.op_count, played.passes)
    played.module.save("smaller.hlo")

They are methods of ``hlograph.optimize``, too, by the names of functions of this module:

    methods = [*hlograph.optimization.methods.names(), "experiments.play:gnn"]
    hlograph.optimize(step, params, batch, methods=methods)

The policies were trained to leave fewer instructions. Whether that makes a program faster is
measured, as for any other plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.evaluate.evaluation import least_on_the_way
from experiments.policies.checkpoint import load_policy
from experiments.policies.config import SKIP_BELOW
from experiments.policies.kind import EnvRequest, PolicyKind
from experiments.policies.player import Episodes, play_samples
from experiments.policies.shipped import checkpoint_location
from hlograph.decisions.benchmarks import NamedModule
from hlograph.execution import lock
from hlograph.isolation import FlightRecorder, Quarantine, Remote, WorkerLimits
from hlograph.module import Module, take_step
from hlograph.optimization.methods import Listed, Method
from hlograph.plans import Numerics, Plan, Program
from hlograph.reading.sources import Source
from hlograph.transforms.pipelines import pipelines
from models.actor_critic import ActorCritic

_NAME = "program"

# Of a policy that proposes a plan: its episodes, and seconds for them.
_SAMPLES, _SECONDS = 4, 20.0
_LIMITS = WorkerLimits(seconds=300.0, memory=8 << 30)


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
    stop_above: float | None = None,
    skip_below: float = SKIP_BELOW,
    seed: int = 0,
    seconds: float | None = None,
) -> Played:
    """Plays policies that order passes or rewrites, and returns the smallest module.

    Passes run in this process. ``python -m experiments.evaluate`` plays in worker processes,
    verifies the results and compares their outputs with the originals'.

    Args:
        policy: Name of a policy that comes with the project, such as ``"gnn"``, or the path or URL
            of a checkpoint. Of several, each goes on from the smallest module of the one before:
            ``("gnn", "sweeps")`` orders passes first, and then rewrites. A reference pipeline may
            be among them: ``("gnn", "hlograph-simplify")`` goes on with a fixed order, of which the
            smallest module on its way is taken.
        source: A module, or what ``hlograph.Module.read`` makes one of: a lowered JAX function, a
            file, text.
        samples: Episodes, of which the best is kept; the first is greedy.
        stop_above: Probability of stopping above which the greedy episode ends; None is 0.8 for
            passes and 0.5 for rewrites. With more it makes more calls, and may leave fewer
            instructions.
        skip_below: Probability that a pass changes the module, as the policy predicts, below which
            it is not called, and that the episode finds fewer instructions, below which it ends.
            With more it makes fewer calls, and may leave more instructions.
        seed: Seed of the episodes after the first.
        seconds: Wall time for each policy, after which it takes no further step; None is no limit.

    Raises:
        HloError: The source holds no module, or there is no such policy.
        ValueError: The policy decides about something else, or there are no episodes to play.
        OSError: A file cannot be read.
    """
    if samples < 1:
        raise ValueError(f"expected at least 1 episode, got samples={samples}")
    names = [policy] if isinstance(policy, str | Path) else list(policy)
    parts = [str(name) if name in pipelines else _loaded(str(name)) for name in names]
    module = source if isinstance(source, Module) else Module.read(source)
    played = Played(module.clone(), module.op_count, module.op_count, (), 0)
    for part in parts:
        before = played.module.clone()
        if isinstance(part, tuple):
            with closing(_episodes(*part, before, skip_below)) as episodes:
                best = play_samples(episodes, _NAME, samples, seed, stop_above, seconds)
        else:
            best = least_on_the_way(before, part)
        for name in best.passes:
            take_step(played.module, name)
        steps, calls = (*played.passes, *best.passes), played.calls + best.calls
        played = Played(played.module, played.start, best.op_count, steps, calls)
    return played


def _loaded(policy: str) -> tuple[PolicyKind, ActorCritic]:
    kind, network = load_policy(checkpoint_location(policy))
    if kind.table != "op counts":
        raise ValueError(
            f"expected a policy that orders passes or rewrites, got {kind.label}; "
            "policies that decide about times are methods of hlograph.optimize"
        )
    return kind, network.eval()


def _episodes(
    kind: PolicyKind, network: ActorCritic, module: Module, skip_below: float
) -> Episodes:
    """Returns episodes of a policy on a module."""
    request = EnvRequest(
        [NamedModule(_NAME, lambda: module)], Quarantine(), FlightRecorder(), learns=False
    )
    return Episodes(kind, network, kind.env_maker(request), skip_below=skip_below)


def policy(checkpoint: str, program: Program, numerics: Numerics) -> Method:
    """Returns the method that proposes what a policy chooses, in its best of four episodes.

    The policy plays in a process of its own, when it is first asked.

    Args:
        checkpoint: Path of a checkpoint, or the name of a policy that comes with the project.
        program: The program.
        numerics: Class of the results.
    """
    return Listed(_plans(checkpoint, program, numerics))


gnn = partial(policy, "gnn")
op_counts = partial(policy, "op-counts")
rewrites = partial(policy, "rewrites")
sweeps = partial(policy, "sweeps")


def _plans(checkpoint: str, program: Program, numerics: Numerics) -> Iterator[Plan]:
    with closing(Remote(_RecordedPlayer, _LIMITS, (__name__,))) as player:
        steps = player.call(_RecordedPlayer.steps, checkpoint, program.module())
    if steps:
        yield Plan(
            program=program.name,
            fingerprint=program.fingerprint,
            steps=steps,
            numerics=numerics,
            method=f"policy: {checkpoint}",
        )


class _RecordedPlayer:
    """Plays policies in a worker process, where a pass may end the process.

    Args:
        recorder: Notes what is played.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder

    def steps(self, checkpoint: str, module: Module) -> tuple[str, ...]:
        """Returns the passes or rewrites that a policy chooses for a module."""
        self._recorder.begin(checkpoint.encode())
        with lock.compiling():  # it takes a core, which a measurement needs
            played = play(checkpoint, module, samples=_SAMPLES, seconds=_SECONDS)
        self._recorder.end()
        return played.passes
