"""The process of plans: an action changes how jaxlib compiles a program, step by step."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.decision_process import DecisionProcess, TuningState
from hlograph.decisions.offers import Offer, offer_kinds
from hlograph.decisions.process import (
    Action,
    ActionTable,
    LiveModule,
    Process,
    ProgramStart,
    State,
    Step,
)
from hlograph.decisions.rewrites import graph_features
from hlograph.errors import HloError, UnknownNameError
from hlograph.graph.hlo_graph import HloGraph
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_seconds import PredictTime

OFFER_FEATURES: tuple[str, ...] = ("kind", "share", "log_places", "saved")
"""Features of an offer. ``kind`` is the number of its kind in ``kind_numbers``; ``share`` is the
share of the predicted time that it is about; places are log2(1 + x) / 4; ``saved`` is the predicted
log ratio of rules, from -4 to 4."""

ROLES: tuple[str, ...] = ("touched",)
"""Role of a node in an offer: the decision is about it."""

_MOST_SAVED = 4.0


_KEPT = 64  # programs with their states


class PlanState(State):
    """State of a program that is compiled with some decisions.

    Attributes:
        tuning: The program with the decisions so far.
        found: The decisions that can be taken.
        offered: Those of them that are offered, by action number.
    """

    __slots__ = ("found", "offered", "tuning")

    def __init__(
        self,
        tuning: TuningState,
        kinds: Mapping[str, int],
        limit: int,
        parent: PlanState | None = None,
        action: str = "",
    ) -> None:
        super().__init__(tuning.module.snapshot(), parent, action)
        self.tuning = tuning
        self.found = [offer for offer in tuning.offers if offer.kind in kinds]
        self.offered: list[Offer] = chosen(self.found, limit)


class LivePlan(LiveModule[PlanState]):
    """Optimized module of one player, and the program that it tunes.

    Attributes:
        program: The program, with its states.
    """

    program: DecisionProcess

    def plan(self) -> Plan:
        """Returns the plan of the decisions so far, for ``hlograph.optimize``."""
        return self.program.plan(self.state.tuning.point)


class PlanProcess(Process[PlanState]):
    """Process whose actions are rules, flags, libraries, partitions and fusions of a plan.

    A state is the module that XLA:CPU optimizes the program to. No code is generated for it and
    nothing is run: the size is its predicted time in nanoseconds.

    Args:
        numerics: Class of the results: ``"exact"``, ``"close"`` or ``"fast"``.
        predict: Predicts the time of a plan from its kernels; None takes rates of work.
        kinds: Kinds of decisions, of ``hlograph.decisions.offers.offer_kinds()``, in the order of
            their numbers; None is all.
        limit: Largest number of actions of a state, without stopping.
        program: The only program, which goes on to be used by the caller; None makes one for each
            benchmark, from its HLO.
        quarantine: States and decisions that are not to be tried.
        recorder: Records each decision before it is tried; None outside of worker processes.

    Raises:
        UnknownNameError: There is no such kind of decisions.
        ValueError: There is no room for an action.
    """

    def __init__(
        self,
        numerics: Numerics = "close",
        predict: PredictTime | None = None,
        kinds: Sequence[str] | str | None = None,
        limit: int = 96,
        program: DecisionProcess | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        super().__init__(quarantine, recorder)
        if limit < 1:
            raise ValueError(f"expected room for at least 1 offer, got {limit}")
        self.kinds, self.limit, self.num_actions = kind_numbers(kinds), limit, limit + 1
        self._numerics: Numerics = numerics
        self._predict, self._program = predict, program

    def start(self, benchmark: NamedModule) -> LivePlan:
        """Returns a new live module of a program as jaxlib optimizes it by default."""
        with noted(self.recorder, "the default", "", benchmark.name, ()):
            program = self._program or _program(benchmark, self._numerics, self._predict)
            tuning = program.state(Point())
        start = ProgramStart(benchmark.name, tuning.module, tuning.module)
        player = LivePlan(self, start, PlanState(tuning, self.kinds, self.limit))
        player.program = program
        return player

    def names(self, state: PlanState) -> Sequence[str]:
        """Returns the names of the decisions, such as ``rule gather-after-dot``."""
        return [offer.name for offer in state.offered]

    def actions(self, state: PlanState) -> list[Action]:
        """Returns the decisions, with the instructions that they are about."""
        return [
            Action(
                offer.name,
                {"touched": offer.touched},
                {"share of time": offer.share, "places": offer.places, "saved": offer.saved},
            )
            for offer in state.offered
        ]

    def mask(self, player: LiveModule[PlanState]) -> NDArray[np.int8]:
        """Returns a new mask: 0 where there is no action."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[: len(player.state.offered)] = mask[-1] = 1
        return mask

    def take(self, player: LiveModule[PlanState], name: str) -> Step[PlanState]:
        """Takes the decision of that name, also one that is left out for want of a number.

        Raises:
            UnknownNameError: The state does not have it.
        """
        by_name = {offer.name: offer for offer in player.state.found}
        if name not in by_name:
            raise UnknownNameError.of("action", name, by_name)
        return self._decide(player, by_name[name])

    def size(self, state: PlanState) -> int:
        """Returns the predicted nanoseconds of a run, at least 1."""
        return max(round(1e9 * state.tuning.time.seconds), 1)

    def seconds(self, player: LiveModule[PlanState]) -> float:
        """Returns the predicted seconds of a run."""
        return player.state.tuning.time.seconds

    def table(self, player: LiveModule[PlanState]) -> ActionTable:
        """Returns the actions in arrays, with the nodes in the roles ``ROLES``."""
        graph, offered = player.module.graph(), player.state.offered
        rows = features(offered, self.kinds)
        return ActionTable(graph_features(graph), rows, links(offered, graph))

    def _after(self, player: LiveModule[PlanState], action: int) -> Step[PlanState]:
        return self._decide(player, player.state.offered[action])

    def _decide(self, player: LiveModule[PlanState], offer: Offer) -> Step[PlanState]:
        assert isinstance(player, LivePlan)
        before, begin = player.state, time.perf_counter()
        if offer.name in self.quarantine.passes_at(before.fingerprint):
            return Step(before, offer.name, error="it ended a process before")
        try:
            with self.noted(offer.name, player):
                point = player.program.after(before.tuning.point, offer)
                tuning = player.program.state(point)
        except HloError as error:
            seconds = time.perf_counter() - begin
            return Step(before, offer.name, seconds=seconds, error=str(error)[:1000])
        after = PlanState(tuning, self.kinds, self.limit, before, offer.name)
        player.replace(after, tuning.module.clone())
        return Step(after, offer.name, changed=True, seconds=time.perf_counter() - begin)


