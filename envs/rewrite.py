"""The environment of rewrites: each of XLA's simplifications as a choice of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from envs import candidates as arrays
from envs.benchmark_env import Selection
from envs.benchmarks import BenchmarkSource, NamedModule
from envs.episode import Episode
from envs.module_env import ModuleEnv
from envs.observations import GraphObservation
from envs.rewards import Reward
from envs.rewrite_runner import RewriteRunner
from envs.run_times import RunTimes
from envs.step_result import StepResult
from hlograph.errors import RewriteError, UnknownNameError
from hlograph.graph.features import edge_features, node_features
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.names import unknown
from hlograph.transforms.rewriting import Rewrite, Rule, rules

_MAX_NODES = 2**40
_MAX_FEATURE = 1e3  # numbers of rules; logarithms stay below 70


class RewriteEpisode(Episode):
    """An episode of rewrites.

    Attributes:
        candidates: The rewrites offered in the present state, by action number.
        num_rewrites: How many apply to it, offered or not.
    """

    candidates: list[Rewrite]
    num_rewrites: int


class RewriteEnv(ModuleEnv[RewriteEpisode]):
    """Chooses which rewrite to apply next to an HLO module.

    Action: ``Discrete(max_candidates + 1)``. Action i applies ``env.candidates[i]``; the last one
    keeps the module as it is and stops.

    Observation: a dict of ``graph``, ``op_counts`` and ``action_mask`` as in pass ordering, of
    ``candidates``, float32 ``[max_candidates, len(CANDIDATE_FEATURES)]`` with zeros where there
    are fewer, and of ``candidate_links``, int64 ``[L, 3]``: candidate, node of the graph, and role
    in ``ROLES``. Graph and links together are the meta-graph: a node for each candidate, tied to
    all that it touches. Where more rewrites apply than there are actions, every rule has its turn
    (``envs.candidates.chosen``).

    Reward: see ``envs.rewards``; ``op-count-drop``, ``cost-drop`` and ``run-time`` have the form
    of X-RLflow's, 100 (before - after) / start, of the measured run time after each step;
    ``final-run-time`` pays it with the last one.

    End: stopping terminates the episode; the horizon truncates it (terminates, with
    ``final-run-time``). A rewrite that fails leaves
    the module as it was, is reported in ``info["error"]`` and not offered again in this state.

    Info of reset and step: as in pass ordering, with ``rewrite`` (its place, such as
    ``algebraic(add.1)``; "stop" for the last action) for the name of the pass, with ``timings``
    ``rewrite_time`` (seconds of applying it and of listing what applies afterwards), and
    ``num_rewrites``, how many apply, offered or not.

    Source: X-RLflow (He et al. 2023), which offers the candidate graphs of tensor rewrites;
    here the rewrites are those of XLA's passes.

    Version history: v0, the first.
    """

    _step_name, _step_time = "rewrite", "rewrite_time"

    def __init__(
        self,
        benchmarks: Sequence[BenchmarkSource] | BenchmarkSource | None = None,
        *,
        rules: Sequence[Rule | str] | None = None,
        max_candidates: int = 64,
        reward: str | Reward = "op-count-drop",
        horizon: int = 40,
        selection: Selection = "uniform",
        costs: bool = True,
        timings: bool = False,
        run_times: RunTimes | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Makes the environment; modules are read when they are first chosen.

        Args:
            benchmarks: Names of the corpus, paths of HLO files, or Modules; one
                or several. None: the training split of the corpus.
            rules: Rules of ``hlograph.rules`` or their names; None:
                ``hlograph.rules.general``.
            max_candidates: Most rewrites that are offered in one state.
            reward: A name of ``envs.rewards.REWARDS`` or a callable.
            horizon: Steps after which an episode is truncated.
            selection: How reset picks a benchmark: ``"uniform"`` or ``"round-robin"``.
            costs: Whether info holds XLA's cost analysis. A reward that reads costs has them
                whatever is said here.
            timings: Whether info holds the time of each step in XLA.
            run_times: Takes and keeps run times where the reward needs them; None: all
                environments of the process share one ``envs.RunTimes``.
            quarantine: Rewrites, and listings of rules, not to be tried on a benchmark, and states
                not to be run, because they ended a process.
            recorder: Flight recorder of the worker that the environment runs in.
            render_mode: ``"ansi"`` or None.
        """
        if max_candidates < 1:
            raise ValueError(f"expected room for at least 1 candidate, got {max_candidates}")
        super().__init__(
            benchmarks,
            max_candidates + 1,
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
        self.rules = _rules(rules)
        self._runner = RewriteRunner(self.rules, self._quarantine, recorder)
        self.observation_space = self._space(max_candidates)

    @property
    def candidates(self) -> tuple[Rewrite, ...]:
        """The rewrites that are offered now, by action number."""
        return tuple(self._current.candidates)

    def _space(self, limit: int) -> spaces.Dict:
        width = len(arrays.CANDIDATE_FEATURES)
        return spaces.Dict(
            {
                **GraphObservation(limit + 1).space.spaces,
                "candidates": spaces.Box(-_MAX_FEATURE, _MAX_FEATURE, (limit, width), np.float32),
                "candidate_links": spaces.Sequence(
                    spaces.Box(0, _MAX_NODES, (3,), np.int64), stack=True
                ),
            }
        )

    def _begin(self, benchmark: NamedModule) -> RewriteEpisode:
        episode = RewriteEpisode(benchmark, costs=self._needs_costs)
        self._list(episode)
        return episode

    def _act(self, episode: RewriteEpisode, action: int) -> tuple[str, StepResult]:
        if action >= len(episode.candidates):
            raise ValueError(
                f"action {action} is masked: {len(episode.candidates)} rewrites are offered"
            )
        place = episode.candidates[action].place
        result = self._apply(episode, action)
        episode.op_counts.append(episode.state.op_count)
        return place, result

    def _apply(self, episode: RewriteEpisode, action: int) -> StepResult:
        start = time.perf_counter()
        try:
            self._runner.apply(episode, episode.candidates[action])
        except RewriteError as error:
            episode.mask = episode.mask.copy()
            episode.mask[action] = 0
            return StepResult(False, time.perf_counter() - start, str(error))
        finally:
            # Before listing, which is noted with all that led to the state.
            episode.applied.append(episode.candidates[action].place)
        episode.enter(episode.module.snapshot())
        self._list(episode)
        return StepResult(True, time.perf_counter() - start, None)

    def _list(self, episode: RewriteEpisode) -> None:
        """Lists what applies in the state that an episode is in now."""
        found = self._runner.find(episode)
        episode.num_rewrites = len(found)
        episode.candidates = arrays.chosen(found, self._stop)
        mask = np.zeros(self._stop + 1, np.int8)
        mask[: len(episode.candidates)] = mask[-1] = 1
        episode.mask = mask

    def _action_of(self, name: str) -> int:
        places = [candidate.place for candidate in self._current.candidates]
        if name not in places:
            raise UnknownNameError(unknown("rewrite", name, places))
        return places.index(name)

    def _observe(self) -> dict[str, Any]:
        episode = self._current
        if episode.seen is None:
            episode.seen = _seen(episode, self._stop)
        return {**episode.seen, "action_mask": episode.mask.copy()}

    def _info(self, name: str | None, result: StepResult) -> dict[str, Any]:
        return super()._info(name, result) | {"num_rewrites": self._current.num_rewrites}


def _rules(chosen: Sequence[Rule | str] | None) -> tuple[Rule, ...]:
    if chosen is None:
        return rules.general
    return tuple(rules[rule] if isinstance(rule, str) else rule for rule in chosen)


def _seen(episode: RewriteEpisode, limit: int) -> dict[str, Any]:
    """What is observed of a state, but for the mask."""
    graph = episode.module.graph()
    rows = np.zeros((limit, len(arrays.CANDIDATE_FEATURES)), np.float32)
    rows[: len(episode.candidates)] = arrays.features(episode.candidates)
    return {
        "graph": spaces.GraphInstance(
            nodes=node_features(graph),
            edges=edge_features(graph),
            edge_links=np.ascontiguousarray(graph.edge_index.T),
        ),
        "op_counts": episode.counts.copy(),
        "candidates": rows,
        "candidate_links": arrays.links(episode.candidates, graph),
    }
