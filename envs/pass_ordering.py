"""Environment that chooses which pass runs next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from envs.decision_env import DecisionEnv
from envs.episode import Episode
from envs.observations import ObservationKind, observation_of_kind
from envs.rewards import Reward
from envs.settings import EnvSettings, isolation, listed, shown
from hlograph.decisions.benchmarks import BenchmarkSource
from hlograph.decisions.memory import MEMORY, Memory
from hlograph.decisions.passes import PassProcess
from hlograph.decisions.process import State
from hlograph.transforms.registry import Pass, passes


class PassOrderingEnv(DecisionEnv[State]):
    """Environment that chooses which XLA pass to run next on an HLO module.

    ## Action space
    ``Discrete(number of passes + 1)``. Action i runs ``env.passes[i]``; the last action stops. The
    mask is 0 where an action is known to change nothing: it was tried in this state, or the module
    has none of the opcodes that the pass acts on. A pass that fails counts as one that changes
    nothing.

    ## Observation space
    With ``observation="op_counts"`` the paper's vector of instructions by opcode, a ``Box`` of
    float32 ``[len(OPCODES)]``. With ``observation="graph"`` a ``Dict``:

    ===============  ==============================================================================
    Key              Value
    ===============  ==============================================================================
    ``graph``        Typed graph: nodes float32 ``[N, len(NODE_FEATURES)]``, edges float32
                     ``[E, len(EDGE_FEATURES)]``, links int64 ``[E, 2]`` as source and target.
    ``op_counts``    The vector of instructions by opcode.
    ``action_mask``  int8 ``[num_actions]``.
    ===============  ==============================================================================

    ## Reward
    One of ``envs.rewards``. ``op-count-drop`` (the default) is the drop of the number of
    instructions, in percent of the start. It sums to the total reduction of an episode.

    ## Episode end
    Stopping terminates the episode; the horizon truncates it (terminates it with
    ``final-run-time``). A pass that fails leaves the module as it was and does not end the episode.
    A masked action changes nothing; it counts as a step.

    ## Info
    The keys of ``envs.info``. For this environment:

    ===============  ==============================================================================
    Key              Value
    ===============  ==============================================================================
    ``step_name``    Name of the pass, also of one that was masked.
    ``step_time``    Seconds of the pass in XLA, with those of known passes that had to run before
                     it; 0.0 if none ran because it is known what the pass does.
    ``size``         Number of instructions, the same as ``op_count``.
    ===============  ==============================================================================

    ## Determinism
    The same trajectory gives the same fingerprint in every process. The no-ops that masks are made
    of are kept from episode to episode; ``reset(seed=...)`` forgets them, so that a seed determines
    the masks too. A pass known to change nothing is not run again, nor are steps made that an
    earlier episode made (``envs.Memory``), which shows in ``step_time`` only.

    ## Version history
    * v0: First version.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read when they are first chosen.
        observation: ``"graph"`` or ``"op_counts"``.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        share_observations: True if observations of the same state share their arrays, which saves
            copying a graph after each step that changes nothing; the caller must not write to
            them.
        actions: Names of the passes to choose from, or one; None: all. With
            ``hlograph.passes.exact`` the outputs of the module stay bitwise equal.
        memory: What is known of states. The environment shows in its masks what it has learned
            itself, and shares what only saves time, by default with all environments of the
            process. None runs every pass that the mask allows, in order to time passes.
        **settings: See ``envs.settings.EnvSettings``.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        observation: ObservationKind = "graph",
        reward: str | Reward = "op-count-drop",
        horizon: int = 40,
        share_observations: bool = False,
        actions: Sequence[str] | str | None = None,
        memory: Memory | None = MEMORY,
        **settings: Unpack[EnvSettings],
    ) -> None:
        self.passes: tuple[Pass, ...] = (
            tuple(passes) if actions is None else tuple(passes[name] for name in listed(actions))
        )
        process = PassProcess(self.passes, memory, **isolation(settings))
        super().__init__(
            process,
            benchmarks,
            reward=reward,
            horizon=horizon,
            memory=MEMORY if memory is None else memory,
            **shown(settings),
        )
        self._share_observations = share_observations
        self._observation = observation_of_kind(observation, process.num_actions)
        self.observation_space = self._observation.space

    def _observe(self, episode: Episode[State]) -> Any:
        if episode.seen is None:
            episode.seen = self._observation.observe(
                lambda: self.process.graph(episode.player), episode.op_counts_by_opcode
            )
        return self._observation.compose(episode.seen, episode.mask, share=self._share_observations)
