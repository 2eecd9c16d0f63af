"""The memory of states: what masks may show, and what only saves time.

``NoOpTable`` is what an environment may show in its masks: its own, copied by its forks, forgotten
by ``reset(seed=...)``; states are identified by their fingerprint. ``KnownSteps`` saves time and
does not show, and neither does ``hlograph.decisions.known_no_ops``: steps and graphs are identified
by the state's key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.process import State
from hlograph.graph.features import GraphFeatures
from hlograph.module import Module

# Memory of a state without its graph: op counts, fingerprint, links, and a part of a dictionary.
_STATE_BYTES = 1_600
# Part of the memory that states may take; graphs have the rest.
_STATES_SHARE = 0.25
# Memory of a state in a table of no-ops: the key, the number, and the dictionary's links.
_NO_OP_BYTES = 400


class NoOpTable:
    """Masks of the actions that are not known to be no-ops, by module fingerprint.

    Passes are deterministic, so what was learned once about a state holds for every episode. The
    table is bounded: the states longest unused are forgotten. ``KnownNoOps`` is another table,
    which saves time and does not show in masks.

    Args:
        num_actions: Length of a mask.
        max_bytes: Memory that the table may take; at least that of one state.
    """

    def __init__(self, num_actions: int, max_bytes: int = 32 << 20) -> None:
        state_bytes = _NO_OP_BYTES + num_actions // 7  # a Python int holds 30 bits in 4 bytes
        if max_bytes < state_bytes:
            raise ValueError(
                f"expected at least {state_bytes} bytes, the size of one state, got {max_bytes}"
            )
        self._num_actions = num_actions
        self._capacity = max_bytes // state_bytes
        # Numbers whose bit i is set if action i is a no-op: a bit is set far more often than a mask
        # is asked for.
        self._no_ops: OrderedDict[str, int] = OrderedDict()

    def mask(self, fingerprint: str) -> NDArray[np.int8]:
        """Returns a new copy of the mask of a state.

        Args:
            fingerprint: Fingerprint of the state.

        Returns:
            int8 ``[num_actions]``; 0 where the action is known to change nothing.
        """
        return self.masked(np.ones(self._num_actions, np.int8), fingerprint)

    def masked(self, mask: NDArray[np.int8], fingerprint: str) -> NDArray[np.int8]:
        """Returns a copy of a mask that is 0, too, where an action is known to change nothing.

        Args:
            mask: int8 ``[num_actions]``.
            fingerprint: Fingerprint of the state.
        """
        no_ops = self._no_ops.get(fingerprint)
        if no_ops is None:
            return mask.copy()
        self._no_ops.move_to_end(fingerprint)
        packed = np.frombuffer(no_ops.to_bytes(-(-self._num_actions // 8), "little"), np.uint8)
        bits = np.unpackbits(packed, count=self._num_actions, bitorder="little")
        return np.where(bits, np.int8(0), mask)

    def add(self, fingerprint: str, action: int) -> None:
        """Records that an action changes nothing in a state."""
        no_ops = self._no_ops
        no_ops[fingerprint] = no_ops.get(fingerprint, 0) | 1 << action
        no_ops.move_to_end(fingerprint)
        if len(no_ops) > self._capacity:
            no_ops.popitem(last=False)

    def copy(self) -> NoOpTable:
        """Returns a copy; what either of the two learns later is unknown to the other."""
        copy = object.__new__(NoOpTable)
        copy.__dict__.update(self.__dict__)
        copy._no_ops = self._no_ops.copy()
        return copy

    def __len__(self) -> int:
        """Returns the number of states."""
        return len(self._no_ops)


class KnownSteps:
    """Table of the steps that earlier episodes made, so that XLA need not make them again.

    Like ``KnownNoOps``, the table does not show: episodes are the same with it and without it, only
    faster. One table serves all environments of a process.

    A state is known by its way: the start module, and the passes that changed it since, in their
    order. The same passes lead to the same module, down to the order in which it stores its
    instructions. A fingerprint is not enough: modules with the same fingerprint may store their
    instructions in different orders, if the same passes ran in different orders, and the
    nodes of an observation are numbered in this order. So two ways to one fingerprint are two
    states here.

    The table is bounded. Graphs of the states longest unused are dropped first; if there are too
    many states, all are forgotten. The steps of a module are forgotten with the module.

    Args:
        max_bytes: Estimated memory of all states and graphs.

    Raises:
        ValueError: The memory holds not even a few states.
    """

    def __init__(self, max_bytes: int = 128 << 20) -> None:
        self._max_states = int(_STATES_SHARE * max_bytes) // _STATE_BYTES
        if self._max_states < 2:
            least = int(2 * _STATE_BYTES / _STATES_SHARE)
            raise ValueError(f"expected at least {least} bytes for known steps, got {max_bytes}")
        self.max_bytes = max_bytes
        self._graph_bytes = max_bytes - self._max_states * _STATE_BYTES
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Forgets all steps. Episodes under way keep what led to their state."""
        self._starts: WeakKeyDictionary[Module, State] = WeakKeyDictionary()
        self._sizes: OrderedDict[State, int] = OrderedDict()
        self._num_states = self._size = 0

    @property
    def size(self) -> int:
        """Estimated memory of the table, in bytes."""
        return self._num_states * _STATE_BYTES + self._size

    def __len__(self) -> int:
        """Returns the number of modules whose steps are in the table."""
        with self._lock:
            return len(self._starts)

    def start(self, module: Module) -> State:
        """Returns the state in which episodes on a module begin.

        Args:
            module: The module, which must not be changed. Another object is another module.
        """
        with self._lock:
            known = self._starts.get(module)
        if known is not None:
            return known
        snapshot = module.snapshot()
        with self._lock:
            self._make_room()
            return self._starts.setdefault(module, State(snapshot))

    def add(self, before: State, after: State) -> State:
        """Records a pass that reported a change, and returns the recorded state after it.

        Args:
            before: The state before.
            after: The state after it; another player may have recorded an equal one meanwhile.
        """
        with self._lock:
            self._make_room()
            return before.after.setdefault(after.action, after)

    def graph(self, state: State, make: Callable[[], GraphFeatures]) -> GraphFeatures:
        """Returns the graph of a state.

        Args:
            state: The state.
            make: Returns the graph, for a table without it.
        """
        graph = state.graph
        if graph is None:
            graph = make()
            self._keep(state, graph)
            return graph
        with self._lock:
            if state in self._sizes:
                self._sizes.move_to_end(state)
        return graph

    def _keep(self, state: State, graph: GraphFeatures) -> None:
        size = sum(part.nbytes for part in graph)
        if size > self._graph_bytes:
            return
        with self._lock:
            self._size += size - self._sizes.pop(state, 0)
            self._sizes[state] = size
            state.graph = graph
            while self._size > self._graph_bytes:
                oldest, dropped = self._sizes.popitem(last=False)
                oldest.graph = None
                self._size -= dropped

    def _make_room(self) -> None:
        if self._num_states >= self._max_states:
            self.forget()
        self._num_states += 1

    def __deepcopy__(self, memo: dict[int, object]) -> KnownSteps:
        # gymnasium.make and vector environments copy their arguments; the table is to be shared.
        return self

    def __reduce__(self) -> tuple[object, tuple[int]]:
        # It starts empty in another process.
        return KnownSteps, (self.max_bytes,)


KNOWN_STEPS = KnownSteps()
"""Table of this process."""
