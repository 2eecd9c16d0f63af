"""The decision process: states offer actions, and an action leads to a state.

A ``State`` is a value without a module. It is identified in two ways. Its *key* is the start and
the actions that changed it: steps, graphs and the numbers of nodes are remembered by it, because
the same actions lead to the same module down to the order in which XLA stores its instructions. Its
*fingerprint* is that of the module's structure: searches merge states by it, and masks and passes
without effect are remembered by it. Modules of one fingerprint may store their instructions in
different orders.

A ``LiveModule`` is the module of one player. It is moved in place from state to state, and only
when it is needed: steps that are known already are made later, or never.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.trajectory import check_replay
from hlograph.graph.features import GraphFeatures
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Cost, Module, Snapshot

STOP = "stop"
"""Name of the action that ends an episode, and of one where nothing is left to decide."""

S = TypeVar("S", bound="State")
"""Type of the states of a process."""


class ProgramStart(NamedTuple):
    """Program at the start of a process.

    Attributes:
        benchmark: Name of the program.
        module: Module at the start; not to be changed.
        source: Module that random inputs are made for; it has the same parameters.
        prepared_by: Names of the passes that made ``module`` of ``source``.
        lowered: True if modules are compiled with exactly the fusions that they have
            (``hlograph.execution.executable.Executable``).
    """

    benchmark: str
    module: Module
    source: Module
    prepared_by: tuple[str, ...] = ()
    lowered: bool = False


class State:
    """State of a program: what the actions so far have made of it.

    It does not hold the program at the start, with which its memory is dropped.

    Attributes:
        parent: State before the last action; None at the start.
        action: Name of the action that led here from ``parent``; empty at the start.
        snapshot: Fingerprint and op counts of the module.
        after: States after actions that were taken here before, by their names.
        cost: XLA's cost analysis; None until it is asked for.
        graph: The graph as arrays; None until it is asked for, and after it was dropped.
    """

    __slots__ = ("action", "after", "cost", "graph", "parent", "snapshot")

    def __init__(self, snapshot: Snapshot, parent: State | None = None, action: str = "") -> None:
        self.snapshot, self.parent, self.action = snapshot, parent, action
        self.after: dict[str, State] = {}
        self.cost: Cost | None = None
        self.graph: GraphFeatures | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the module."""
        return self.snapshot.fingerprint

    def path(self) -> tuple[str, ...]:
        """Returns the names of the actions that led here: with the start, the state's key."""
        names: list[str] = []
        state: State = self
        while state.parent is not None:
            names.append(state.action)
            state = state.parent
        return tuple(reversed(names))


class Step(NamedTuple, Generic[S]):
    """Result of one action.

    Attributes:
        state: State after it; the same as before if the action changed nothing.
        name: Name of the action; None at the start.
        changed: True if the module changed.
        seconds: Time in XLA; 0.0 where XLA did not run.
        error: XLA's message if the action failed, or None.
        last: True if the state offers no further actions.
    """

    state: S
    name: str | None
    changed: bool = False
    seconds: float = 0.0
    error: str | None = None
    last: bool = False


@dataclass(frozen=True)
class Action:
    """Action that a state offers, in words.

    Attributes:
        name: Name of the pass, place of the rewrite or fusion, or decision of a plan. It means the
            same in every version.
        touched: Names of the instructions that it is about, by role, such as ``gone``.
        facts: What is known of it, such as the change of the op count.
    """

    name: str
    touched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)


class ActionTable(NamedTuple):
    """Actions that a state offers, in arrays; stopping is not among them.

    Attributes:
        graph: The graph of the state.
        features: float32 ``[K, F]``, a row for each action; the first column is the number of its
            rule or kind.
        links: int64 ``[L, 3]``: action, node of the graph that it touches, and index of the role in
            which it does.
    """

    graph: GraphFeatures
    features: NDArray[np.float32]
    links: NDArray[np.int64]


