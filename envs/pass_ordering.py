"""The pass-ordering environment."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as shallow_copy
from typing import Any, Literal, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.benchmarks import BenchmarkSource, NamedModule, resolve_benchmarks
from envs.episode import Episode
from envs.known_no_ops import KNOWN_NO_OPS, KnownNoOps
from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.pass_runner import NOTHING, PassResult, PassRunner
from envs.rendering import render_trajectory
from envs.rewards import Reward, cost_changes, needs_costs, resolve_reward
from envs.trajectory import ReplayError, Trajectory
from envs.validation import Validation, validate
from hlograph.equivalence import Limits
from hlograph.errors import UnknownNameError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module
from hlograph.names import unknown
from hlograph.registry import Pass, passes

Selection = Literal["uniform", "round-robin"]


class PassOrderingEnv(gymnasium.Env[Any, np.int64]):
    """Chooses which XLA pass to run next on an HLO module.

    Action: ``Discrete(number of passes + 1)``. Action i runs ``env.passes[i]``;
    the last one stops.

    Observation: ``op_counts``, the paper's vector of instructions by opcode
    (a Box), or ``graph``, a dict of the typed graph, the same counts and the
    action mask (see ``envs.observations``).

    Reward: see ``envs.rewards``. ``op-count-drop`` (the default) is the drop in
    percent of the start and sums to the episode's total reduction.

    End: stopping terminates the episode; the horizon truncates it. Nothing else
    ends it: a pass that fails leaves the module as it was and is reported in
    ``info["error"]``.

    Info of reset and step: ``benchmark``, ``start_op_count``, ``op_count``,
    ``fingerprint``, ``pass_name`` (None after reset, "stop" for the last
    action), ``changed``, ``error`` (None or XLA's message), ``action_mask``
    (int8, 0 where an action is known to change nothing), with ``costs`` also
    ``flops``, ``transcendentals`` and ``bytes_accessed``, and with ``timings``
    also ``pass_time`` (seconds in XLA).

    With ``costs`` there is also ``cost_changes``: logarithms of flops and of transcendentals now
    over those at the start (``envs.rewards.cost_changes``).

    Episodes are deterministic: the same trajectory gives the same fingerprint
    in every process. What masks show of no-ops is kept from episode to episode;
    ``reset(seed=...)`` forgets it, so that a seed determines masks too. A pass known
    to change nothing is not run again, whatever masks show (``envs.KnownNoOps``): that
    shows in ``pass_time`` alone.

    Version history: v0, the first.
    """

    # gymnasium declares it as an instance variable.
    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        observation: ObservationKind = "graph",
        reward: str | Reward = "op-count-drop",
        horizon: int = 40,
        selection: Selection = "uniform",
        costs: bool = True,
        timings: bool = False,
        share_observations: bool = False,
        actions: Sequence[str] | None = None,
        no_op_bytes: int = 32 << 20,
        known: KnownNoOps | None = KNOWN_NO_OPS,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Makes the environment; modules are read when they are first chosen.

        Args:
            benchmarks: Names of the corpus, paths of HLO files, or Modules; one
                or several. None: the training split of the corpus.
            observation: ``"graph"`` or ``"op_counts"``.
            reward: A name of ``envs.rewards.REWARDS`` or a callable.
            horizon: Steps after which an episode is truncated.
            selection: How reset picks a benchmark: ``"uniform"`` or ``"round-robin"``.
            costs: Whether info holds XLA's cost analysis, which takes about as
                long as a pass after each step that changed the module. A reward that
                reads costs has them whatever is said here.
            timings: Whether info holds the time of each pass. Off by default:
                infos of equal episodes are equal then.
            share_observations: Whether observations of the same state share their
                arrays, which saves copying a graph after each step that changes
                nothing; the caller must not write to them.
            actions: Names of the passes to choose from; None: all. With
                ``hlograph.passes.exact`` what is computed stays the same bit by bit.
            no_op_bytes: Memory for what masks show of passes that change nothing.
            known: Passes that are not run because they are known to change nothing; by
                default all environments of the process share a table of 8 MiB. None runs
                every pass that the mask allows: to time passes, not to be quick.
            quarantine: States and passes not to be tried, because they ended a process.
            recorder: Flight recorder of the worker that the environment runs in.
            render_mode: ``"ansi"`` or None.
        """
        if horizon < 1:
            raise ValueError(f"expected a horizon of at least 1 step, got {horizon}")
        if observation not in OBSERVATIONS:
            raise UnknownNameError(unknown("observation", observation, OBSERVATIONS))
        if selection not in ("uniform", "round-robin"):
            raise UnknownNameError(unknown("selection", selection, ("uniform", "round-robin")))
        if render_mode not in (None, "ansi"):
            raise UnknownNameError(unknown("render mode", render_mode, ("ansi",)))
        self.passes: tuple[Pass, ...] = (
            tuple(passes) if actions is None else tuple(passes[name] for name in actions)
        )
        self.horizon = horizon
        self.render_mode = render_mode
        self._benchmarks = resolve_benchmarks(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        self._selection = selection
        self._next_benchmark = 0
        self._reward = resolve_reward(reward)
        self._costs = costs
        self._needs_costs = costs or needs_costs(self._reward)
        self._timings = timings
        self._share_observations = share_observations
        self._stop = len(self.passes)
        self.action_space = spaces.Discrete(self._stop + 1)
        self._observation: Observation = OBSERVATIONS[observation](self._stop + 1)
        self.observation_space = self._observation.space
        self._runner = PassRunner(
            self.passes, no_op_bytes, known, quarantine or Quarantine(), recorder
        )
        self._episode: Episode | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of the benchmarks that reset chooses from."""
        return tuple(benchmark.name for benchmark in self._benchmarks)

    @property
    def module(self) -> Module:
        """The module of the episode; change it through ``step`` only."""
        return self._current.module

    @property
    def trajectory(self) -> Trajectory:
        """What the episode did so far."""
        episode = self._current
        return Trajectory(
            benchmark=episode.benchmark,
            start_fingerprint=episode.start_fingerprint,
            start_op_count=episode.start.op_count,
            passes=tuple(episode.applied),
            op_counts=tuple(episode.op_counts),
            fingerprint=episode.module.fingerprint(),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the choice of benchmarks.
            options: ``{"benchmark": name}`` chooses one of ``benchmarks``.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._next_benchmark = 0
            self._runner.forget()
        if self._episode is not None:
            self._runner.leave(self._episode)
        chosen = self._choose((options or {}).get("benchmark"))
        episode = Episode(chosen, costs=self._needs_costs)
        self._runner.arrive(episode)
        self._episode = episode
        return self._observe(), self._info(None, NOTHING)

    def step(self, action: int | np.integer) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Runs one pass, or stops.

        Args:
            action: Index in ``passes``; the number of passes stops.
        """
        index = int(action)
        if not 0 <= index <= self._stop:
            raise ValueError(f"expected an action from 0 to {self._stop}, got {action!r}")
        episode = self._current
        if episode.done:
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset() first")
        before = episode.state
        terminated = index == self._stop
        if terminated:
            name, result = "stop", NOTHING
        else:
            name, result = self.passes[index].name, self._runner.run(episode, index)
        episode.steps += 1
        truncated = not terminated and episode.steps >= self.horizon
        episode.done = terminated or truncated
        if episode.done:
            self._runner.leave(episode)
        after = episode.state._replace(stopped=True) if terminated else episode.state
        reward = self._reward(episode.start, before, after)
        info = self._info(name, result)
        return self._observe(), float(reward), terminated, truncated, info

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._runner = shallow_copy(self._runner)
        copy._np_random = None if self._np_random is None else _copy_generator(self._np_random)
        if self._episode is not None:
            copy._episode = self._episode.copy()
        return copy

    def replay(self, trajectory: Trajectory) -> tuple[Any, dict[str, Any]]:
        """Resets to a trajectory's benchmark and does the same again.

        Returns:
            Observation and info of the last step.

        Raises:
            ReplayError: An op count or the final fingerprint differs.
            UnknownNameError: The benchmark or a pass is not of this environment.
        """
        names = [entry.name for entry in self.passes]
        for name in trajectory.passes:
            if name not in names:
                raise UnknownNameError(unknown("action", name, names))
        observation, info = self.reset(options={"benchmark": trajectory.benchmark})
        _check("start", trajectory.start_fingerprint, info["fingerprint"])
        horizon, self.horizon = self.horizon, len(trajectory.passes) + 1
        try:
            for step, name in enumerate(trajectory.passes):
                observation, _, _, _, info = self.step(names.index(name))
                _check(f"step {step + 1} ({name})", trajectory.op_counts[step], info["op_count"])
        finally:
            self.horizon = horizon
        _check("end", trajectory.fingerprint, info["fingerprint"])
        return observation, info

    def validate(
        self, *, samples: int = 2, seed: int = 0, limits: Limits | None = None
    ) -> Validation:
        """Verifies the episode's module and compares what it computes with the start module.

        Takes seconds, for both are compiled: for results, not for every step.

        Args:
            samples: Random inputs to run both on.
            seed: Seed of the inputs.
            limits: What the comparison may cost; None is ``hlograph.equivalence.Limits()``.

        Returns:
            The verifier's error, if any, and the ``Equivalence``.
        """
        episode = self._current
        return validate(
            episode.start_module, episode.module, samples=samples, seed=seed, limits=limits
        )

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the action mask (the name that sb3-contrib's MaskablePPO asks for)."""
        return self._current.mask.copy()

    def render(self) -> str | None:
        """Returns the episode as a table, in render mode ``ansi``."""
        return render_trajectory(self.trajectory) if self.render_mode == "ansi" else None

    @property
    def _current(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("no episode has begun; call reset() first")
        return self._episode

    def _choose(self, name: str | None) -> NamedModule:
        if name is not None:
            if name not in self._by_name:
                raise UnknownNameError(unknown("benchmark", name, self._by_name))
            return self._by_name[name]
        if self._selection == "round-robin":
            chosen = self._benchmarks[self._next_benchmark % len(self._benchmarks)]
            self._next_benchmark += 1
            return chosen
        return self._benchmarks[int(self.np_random.integers(len(self._benchmarks)))]

    def _observe(self) -> Any:
        episode = self._current
        if episode.seen is None:
            episode.seen = self._observation.observe(episode.module, episode.counts)
        return self._observation.compose(episode.seen, episode.mask, share=self._share_observations)

    def _info(self, name: str | None, result: PassResult) -> dict[str, Any]:
        episode = self._current
        info: dict[str, Any] = {
            "benchmark": episode.benchmark,
            "start_op_count": episode.start.op_count,
            "op_count": episode.state.op_count,
            "fingerprint": episode.fingerprint,
            "pass_name": name,
            "changed": result.changed,
            "error": result.error,
            "action_mask": episode.mask.copy(),
        }
        if self._costs and episode.cost is not None:
            info.update(episode.cost._asdict())
            info["cost_changes"] = cost_changes(episode.start, episode.state)
        if self._timings:
            info["pass_time"] = result.seconds
        return info


def _copy_generator(generator: np.random.Generator) -> np.random.Generator:
    copy = np.random.default_rng()
    copy.bit_generator.state = generator.bit_generator.state
    return copy


def _check(where: str, expected: object, came: object) -> None:
    if expected != came:
        raise ReplayError(
            f"at the {where} the trajectory has {expected}, the replay {came}: the benchmark or "
            "the linked XLA is another one"
        )
