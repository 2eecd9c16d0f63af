"""The environment of the decisions inside XLA's fusion passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmark_env import BenchmarkEnv, check_replay
from envs.benchmarks import BenchmarkSource, NamedModule
from envs.fusion_episode import FusionEpisode
from envs.fusion_walk import FUSION_PASSES
from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.rewards import Reward
from envs.run_times import RunTimes
from envs.step_result import StepResult
from hlograph import Place
from hlograph.errors import UnknownNameError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.names import unknown

KEEP, APPLY = 0, 1
ACTIONS = ("keep", "apply")

Passes = Literal["fusion", "multi-output-fusion"]


class PassDecisionsEnv(BenchmarkEnv[FusionEpisode]):
    """Takes XLA's fusion passes and decides, pair by pair, whether to fuse.

    A benchmark is taken as XLA:CPU's compiler has it right before fusion
    (``hlograph.transforms.xla_cpu.before_fusion``), and ``Executable(env.module, lowered=True)``
    compiles what the episode chose. Source of the view: HloEnv ("A Graph Rewrite Environment for
    Deep Learning Compiler Optimization Research"), whose two passes that matter most for run time are
    these two.

    Action: ``Discrete(2)``: 0 keeps the two instructions that are offered apart, 1 fuses them.

    Observation: a dict of ``module``, what ``PassOrderingEnv`` shows of a module (``graph`` or
    ``op_counts``), and ``decision``: with ``graph`` the nodes of consumer and producer, int64
    ``[2]``; with ``op_counts`` their opcodes, int64 ``[2]``, as indices of ``OPCODES``. Both are -1
    where nothing is left to decide.

    Reward: see ``envs.rewards``; what they call op count is the number of kernels here
    (``hlograph.transforms.xla_cpu.count_kernels``), so that ``op-count-drop`` (the default) is the
    drop of kernels in percent of the start. ``bytes-drop`` is that of bytes by XLA's cost model;
    ``run-time`` and ``final-run-time`` that of the measured run time, of the code that has the
    chosen fusions and no others, beside that without any.

    End: the episode terminates after the last decision; the horizon truncates it (terminates,
    with ``final-run-time``). A fusion that fails leaves the module as it was, counts as kept and
    is reported in ``info["error"]``.

    Info of reset and step: ``benchmark``, ``start_op_count``, ``op_count`` (instructions, those
    inside of fusions among them), ``start_kernels``, ``kernels``, ``fingerprint``, ``pass_name``
    (of the step's decision; None after reset), ``changed``, ``error``, ``decided`` (what the step
    did, such as "apply fusion(b, a)", or None), ``decision`` (the ``Place`` that is offered next,
    or None), ``action_mask`` (int8 ``[2]``: any pair may be kept or fused, but for those in
    quarantine), and with ``costs`` also ``flops``, ``transcendentals`` and ``bytes_accessed``. Of
    run times: see ``BenchmarkEnv``.

    Episodes are deterministic, but for run times: the same actions give the same module in every
    process.

    Version history: v0, the first.
    """

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        passes: Sequence[Passes] = FUSION_PASSES,
        observation: ObservationKind = "graph",
        reward: str | Reward = "op-count-drop",
        horizon: int = 1000,
        costs: bool = True,
        run_times: RunTimes | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Makes the environment; modules are read and lowered when they are first chosen.

        Args:
            benchmarks: Names of the corpus, paths of HLO files, or Modules; one or several. None:
                the training split of the corpus.
            passes: Which passes are walked, in this order.
            observation: ``"graph"`` or ``"op_counts"``.
            reward: A name of ``envs.rewards.REWARDS`` or a callable.
            horizon: Decisions after which an episode is truncated.
            costs: Whether info holds XLA's cost analysis. A reward that reads costs has them
                whatever is said here.
            run_times: Takes and keeps run times where the reward needs them; None: all
                environments of the process share one ``envs.RunTimes``.
            quarantine: Pairs that may not be fused on a benchmark, and states not to be run,
                because they ended a process.
            recorder: Flight recorder of the worker that the environment runs in.
            render_mode: ``"ansi"`` or None.
        """
        if observation not in OBSERVATIONS:
            raise UnknownNameError(unknown("observation", observation, OBSERVATIONS))
        for name in passes:
            if name not in FUSION_PASSES:
                raise UnknownNameError(unknown("fusion pass", name, FUSION_PASSES))
        super().__init__(
            benchmarks,
            reward=reward,
            horizon=horizon,
            costs=costs,
            run_times=run_times,
            quarantine=quarantine,
            recorder=recorder,
            render_mode=render_mode,
        )
        self.passes = tuple(passes)
        self._shows_graph = observation == "graph"
        self._observation: Observation = OBSERVATIONS[observation](len(ACTIONS))
        self.action_space = spaces.Discrete(len(ACTIONS))
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

    def step(self, action: int | np.integer) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Decides about the pair that is offered.

        Args:
            action: 0 keeps it apart, 1 fuses it.
        """
        choice = int(action)
        if choice not in (KEEP, APPLY):
            raise ValueError(f"expected an action of 0 (keep) or 1 (apply), got {action!r}")
        episode = self._current
        if episode.done:
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset() first")
        if not self.action_masks()[choice]:
            raise ValueError(f"action {choice} is masked: {self.decision} is in quarantine")
        before, decision = episode.state, episode.walk.decision
        error = self._decide(episode, choice)
        terminated, truncated = self._end(episode, stopped=episode.walk.decision is None)
        after = episode.state._replace(stopped=terminated)
        reward = self._reward(episode.start, before, after)
        changed = choice == APPLY and decision is not None and error is None
        result = StepResult(changed, 0.0, error)
        info = self._info(None if decision is None else decision.rule, result)
        return self._observe(), float(reward), terminated, truncated, info

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask: any pair may be kept or fused, but for those in quarantine."""
        mask = np.ones(len(ACTIONS), np.int8)
        if str(self.decision) in self._quarantine.passes_at(self._current.benchmark):
            mask[APPLY] = 0
        return mask

    def _decide(self, episode: FusionEpisode, choice: int) -> str | None:
        if choice == KEEP:
            return episode.decide(ACTIONS[KEEP])
        about = (str(self.decision), episode.fingerprint, episode.benchmark, episode.applied)
        with noted(self._recorder, *about):
            return episode.decide(ACTIONS[APPLY])

    def _begin(self, benchmark: NamedModule) -> FusionEpisode:
        return FusionEpisode(benchmark, self.passes, self._needs_costs)

    def _action_of(self, name: str) -> int:
        choice, _, place = name.partition(" ")
        check_replay("next decision", place, str(self.decision))
        return ACTIONS.index(choice)

    def _observe(self) -> dict[str, Any]:
        episode = self._current
        if episode.seen is None:
            episode.seen = self._observation.observe(self.module, episode.counts)
        module = self._observation.compose(episode.seen, self.action_masks(), share=False)
        return {"module": module, "decision": self._decision()}

    def _decision(self) -> NDArray[np.int64]:
        decision = self.decision
        if decision is None or decision.other is None:
            return np.full(2, -1, np.int64)
        nodes = self._current.nodes()
        pair = [nodes[decision.instruction], nodes[decision.other]]
        if self._shows_graph:
            return np.array(pair, np.int64)
        return self._current.graph().opcode[pair].astype(np.int64)

    def _info(self, name: str | None, result: StepResult) -> dict[str, Any]:
        episode = self._current
        decided = episode.trajectory().passes[-1] if name is not None else None
        info: dict[str, Any] = {
            "benchmark": episode.benchmark,
            "start_op_count": episode.start_op_count,
            "op_count": episode.op_count,
            "start_kernels": episode.start_kernels,
            "kernels": episode.kernels,
            "fingerprint": episode.fingerprint,
            "pass_name": name,
            "changed": result.changed,
            "error": result.error,
            "decided": decided,
            "decision": episode.walk.decision,
            "action_mask": self.action_masks(),
        }
        if self._costs and episode.cost is not None:
            info.update(episode.cost._asdict())
        if self._timing is not None:
            info.update(self._timing.info(episode))
        return info
