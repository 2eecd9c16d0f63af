"""The environment of the decisions inside XLA's fusion passes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmarks import BenchmarkSource, NamedModule, resolve_benchmarks
from envs.fusion_episode import FusionEpisode
from envs.fusion_walk import FUSION_PASSES
from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.rendering import render_trajectory
from envs.rewards import Reward, needs_costs, resolve_reward
from envs.trajectory import ReplayError, Trajectory
from hlograph import Place
from hlograph.errors import UnknownNameError
from hlograph.module import Module
from hlograph.names import unknown

KEEP, APPLY = 0, 1
ACTIONS = ("keep", "apply")

Passes = Literal["fusion", "multi-output-fusion"]


class PassDecisionsEnv(gymnasium.Env[Any, np.int64]):
    """Takes XLA's fusion passes and decides, pair by pair, whether to fuse.

    A benchmark is taken as XLA:CPU's compiler has it right before fusion
    (``hlograph.xla_cpu.before_fusion``), and ``Executable(env.module, lowered=True)`` compiles
    what the episode chose. Source of the view: HloEnv ("A Graph Rewrite Environment for Deep
    Learning Compiler Optimization Research"), whose two passes that matter most for run time are
    these two.

    Action: ``Discrete(2)``: 0 keeps the two instructions that are offered apart, 1 fuses them.

    Observation: a dict of ``module``, what ``PassOrderingEnv`` shows of a module (``graph`` or
    ``op_counts``), and ``decision``: with ``graph`` the nodes of consumer and producer, int64
    ``[2]``; with ``op_counts`` their opcodes, int64 ``[2]``, as indices of ``OPCODES``. Both are -1
    where nothing is left to decide.

    Reward: see ``envs.rewards``; what they call op count is the number of kernels here
    (``hlograph.xla_cpu.count_kernels``), so that ``op-count-drop`` (the default) is the drop of
    kernels in percent of the start. ``bytes-drop`` is that of bytes by XLA's cost model.

    End: the episode terminates after the last decision; the horizon truncates it. A fusion that
    fails leaves the module as it was, counts as kept and is reported in ``info["error"]``.

    Info of reset and step: ``benchmark``, ``start_op_count``, ``op_count`` (instructions, those
    inside of fusions among them), ``start_kernels``, ``kernels``, ``fingerprint``, ``pass_name``
    (of the step's decision; None after reset), ``changed``, ``error``, ``decision`` (the ``Place``
    that is offered next, or None), ``action_mask`` (int8 ``[2]``, all ones: any pair may be kept or
    fused), and with ``costs`` also ``flops``, ``transcendentals`` and ``bytes_accessed``.

    Episodes are deterministic: the same actions give the same module in every process.

    Version history: v0, the first.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        passes: Sequence[Passes] = FUSION_PASSES,
        observation: ObservationKind = "graph",
        reward: str | Reward = "op-count-drop",
        horizon: int = 1000,
        costs: bool = True,
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
            render_mode: ``"ansi"`` or None.
        """
        if horizon < 1:
            raise ValueError(f"expected a horizon of at least 1 step, got {horizon}")
        if observation not in OBSERVATIONS:
            raise UnknownNameError(unknown("observation", observation, OBSERVATIONS))
        if render_mode not in (None, "ansi"):
            raise UnknownNameError(unknown("render mode", render_mode, ("ansi",)))
        for name in passes:
            if name not in FUSION_PASSES:
                raise UnknownNameError(unknown("fusion pass", name, FUSION_PASSES))
        self.passes = tuple(passes)
        self.horizon = horizon
        self.render_mode = render_mode
        self._benchmarks = resolve_benchmarks(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        self._reward = resolve_reward(reward)
        self._costs = costs
        self._needs_costs = costs or needs_costs(self._reward)
        self._shows_graph = observation == "graph"
        self._observation: Observation = OBSERVATIONS[observation](len(ACTIONS))
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = spaces.Dict(
            {
                "module": self._observation.space,
                "decision": spaces.Box(-1, np.iinfo(np.int64).max, (2,), np.int64),
            }
        )
        self._episode: FusionEpisode | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks that reset chooses from."""
        return tuple(benchmark.name for benchmark in self._benchmarks)

    @property
    def module(self) -> Module:
        """The module of the episode; change it through ``step`` only."""
        return self._current.walk.module

    @property
    def decision(self) -> Place | None:
        """The pair that is offered, or None after the last."""
        return self._current.walk.decision

    @property
    def trajectory(self) -> Trajectory:
        """What the episode did so far; its passes are decisions, as ``apply fusion(b, a)``."""
        return self._current.trajectory()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the choice of benchmarks.
            options: ``{"benchmark": name}`` chooses one of ``benchmarks``.

        Raises:
            HloError: XLA:CPU's compiler refuses the benchmark.
        """
        super().reset(seed=seed)
        chosen = self._choose((options or {}).get("benchmark"))
        self._episode = FusionEpisode(chosen, self.passes, self._needs_costs)
        return self._observe(), self._info(None, changed=False, error=None)

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
        before, decision = episode.state, episode.walk.decision
        error = episode.decide(ACTIONS[choice])
        terminated = episode.walk.decision is None
        truncated = not terminated and episode.steps >= self.horizon
        episode.done = terminated or truncated
        after = episode.state._replace(stopped=terminated)
        reward = self._reward(episode.start, before, after)
        changed = choice == APPLY and decision is not None and error is None
        info = self._info(None if decision is None else decision.rule, changed, error)
        return self._observe(), float(reward), terminated, truncated, info

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._np_random = deepcopy(self._np_random)
        if self._episode is not None:
            copy._episode = self._episode.copy()
        return copy

    def replay(self, trajectory: Trajectory) -> tuple[Any, dict[str, Any]]:
        """Resets to a trajectory's benchmark and does the same again.

        Returns:
            Observation and info of the last step.

        Raises:
            ReplayError: Another pair is offered, or an op count or the final fingerprint differs.
            UnknownNameError: The benchmark is not of this environment.
        """
        observation, info = self.reset(options={"benchmark": trajectory.benchmark})
        _check("start", trajectory.start_fingerprint, info["fingerprint"])
        horizon, self.horizon = self.horizon, len(trajectory.passes) + 1
        try:
            for step, taken in enumerate(trajectory.passes):
                name, _, place = taken.partition(" ")
                _check(f"step {step + 1}", place, str(self.decision))
                observation, _, _, _, info = self.step(ACTIONS.index(name))
                _check(f"step {step + 1} ({taken})", trajectory.op_counts[step], info["op_count"])
        finally:
            self.horizon = horizon
        _check("end", trajectory.fingerprint, info["fingerprint"])
        return observation, info

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask: any pair may be kept or fused."""
        return np.ones(len(ACTIONS), np.int8)

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return render_trajectory(self.trajectory) if self.render_mode == "ansi" else None

    @property
    def _current(self) -> FusionEpisode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("no episode has begun; call reset() first")
        return self._episode

    def _choose(self, name: str | None) -> NamedModule:
        if name is None:
            return self._benchmarks[int(self.np_random.integers(len(self._benchmarks)))]
        if name not in self._by_name:
            raise UnknownNameError(unknown("benchmark", name, self._by_name))
        return self._by_name[name]

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

    def _info(self, name: str | None, changed: bool, error: str | None) -> dict[str, Any]:
        episode = self._current
        info: dict[str, Any] = {
            "benchmark": episode.benchmark,
            "start_op_count": episode.start_op_count,
            "op_count": episode.op_count,
            "start_kernels": episode.start_kernels,
            "kernels": episode.kernels,
            "fingerprint": episode.fingerprint,
            "pass_name": name,
            "changed": changed,
            "error": error,
            "decision": episode.walk.decision,
            "action_mask": self.action_masks(),
        }
        if self._costs and episode.cost is not None:
            info.update(episode.cost._asdict())
        return info


def _check(where: str, expected: object, came: object) -> None:
    if expected != came:
        raise ReplayError(
            f"at the {where} the trajectory has {expected}, the replay {came}: the benchmark or "
            "the linked XLA is another one"
        )
