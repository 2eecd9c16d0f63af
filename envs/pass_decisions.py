"""Environment of the decisions inside XLA's fusion passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.decision_env import DecisionEnv
from envs.episode import Episode
from envs.observations import ObservationKind, observation_of_kind
from envs.rewards import Reward
from envs.settings import EnvSettings, isolation, listed, shown
from hlograph import Place
from hlograph.decisions.benchmarks import BenchmarkSource
from hlograph.decisions.fusion import (
    APPLY,
    FUSION_PASSES,
    KEEP,
    KEPT,
    FusionProcess,
    FusionState,
    LiveFusion,
)
from hlograph.decisions.trajectory import check_replay

Passes = Literal["fusion", "multi-output-fusion"]


class PassDecisionsEnv(DecisionEnv[FusionState]):
    """Environment that decides, pair by pair, what XLA's fusion passes fuse.

    Each benchmark is lowered to the module that XLA:CPU's compiler has right before fusion
    (``hlograph.transforms.xla_cpu.before_fusion``). ``Executable(env.module, lowered=True)``
    compiles what the episode chose. Source of the idea: HloEnv ("A Graph Rewrite Environment for
    Deep Learning Compiler Optimization Research"); of its passes these two matter most for run
    time.

    ## Action space
    ``Discrete(2)``: 0 keeps the two instructions that are offered apart, 1 fuses them. The mask is
    0 only for fusing a pair that is in quarantine.

    ## Observation space
    A ``Dict``:

    ============  =================================================================================
    Key           Value
    ============  =================================================================================
    ``module``    Observation of the module, as in ``PassOrderingEnv``: ``graph`` or ``op_counts``.
    ``decision``  int64 ``[2]``, the pair of consumer and producer: with ``graph`` their nodes, with
                  ``op_counts`` their opcodes, as indices of ``OPCODES``; -1 if nothing is left to
                  decide.
    ============  =================================================================================

    ## Reward
    One of ``envs.rewards``. Their op count is the number of kernels here
    (``hlograph.transforms.xla_cpu.count_kernels``), so ``op-count-drop`` (the default) is the drop
    of kernels in percent of the start. ``bytes-drop`` is the drop of bytes by XLA's cost model.
    ``run-time`` and ``final-run-time`` compare the measured run time of the code that has exactly
    the chosen fusions with that of the code without any.

    ## Episode end
    The last decision terminates the episode; the horizon truncates it (terminates it with
    ``final-run-time``). A fusion that fails leaves the module as it was, and keeps the pair apart.
    A masked action changes nothing: the same pair is offered again. It counts as a step.

    ## Info
    The keys of ``envs.info``. For this environment:

    =================  ============================================================================
    Key                Value
    =================  ============================================================================
    ``step_name``      Place of the fusion, such as ``fusion(b, a)``; ``keep fusion(b, a)`` for a
                       pair that was kept apart; "stop" for a step where nothing was left to
                       decide; "masked" for a masked action.
    ``step_time``      Seconds of the fusion and of listing the pairs that can be fused afterwards.
    ``op_count``       Number of instructions, those inside of fusions included.
    ``size``           Number of kernels, at least 1.
    ``kernels``        Number of kernels.
    ``start_kernels``  The same at the start of the episode.
    ``decision``       ``Place`` of the pair that is offered next, or None.
    =================  ============================================================================

    ## Version history
    * v0: First version.

    Args:
        benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None: the
            training split of the corpus. Modules are read and lowered when they are first chosen.
        passes: Fusion passes to decide about, in this order.
        observation: ``"graph"`` or ``"op_counts"``.
        reward: A name of ``envs.rewards.REWARDS`` or a callable.
        horizon: Number of steps after which an episode is truncated.
        **settings: See ``envs.settings.EnvSettings``. ``quarantine`` holds pairs not to be fused
            on a benchmark, and states not to be run.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        passes: Sequence[Passes] | Passes = FUSION_PASSES,
        observation: ObservationKind = "graph",
        reward: str | Reward = "op-count-drop",
        horizon: int = 1000,
        **settings: Unpack[EnvSettings],
    ) -> None:
        process = FusionProcess(listed(passes), **isolation(settings))
        super().__init__(process, benchmarks, reward=reward, horizon=horizon, **shown(settings))
        self.passes = process.passes
        self._shows_graph = observation == "graph"
        self._observation = observation_of_kind(observation, num_actions=2)
        self.observation_space = spaces.Dict(
            {
                "module": self._observation.space,
                "decision": spaces.Box(-1, np.iinfo(np.int64).max, (2,), np.int64),
            }
        )

    @property
    def decision(self) -> Place | None:
        """The pair that is offered, or None after the last."""
        return self._current.player.state.pair

    def _action_of(self, name: str) -> int:
        place = name.removeprefix(KEPT)
        check_replay("next decision", place, str(self.decision))
        return APPLY if place == name else KEEP

    def _observe(self, episode: Episode[FusionState]) -> dict[str, Any]:
        if episode.seen is None:
            episode.seen = self._observation.observe(
                lambda: self.process.graph(episode.player), episode.op_counts_by_opcode
            )
        module = self._observation.compose(episode.seen, episode.mask, share=False)
        return {"module": module, "decision": self._pair(episode)}

    def _pair(self, episode: Episode[FusionState]) -> NDArray[np.int64]:
        player = episode.player
        assert isinstance(player, LiveFusion)
        pair = player.pair_nodes()
        if pair is None:
            return np.full(2, -1, np.int64)
        if self._shows_graph:
            return np.array(pair, np.int64)
        return player.graph().opcode[list(pair)].astype(np.int64)

    def _extra_info(self, episode: Episode[FusionState]) -> dict[str, Any]:
        state = episode.player.state
        return {
            "kernels": state.kernels,
            "start_kernels": episode.player.first.kernels,
            "decision": state.pair,
        }
