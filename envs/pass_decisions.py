"""Environment of the decisions inside XLA's fusion passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmark_env import BenchmarkEnv
from envs.benchmarks import BenchmarkSource, NamedModule
from envs.fusion_episode import KEPT, FusionEpisode
from envs.fusion_walk import FUSION_PASSES
from envs.observations import ObservationKind, observation_of_kind
from envs.rewards import Reward
from envs.settings import EnvSettings, listed
from envs.step_result import STOP, StepResult
from envs.trajectory import check_replay
from hlograph import Place
from hlograph.errors import UnknownNameError
from hlograph.isolation.pass_call import noted

KEEP, APPLY = 0, 1

Passes = Literal["fusion", "multi-output-fusion"]


class PassDecisionsEnv(BenchmarkEnv[FusionEpisode]):
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
        chosen = listed(passes)
        for name in chosen:
            if name not in FUSION_PASSES:
                raise UnknownNameError.of("fusion pass", name, FUSION_PASSES)
        super().__init__(benchmarks, 2, stops=False, reward=reward, horizon=horizon, **settings)
        self.passes = tuple(chosen)
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
        return self._current.walk.decision

    def _begin(self, benchmark: NamedModule) -> FusionEpisode:
        episode = FusionEpisode(benchmark, self.passes, self._needs_costs)
        episode.mask = self._mask(episode)
        return episode

    def _act(self, episode: FusionEpisode, action: int) -> StepResult:
        decision = episode.walk.decision
        if decision is None:
            return StepResult(STOP, stopped=True)
        if action == KEEP:
            result = episode.keep(decision)
        else:
            about = (episode.fingerprint, episode.benchmark, episode.applied)
            with noted(self._recorder, str(decision), *about):
                result = episode.fuse(decision)
        episode.mask = self._mask(episode)
        return result._replace(stopped=episode.walk.decision is None)

    def _mask(self, episode: FusionEpisode) -> NDArray[np.int8]:
        mask = np.ones(2, np.int8)
        if str(episode.walk.decision) in self._quarantine.passes_at(episode.benchmark):
            mask[APPLY] = 0
        return mask

    def _action_of(self, episode: FusionEpisode, name: str) -> int:
        place = name.removeprefix(KEPT)
        check_replay("next decision", place, str(episode.walk.decision))
        return APPLY if place == name else KEEP

    def _observe(self, episode: FusionEpisode) -> dict[str, Any]:
        if episode.seen is None:
            counts = episode.op_counts_by_opcode
            episode.seen = self._observation.observe(episode.module, counts)
        module = self._observation.compose(episode.seen, episode.mask, share=False)
        return {"module": module, "decision": self._pair(episode)}

    def _pair(self, episode: FusionEpisode) -> NDArray[np.int64]:
        decision = episode.walk.decision
        if decision is None or decision.other is None:
            return np.full(2, -1, np.int64)
        nodes = episode.nodes()
        pair = [nodes[decision.instruction], nodes[decision.other]]
        if self._shows_graph:
            return np.array(pair, np.int64)
        return episode.graph().opcode[pair].astype(np.int64)

    def _extra_info(self, episode: FusionEpisode) -> dict[str, Any]:
        return {
            "kernels": episode.kernels,
            "start_kernels": episode.start_kernels,
            "decision": episode.walk.decision,
        }
