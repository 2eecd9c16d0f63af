"""The process of plans: an action changes how jaxlib compiles a program, step by step."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.plan_states import (
    MOST_LOG_RATIO,
    PlanAction,
    PlanStates,
    PointState,
    action_kinds,
)
from hlograph.decisions.predicted_gains import log_ratios
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
from hlograph.module import Module
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_seconds import PredictTime
from hlograph.profiling.kernel_trees import KernelTrees, shipped_trees

PLAN_FEATURES: tuple[str, ...] = ("kind", "share", "log_places", "saved", "gain")
"""Features of an action. ``kind`` is the number of its kind in ``kind_numbers``; ``share`` is the
share of the predicted time that it is about; places are log2(1 + x) / 4; ``saved`` is the log ratio
that rates predict of rules, ``gain`` the one that trees predict of all actions, from -4 to 4."""

ROLES: tuple[str, ...] = ("touched",)
"""Role of a node in an action, which is about it."""

_KEPT = 64  # programs with their states


class PlanState(State):
    """State of a program that is compiled as a point says.

    Attributes:
        at: The program at its point.
        possible: The actions of the kinds that the process has.
        offered: Those of them that have a number, in its order.
    """

    __slots__ = ("at", "offered", "possible")

    def __init__(
        self,
        at: PointState,
        kinds: Mapping[str, int],
        limit: int,
        parent: PlanState | None = None,
        action: str = "",
    ) -> None:
        super().__init__(at.module.snapshot(), parent, action)
        self.at = at
        self.possible = [each for each in at.actions if each.kind in kinds]
        self.offered = chosen(self.possible, limit)


class LivePlan(LiveModule[PlanState]):
    """Optimized module of one player, and the states of its program.

    Attributes:
        program: The states of the program.
    """

    program: PlanStates

    def plan(self) -> Plan:
        """Returns the plan of the actions so far, for ``hlograph.optimize``."""
        return self.program.plan(self.state.at.point)


class PlanProcess(Process[PlanState]):
    """Process whose actions are rules, flags, libraries, partitions and fusions of a plan.

    A state is the module that XLA:CPU optimizes the program to. No code is generated for it and
    nothing is run: the size is its predicted time in nanoseconds.

    Args:
        numerics: Class of the results: ``"exact"``, ``"close"`` or ``"fast"``.
        predict: Predicts the time of a plan from its kernels; None takes the trees that come with
            hlograph. Other predictions than trees leave the feature ``gain`` at 0.
        kinds: Kinds of actions, of ``action_kinds()``, in the order of their numbers; None is all.
        limit: Largest number of actions of a state, without stopping.
        program: The states of the only program, which the caller goes on to use, with their own
            prediction; None makes them for each benchmark, from its HLO.
        quarantine: States and actions that are not to be tried.
        recorder: Records each action before it is tried; None outside of worker processes.

    Raises:
        UnknownNameError: There is no such kind of actions.
        ValueError: There is no room for an action.
    """

    def __init__(
        self,
        numerics: Numerics = "close",
        predict: PredictTime | None = None,
        kinds: Sequence[str] | str | None = None,
        limit: int = 96,
        program: PlanStates | None = None,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        super().__init__(quarantine, recorder)
        if limit < 1:
            raise ValueError(f"expected room for at least 1 action, got {limit}")
        self.kinds, self.limit, self.num_actions = kind_numbers(kinds), limit, limit + 1
        self._numerics: Numerics = numerics
        if program is not None:
            predict = program.predict
        self._predict = shipped_trees() if predict is None else predict
        self._program = program

    def start(self, benchmark: NamedModule) -> LivePlan:
        """Returns a new live module of a program as jaxlib optimizes it by default."""
        with noted(self.recorder, "the default", "", benchmark.name, ()):
            program = self._program or _program(benchmark.load(), self._numerics, self._predict)
            at = program.state(Point())
        start = ProgramStart(benchmark.name, at.module, at.module)
        player = LivePlan(self, start, PlanState(at, self.kinds, self.limit))
        player.program = program
        return player

    def names(self, state: PlanState) -> Sequence[str]:
        """Returns the names of the actions, such as ``rule gather-after-dot``."""
        return [each.name for each in state.offered]

    def actions(self, state: PlanState) -> list[Action]:
        """Returns the actions, with the instructions that they are about."""
        return [
            Action(
                each.name,
                {"touched": each.touched},
                {
                    "share of time": each.share,
                    "places": each.places,
                    "saved": each.saved,
                    "gain": gain,
                },
            )
            for each, gain in zip(state.offered, self._gains(state).tolist(), strict=True)
        ]

    def mask(self, player: LiveModule[PlanState]) -> NDArray[np.int8]:
        """Returns a new mask: 0 where there is no action."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[: len(player.state.offered)] = mask[-1] = 1
        return mask

    def take(self, player: LiveModule[PlanState], name: str) -> Step[PlanState]:
        """Takes the action of that name, also one that is left out for want of a number.

        Raises:
            UnknownNameError: The state does not have it.
        """
        by_name = {each.name: each for each in player.state.possible}
        if name not in by_name:
            raise UnknownNameError.of("action", name, by_name)
        return self._take(player, by_name[name])

    def size(self, state: PlanState) -> int:
        """Returns the predicted nanoseconds of a run, at least 1."""
        return max(round(1e9 * state.at.time.seconds), 1)

    def seconds(self, player: LiveModule[PlanState]) -> float:
        """Returns the predicted seconds of a run."""
        return player.state.at.time.seconds

    def table(self, player: LiveModule[PlanState]) -> ActionTable:
        """Returns the actions in arrays, with the nodes in the roles ``ROLES``."""
        graph, offered = player.module.graph(), player.state.offered
        rows = features(offered, self.kinds, self._gains(player.state))
        return ActionTable(graph_features(graph), rows, links(offered, graph))

    def _gains(self, state: PlanState) -> NDArray[np.float64]:
        """Returns the log ratios that trees predict of the offered actions."""
        if isinstance(self._predict, KernelTrees):
            return log_ratios(state.at, self._predict, state.offered)
        return np.zeros(len(state.offered))

    def _after(self, player: LiveModule[PlanState], action: int) -> Step[PlanState]:
        return self._take(player, player.state.offered[action])

    def _take(self, player: LiveModule[PlanState], action: PlanAction) -> Step[PlanState]:
        assert isinstance(player, LivePlan)
        before, begin, name = player.state, time.perf_counter(), action.name
        if name in self.quarantine.passes_at(before.fingerprint):
            return Step(before, name, error="it ended a process before")
        try:
            with self.noted(name, player):
                at = player.program.state(player.program.after(before.at.point, action))
        except HloError as error:
            seconds = time.perf_counter() - begin
            return Step(before, name, seconds=seconds, error=str(error)[:1000])
        after = PlanState(at, self.kinds, self.limit, before, name)
        player.replace(after, at.module.clone())
        return Step(after, name, changed=True, seconds=time.perf_counter() - begin)


