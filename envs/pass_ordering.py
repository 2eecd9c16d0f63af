"""The pass-ordering environment."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as shallow_copy
from typing import Any, Self

from envs.benchmark_env import Selection
from envs.benchmarks import BenchmarkSource, NamedModule
from envs.episode import Episode
from envs.known_no_ops import KNOWN_NO_OPS, KnownNoOps
from envs.module_env import ModuleEnv
from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.pass_runner import PassRunner
from envs.rewards import Reward
from envs.run_times import RunTimes
from envs.step_result import StepResult
from hlograph.errors import UnknownNameError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.names import unknown
from hlograph.transforms.registry import Pass, passes


class PassOrderingEnv(ModuleEnv[Episode]):
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
    (int8, 0 where an action is known to change nothing: it was tried in this
    state, or the module has none of the opcodes that the pass acts on), with
    ``costs`` also ``flops``, ``transcendentals`` and ``bytes_accessed``, and with
    ``timings`` also ``pass_time`` (seconds in XLA).

    With ``costs`` there is also ``cost_changes``: logarithms of flops and of transcendentals now
    over those at the start (``envs.rewards.cost_changes``).

    Episodes are deterministic: the same trajectory gives the same fingerprint
    in every process. What masks show of no-ops is kept from episode to episode;
    ``reset(seed=...)`` forgets it, so that a seed determines masks too. A pass known
    to change nothing is not run again, whatever masks show (``envs.KnownNoOps``): that
    shows in ``pass_time`` alone.

    Version history: v0, the first.
    """

    _step_name, _step_time = "pass_name", "pass_time"

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
        run_times: RunTimes | None = None,
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
            run_times: Takes and keeps run times where the reward needs them; None: all
                environments of the process share one ``envs.RunTimes``.
            render_mode: ``"ansi"`` or None.
        """
        if observation not in OBSERVATIONS:
            raise UnknownNameError(unknown("observation", observation, OBSERVATIONS))
        self.passes: tuple[Pass, ...] = (
            tuple(passes) if actions is None else tuple(passes[name] for name in actions)
        )
        super().__init__(
            benchmarks,
            len(self.passes) + 1,
            reward=reward,
            horizon=horizon,
            selection=selection,
            costs=costs,
            timings=timings,
            run_times=run_times,
            quarantine=quarantine,
            recorder=recorder,
            render_mode=render_mode,
        )
        self._share_observations = share_observations
        self._observation: Observation = OBSERVATIONS[observation](self._stop + 1)
        self.observation_space = self._observation.space
        self._runner = PassRunner(self.passes, no_op_bytes, known, self._quarantine, recorder)

    def fork(self) -> Self:
        """Returns an independent copy of the environment in the middle of its episode."""
        copy = super().fork()
        copy._runner = shallow_copy(self._runner)
        return copy

    def _begin(self, benchmark: NamedModule) -> Episode:
        episode = Episode(benchmark, costs=self._needs_costs)
        self._runner.arrive(episode)
        return episode

    def _act(self, episode: Episode, action: int) -> tuple[str, StepResult]:
        return self.passes[action].name, self._runner.run(episode, action)

    def _action_of(self, name: str) -> int:
        names = [entry.name for entry in self.passes]
        if name not in names:
            raise UnknownNameError(unknown("action", name, names))
        return names.index(name)

    def _leave(self, episode: Episode) -> None:
        self._runner.leave(episode)

    def _forget(self) -> None:
        self._runner.forget()

    def _observe(self) -> Any:
        episode = self._current
        if episode.seen is None:
            episode.seen = self._observation.observe(episode.module, episode.counts)
        return self._observation.compose(episode.seen, episode.mask, share=self._share_observations)