class LiveModule(Generic[S]):
    """Module of one player, which follows the player's state.

    Attributes:
        start: The program at the start.
        first: State at the start.
        state: The player's state.
        remembers: True if steps are looked up and recorded in the process's memory. A clone may
            store its computations in another order, so the states that a copy comes to are not
            those of the memory.

    Args:
        process: The process.
        start: See above.
        state: State at the start.
        module: A module in this state, which is changed in place; None is a clone of the start.
        remembers: See above.
    """

    def __init__(
        self,
        process: Process[S],
        start: ProgramStart,
        state: S,
        module: Module | None = None,
        remembers: bool = True,
    ) -> None:
        self._process, self.start, self.remembers = process, start, remembers
        self.first = self.state = state
        self._module = start.module.clone() if module is None else module
        self._reached = state

    @property
    def module(self) -> Module:
        """The module in the player's state; not to be changed by others."""
        self.follow()
        return self._module

    def applied(self, state: State | None = None) -> tuple[str, ...]:
        """Returns the names of the passes and actions that lead from the source to a state.

        Args:
            state: A state that the player was in; None is the present one.
        """
        return (*self.start.prepared_by, *(state or self.state).path())

    def go(self, state: S) -> None:
        """Goes to a state after the present one; the module follows when it is needed."""
        self.state = state

    def arrive(self, state: S) -> None:
        """Enters the state that the module is in already, after a step was made with it."""
        self.state = self._reached = state

    def replace(self, state: S, module: Module) -> None:
        """Enters a state with another module, which is changed in place from now on."""
        self._module = module
        self.arrive(state)

    def follow(self) -> float:
        """Makes the steps that the module has not made yet; returns the seconds it took."""
        if self._reached is self.state:
            return 0.0
        begin = time.perf_counter()
        states, state = [], self.state
        while state is not self._reached:
            assert state.parent is not None
            states.append(state)
            state = state.parent
        for state in reversed(states):
            assert state.parent is not None
            with self._process.noted(state.action, self, state.parent):
                self._process.repeat(self._module, state.action)
            self._reached = state
        check_replay("known steps", self.state.fingerprint, self._module.fingerprint())
        return time.perf_counter() - begin

    def copy(self) -> Self:
        """Returns an independent copy, which makes all of its steps."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._module, copy.remembers = self.module.clone(), False
        copy._reached = copy.state
        return copy


class Process(ABC, Generic[S]):
    """Base of the decision processes.

    The batch methods take as many live modules as there are players, and are the interface; the
    methods with an underscore do the work for one of them.

    Args:
        quarantine: Calls that are not to be repeated, because they ended a process.
        recorder: Records each call of XLA before it begins; None outside of worker processes.
    """

    stops: ClassVar[bool] = True
    """True if stopping is an action of its own, the last one."""
    num_actions: int
    """Largest number of actions of a state, stopping included."""

    def __init__(
        self, quarantine: Quarantine | None = None, recorder: FlightRecorder | None = None
    ) -> None:
        self.quarantine, self.recorder = quarantine or Quarantine(), recorder

    @abstractmethod
    def start(self, benchmark: NamedModule) -> LiveModule[S]:
        """Returns a new live module of a program in its first state."""

    @abstractmethod
    def names(self, state: S) -> Sequence[str]:
        """Returns the names of the actions that a state offers, by number, without stopping."""

    def actions(self, state: S) -> list[Action]:
        """Returns the actions that a state offers, by number, without stopping."""
        return [Action(name) for name in self.names(state)]

    @abstractmethod
    def mask(self, player: LiveModule[S]) -> NDArray[np.int8]:
        """Returns a new mask of a player's state, int8 ``[num_actions]``: 0 is not offered."""

    def after(self, players: Sequence[LiveModule[S]], actions: Sequence[int]) -> list[Step[S]]:
        """Takes an action in the state of each player, and moves the player there.

        Args:
            players: The players.
            actions: Number of the action of each; neither masked nor stopping.
        """
        return [
            self._after(player, action) for player, action in zip(players, actions, strict=True)
        ]

    @abstractmethod
    def take(self, player: LiveModule[S], name: str) -> Step[S]:
        """Takes an action by its name, which may be one that ``names`` leaves out for its number.

        Args:
            player: The player, which is moved.
            name: Name of the action.
        """

    def size(self, state: S) -> int:
        """Returns what is to be made small: the number of instructions."""
        return state.snapshot.op_count

    def cost(self, player: LiveModule[S]) -> Cost:
        """Returns XLA's cost analysis of a player's state."""
        state = player.state
        if state.cost is None:
            state.cost = player.module.cost()
        return state.cost

    def seconds(self, player: LiveModule[S]) -> float:
        """Returns the predicted seconds of one run of a player's state."""
        return player.module.seconds()

    def graph(self, player: LiveModule[S]) -> GraphFeatures:
        """Returns the typed graph of a player's state as arrays of floats; not to be changed."""
        return player.module.features()

    def table(self, player: LiveModule[S]) -> ActionTable:
        """Returns the actions of a player's state in arrays.

        Raises:
            TypeError: The actions are the same in every state, and touch no nodes.
        """
        raise TypeError(f"actions of {type(self).__name__} have no features")

    def leave(self, player: LiveModule[S]) -> None:
        """Ends what a state holds, when a player leaves it for good."""

    def repeat(self, module: Module, action: str) -> None:
        """Takes an action again, in place, on a module for which its result is known."""
        raise TypeError(f"steps of {type(self).__name__} are not remembered, got {action}")

    @abstractmethod
    def _after(self, player: LiveModule[S], action: int) -> Step[S]:
        """Takes an action in the state of one player."""

    def noted(
        self, name: str, player: LiveModule[S], state: State | None = None
    ) -> AbstractContextManager[None]:
        """Returns a context in which the flight recorder shows a call of XLA.

        Args:
            name: Name of the call, as in ``hlograph.isolation.pass_call.PassCall``.
            player: Player whose module is used.
            state: State before the call; None is the player's.
        """
        state = state or player.state
        applied = () if self.recorder is None else player.applied(state)
        return noted(self.recorder, name, state.fingerprint, player.start.benchmark, applied)