@lru_cache(maxsize=_KEPT)
def _program(module: Module, numerics: Numerics, predict: PredictTime) -> PlanStates:
    # Episodes share the states of a program, which take long to make.
    return PlanStates(Program.of(module), numerics, predict)


def kind_numbers(kinds: Sequence[str] | str | None = None) -> dict[str, int]:
    """Returns the numbers of kinds of actions.

    Args:
        kinds: Names of the kinds, in the order of their numbers, or one; None is all.

    Raises:
        UnknownNameError: A name is not in ``action_kinds()``.
    """
    every = action_kinds()
    several = every if kinds is None else [kinds] if isinstance(kinds, str) else kinds
    for kind in several:
        if kind not in every:
            raise UnknownNameError.of("kind of action", kind, every)
    return {kind: number for number, kind in enumerate(several)}


def chosen(actions: Sequence[PlanAction], limit: int) -> list[PlanAction]:
    """Returns at most ``limit`` actions of a state in their order, those about most of the time.

    Rules and flags come first: there are few of them, and they are about the whole program.
    """

    def worth(number: int) -> tuple[bool, float]:
        action = actions[number]
        return bool(action.knob) and not action.knob.startswith("flags "), -action.share

    if len(actions) <= limit:
        return list(actions)
    return [actions[number] for number in sorted(sorted(range(len(actions)), key=worth)[:limit])]


def features(
    actions: Sequence[PlanAction], numbers: Mapping[str, int], gains: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Returns features of actions, float32 ``[len(actions), len(PLAN_FEATURES)]``.

    Args:
        actions: The actions.
        numbers: Numbers of their kinds.
        gains: float64 ``[len(actions)]``, predicted log ratios.
    """
    rows = [
        (numbers[each.kind], each.share, each.log_places, each.log_ratio, gain)
        for each, gain in zip(actions, gains.clip(-MOST_LOG_RATIO, MOST_LOG_RATIO), strict=True)
    ]
    return np.array(rows, np.float32).reshape(-1, len(PLAN_FEATURES))


def links(actions: Sequence[PlanAction], graph: HloGraph) -> NDArray[np.int64]:
    """Returns the nodes that actions are about.

    Args:
        actions: The actions.
        graph: Graph of the optimized module, whose instructions have names.

    Returns:
        int64 ``[L, 3]``: action, node, and index of the role in ``ROLES``.
    """
    node_of = {name: node for node, name in enumerate(graph.names()[: -graph.num_computations])}
    rows = [
        (number, node_of[name], 0)
        for number, action in enumerate(actions)
        for name in action.touched
        if name in node_of  # an earlier action may have taken it away
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
