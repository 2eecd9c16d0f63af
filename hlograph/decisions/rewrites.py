"""The process of rewrites: an action applies a rule at one place, or at all of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.process import (
    Action,
    ActionTable,
    LiveModule,
    Process,
    ProgramStart,
    State,
    Step,
)
from hlograph.errors import RewriteError
from hlograph.graph.features import GraphFeatures, edge_features, node_features
from hlograph.graph.hlo_graph import HloGraph
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import listing
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module, Snapshot
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import Rule, rules
from hlograph.transforms.sweeping import Sweep, sweeps_of

_KEPT_MODULES = 32

Candidate = Rewrite | Sweep
"""The rewrite or sweep that an action of ``RewriteEnv`` applies."""

CANDIDATE_FEATURES: tuple[str, ...] = (
    "rule",
    "log_added",
    "log_removed",
    "log_flops",
    "log_bytes",
)
"""Features of a candidate. ``rule`` is a number of ``hlograph.rules``; added and removed
instructions are log2(1 + x) / 4, changes of flops and bytes sign(x) * log2(1 + |x|) / 16."""

PREDICTED_FEATURE = "log_nanoseconds"
"""Feature after these, in environments that predict: ``Rewrite.seconds`` in nanoseconds, scaled as
the changes of flops are."""

PLACES_FEATURE = "log_places"
"""Feature after these, in environments with sweeps: the number of places, log2(1 + x) / 4."""

ROLES: tuple[str, ...] = ("instruction", "other", "gone")
"""Roles of a node in a candidate: the rewrite is applied to it, it is the second instruction of
the pair, or it is removed."""


class RewriteState(State):
    """State of a program that rewrites are applied to.

    Attributes:
        offered: The rewrites and sweeps that it offers, by action number.
        found: The rewrites that apply, offered or not; None until they are listed.
    """

    __slots__ = ("found", "offered")

    def __init__(
        self, snapshot: Snapshot, parent: RewriteState | None = None, action: str = ""
    ) -> None:
        super().__init__(snapshot, parent, action)
        self.offered: list[Candidate] = []
        self.found: list[Rewrite] | None = None


class RewriteProcess(Process[RewriteState]):
    """Process whose actions are rewrites, and sweeps of a rule over all of its places.

    After a listing of rewrites has ended a process, the rules are listed one by one on that
    program, so that the next loss identifies the rule. That rule is then left out on the program.

    Args:
        chosen_rules: The rules.
        prepare: Names of the passes that run on each program first.
        predict: True if the predicted seconds of actions are among their features.
        sweeps: True if sweeps are offered, too.
        limit: Largest number of actions of a state, without stopping.
        lists_late: True if the rewrites of a state are listed when they are asked for. Otherwise
            they are listed in the time of the step that leads there.
        quarantine: Places, and listings of rules, that are not to be tried on a program.
        recorder: Records each listing and rewrite before it runs; None outside of worker processes.
    """

    def __init__(
        self,
        chosen_rules: Sequence[Rule],
        prepare: tuple[str, ...] = (),
        *,
        predict: bool = False,
        sweeps: bool = False,
        limit: int = 64,
        lists_late: bool = False,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        super().__init__(quarantine, recorder)
        if limit < 1:
            raise ValueError(f"expected room for at least 1 candidate, got {limit}")
        self.rules, self.limit, self.num_actions = tuple(chosen_rules), limit, limit + 1
        self._prepare, self._predict, self._sweeps = prepare, predict, sweeps
        self._lists_late = lists_late

    def start(self, benchmark: NamedModule) -> LiveModule[RewriteState]:
        """Returns a new live module of a program, prepared, with the rewrites that apply."""
        source = benchmark.load()
        module = _prepared(source, self._prepare) if self._prepare else source
        start = ProgramStart(benchmark.name, module, module, self._prepare)
        player = LiveModule(self, start, RewriteState(module.snapshot()))
        if not self._lists_late:
            self.rewrites(player)
        return player

    def rewrites(self, player: LiveModule[RewriteState]) -> list[Rewrite]:
        """Returns the rewrites that apply in a player's state, in the order of the rules."""
        state = player.state
        if state.found is None:
            excluded = self.quarantine.passes_at(player.start.benchmark)
            listed = self._listed(self.rules, player, excluded)
            state.found = [rewrite for rewrite in listed if rewrite.place not in excluded]
            state.offered = offered(
                listed, self.limit, predict=self._predict, sweeps=self._sweeps, excluded=excluded
            )
        return state.found

    def names(self, state: RewriteState) -> Sequence[str]:
        """Returns the places of the rewrites and sweeps."""
        return [candidate.place for candidate in state.offered]

    def actions(self, state: RewriteState) -> list[Action]:
        """Returns the rewrites and sweeps, with the instructions that they touch."""
        return [_action(candidate) for candidate in state.offered]

    def mask(self, player: LiveModule[RewriteState]) -> NDArray[np.int8]:
        """Returns a new mask: 0 where there is no action."""
        self.rewrites(player)
        mask = np.zeros(self.num_actions, np.int8)
        mask[: len(player.state.offered)] = mask[-1] = 1
        return mask

    def table(self, player: LiveModule[RewriteState]) -> ActionTable:
        """Returns the actions in arrays, with the nodes in the roles ``ROLES``."""
        self.rewrites(player)
        graph, offered = player.module.graph(), player.state.offered
        rows = features(offered, predict=self._predict, sweeps=self._sweeps)
        return ActionTable(graph_features(graph), rows, links(offered, graph))

    def repeat(self, module: Module, action: str) -> None:
        """Applies a rewrite or sweep again."""
        module.apply(action)

    def take(self, player: LiveModule[RewriteState], name: str) -> Step[RewriteState]:
        """Applies the rewrite or sweep of that place in the state of a player."""
        before, module, begin = player.state, player.module, time.perf_counter()
        try:
            with self.noted(name, player):
                module.apply(name)
        except RewriteError as error:
            seconds = time.perf_counter() - begin
            return Step(before, name, seconds=seconds, error=str(error))
        player.arrive(RewriteState(module.snapshot(), before, name))
        if not self._lists_late:
            self.rewrites(player)
        return Step(player.state, name, changed=True, seconds=time.perf_counter() - begin)

    def _after(self, player: LiveModule[RewriteState], action: int) -> Step[RewriteState]:
        return self.take(player, player.state.offered[action].place)

    def _listed(
        self,
        listed: Sequence[Rule],
        player: LiveModule[RewriteState],
        excluded: frozenset[str],
    ) -> list[Rewrite]:
        name = listing(rule.name for rule in listed)
        if name not in excluded:
            with self.noted(name, player):
                return player.module.rewrites(listed)
        if len(listed) == 1:
            return []
        return [rewrite for rule in listed for rewrite in self._listed([rule], player, excluded)]