@lru_cache(maxsize=_KEPT)
def _program(
    benchmark: NamedModule, numerics: Numerics, predict: PredictTime | None
) -> DecisionProcess:
    # Episodes share the states of a program, which take long to make.
    return DecisionProcess(Program.of(benchmark.load()), numerics, predict)


def kind_numbers(kinds: Sequence[str] | str | None = None) -> dict[str, int]:
    """Returns the numbers of kinds of offers.

    Args:
        kinds: Names of the kinds, in the order of their numbers, or one; None is ``offer_kinds()``.

    Raises:
        UnknownNameError: A name is not in ``offer_kinds()``.
    """
    known = offer_kinds()
    several = known if kinds is None else [kinds] if isinstance(kinds, str) else kinds
    for kind in several:
        if kind not in known:
            raise UnknownNameError.of("kind of decision", kind, known)
    return {kind: number for number, kind in enumerate(several)}


def chosen(found: Sequence[Offer], limit: int) -> list[Offer]:
    """Returns the offers about the most of the time, where there are more than actions.

    Rules and flags come first: there are few of them, and they are about the whole program.

    Args:
        found: All offers of a state.
        limit: Largest number of offers to return.

    Returns:
        The chosen offers, in the order in which they were found.
    """
    if len(found) <= limit:
        return list(found)

    def worth(place: int) -> tuple[bool, float]:
        offer = found[place]
        return bool(offer.knob) and not offer.knob.startswith("flags "), -offer.share

    return [found[place] for place in sorted(sorted(range(len(found)), key=worth)[:limit])]


def features(offered: Sequence[Offer], numbers: Mapping[str, int]) -> NDArray[np.float32]:
    """Returns features of offers.

    Args:
        offered: The offers.
        numbers: Numbers of their kinds.

    Returns:
        float32 ``[len(offered), len(OFFER_FEATURES)]``.
    """
    rows = [
        (numbers[one.kind], one.share, math.log2(1 + one.places) / 4, _log_ratio(one.saved))
        for one in offered
    ]
    return np.array(rows, np.float32).reshape(-1, len(OFFER_FEATURES))


def _log_ratio(saved: float) -> float:
    """Returns the logarithm of the time before over that after, of a share that is saved."""
    left = max(1.0 - saved, math.exp(-_MOST_SAVED))
    return max(-math.log(left), -_MOST_SAVED)


def links(offered: Sequence[Offer], graph: HloGraph) -> NDArray[np.int64]:
    """Returns the nodes that offers are about.

    Args:
        offered: The offers.
        graph: Graph of the optimized module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: offer, node, and index of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    found = [
        (number, node_of[name], 0)
        for number, offer in enumerate(offered)
        for name in offer.touched
        if name in node_of  # an earlier decision may have taken it away
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)