def _action(candidate: Candidate) -> Action:
    rewrites = rewrites_of(candidate)
    touched = {
        "instruction": tuple(rewrite.instruction for rewrite in rewrites),
        "gone": tuple(name for rewrite in rewrites for name in rewrite.gone),
    }
    if others := tuple(rewrite.other for rewrite in rewrites if rewrite.other is not None):
        touched["other"] = others
    facts = {
        "instructions": candidate.op_count,
        "flops": candidate.flops,
        "bytes": candidate.bytes_accessed,
    }
    return Action(candidate.place, touched, facts)


@lru_cache(maxsize=_KEPT_MODULES)
def _prepared(module: Module, names: tuple[str, ...]) -> Module:
    # Episodes share what is known of one copy: where rewrites apply, and its fingerprint.
    copy = module.clone()
    for name in names:
        copy.run(name)
    return copy


def graph_features(graph: HloGraph) -> GraphFeatures:
    """Returns the features of a graph that is made already, as ``Module.features`` does."""
    return GraphFeatures(node_features(graph), edge_features(graph), graph.edge_index.copy().T)


def offered(
    rewrites: Sequence[Rewrite],
    limit: int,
    *,
    predict: bool = False,
    sweeps: bool = False,
    excluded: Collection[str] = (),
) -> list[Candidate]:
    """Returns what a state offers: rewrites, then sweeps.

    Args:
        rewrites: Rewrites, as ``Module.rewrites`` lists them.
        limit: Largest number of candidates to return.
        predict: See ``chosen``.
        sweeps: True to offer the sweeps of two places or more (``sweeps_of``), at most as many as
            half of the limit, those of the most places.
        excluded: Places that are not offered, nor sweeps that have them.

    Returns:
        The candidates; each kind in the order in which the rewrites were found.
    """
    allowed = [rewrite for rewrite in rewrites if rewrite.place not in excluded]
    if not sweeps:
        return list(chosen(allowed, limit, predict=predict))

    def may_run(sweep: Sweep) -> bool:
        return not any(each.place in excluded for each in (sweep, *sweep.rewrites))

    every = list(filter(may_run, sweeps_of(rewrites)))
    most = set(sorted(every, key=lambda sweep: -len(sweep.rewrites))[: limit // 2])
    taken = [sweep for sweep in every if sweep in most]
    return [*chosen(allowed, limit - len(taken), predict=predict), *taken]


def chosen(rewrites: Sequence[Rewrite], limit: int, *, predict: bool = False) -> list[Rewrite]:
    """Returns the rewrites that are offered, where more apply than there are actions.

    Rules take turns, so that a rule with many places does not hide the others: first the best
    rewrite of each rule, then the second best of each, and so on. The best rewrites of one rule
    are those that leave the fewest instructions, then the fewest bytes to be read and written,
    then those found first. With predictions, they are those that save the most seconds.

    Args:
        rewrites: Rewrites, as ``Module.rewrites`` lists them.
        limit: Largest number of rewrites to return.
        predict: True to compare rewrites of one rule, and rules, by their predicted seconds.

    Returns:
        The chosen rewrites, in the order in which they were found.
    """
    if len(rewrites) <= limit:
        return list(rewrites)
    turns: list[tuple[int, int]] = []
    taken: dict[str, int] = {}
    worth = [
        (rewrite.seconds if predict else rewrite.op_count, rewrite.bytes_accessed, place)
        for place, rewrite in enumerate(rewrites)
    ]
    for *_, place in sorted(worth):
        turn = taken[rewrites[place].rule] = taken.get(rewrites[place].rule, -1) + 1
        turns.append((turn, place))
    # Sorting is stable: in each turn, what is worth most goes first.
    kept = sorted(place for _, place in sorted(turns, key=lambda pair: pair[0])[:limit])
    return [rewrites[place] for place in kept]


def feature_names(predict: bool, sweeps: bool = False) -> tuple[str, ...]:
    """Returns the names of the features.

    Args:
        predict: True if ``PREDICTED_FEATURE`` is among them.
        sweeps: True if ``PLACES_FEATURE`` is among them.
    """
    more = ((PREDICTED_FEATURE, predict), (PLACES_FEATURE, sweeps))
    return (*CANDIDATE_FEATURES, *(name for name, used in more if used))


def features(
    candidates: Sequence[Candidate], *, predict: bool = False, sweeps: bool = False
) -> NDArray[np.float32]:
    """Returns features of candidates, float32 ``[len(candidates), features]``."""
    rows = np.array(
        [
            (rules[c.rule].index, c.added, c.removed, c.flops, c.bytes_accessed)
            + ((c.seconds * 1e9,) if predict else ())
            + ((len(rewrites_of(c)),) if sweeps else ())
            for c in candidates
        ],
        dtype=np.float64,
    ).reshape(-1, len(feature_names(predict, sweeps)))
    rows[:, 1:] = np.sign(rows[:, 1:]) * np.log2(1 + np.abs(rows[:, 1:]))
    rows[:, 1:3] /= 4
    rows[:, 3 : 6 if predict else 5] /= 16
    if sweeps:
        rows[:, -1] /= 4
    return rows.astype(np.float32)


def rewrites_of(candidate: Candidate) -> tuple[Rewrite, ...]:
    """Returns the rewrites that a candidate makes, if each still applies at its turn."""
    return candidate.rewrites if isinstance(candidate, Sweep) else (candidate,)


def links(candidates: Sequence[Candidate], graph: HloGraph) -> NDArray[np.int64]:
    """Returns the nodes that candidates touch.

    Args:
        candidates: The candidates.
        graph: Graph of the module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: candidate, node, and index of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    rows: list[tuple[int, int, int]] = []
    for number, candidate in enumerate(candidates):
        for rewrite in rewrites_of(candidate):
            rows.append((number, node_of[rewrite.instruction], 0))
            if rewrite.other is not None:
                rows.append((number, node_of[rewrite.other], 1))
            rows += [(number, node_of[name], 2) for name in rewrite.gone]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
