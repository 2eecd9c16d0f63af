"""Table of the steps that earlier episodes made, which saves making them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from envs.observations import SeenGraph
from hlograph.inspection.module_view import Cost, Snapshot
from hlograph.module import Module

# Memory of a state without its graph: op counts, fingerprint, links, and a part of a dictionary.
_STATE_BYTES = 1_600
# Part of the memory that states may take; graphs have the rest.
_STATES_SHARE = 0.25


class KnownState:
    """State of a module, as the passes that changed it since the start have left it.

    Attributes:
        snapshot: Fingerprint and op counts.
        after: The state after a pass that reported a change here, by the index of the pass in
            ``hlograph.passes``.
        cost: XLA's cost analysis; None until an environment asks for it.
        graph: Observation of the graph; None until one asks for it, and after it was dropped.
    """

    __slots__ = ("after", "cost", "graph", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.after: dict[int, KnownState] = {}
        self.cost: Cost | None = None
        self.graph: SeenGraph | None = None


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
        self._starts: WeakKeyDictionary[Module, KnownState] = WeakKeyDictionary()
        self._sizes: OrderedDict[KnownState, int] = OrderedDict()
        self._num_states = self._size = 0

    @property
    def size(self) -> int:
        """Estimated memory of the table, in bytes."""
        return self._num_states * _STATE_BYTES + self._size

    def __len__(self) -> int:
        """Returns the number of modules whose steps are in the table."""
        with self._lock:
            return len(self._starts)

    def start(self, module: Module) -> KnownState:
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
            return self._starts.setdefault(module, KnownState(snapshot))

    def add(self, state: KnownState, index: int, snapshot: Snapshot) -> KnownState:
        """Records a pass that reported a change, and returns the state after it.

        Args:
            state: The state before.
            index: Index of the pass in ``hlograph.passes``.
            snapshot: Snapshot of the state after it.
        """
        with self._lock:
            self._make_room()
            return state.after.setdefault(index, KnownState(snapshot))

    def graph(self, state: KnownState, observe: Callable[[], SeenGraph]) -> SeenGraph:
        """Returns the observation of a state's graph.

        Args:
            state: The state.
            observe: Returns the observation, for a table without it.
        """
        seen = state.graph
        if seen is None:
            seen = observe()
            self._keep(state, seen)
            return seen
        with self._lock:
            if state in self._sizes:
                self._sizes.move_to_end(state)
        return seen

    def _keep(self, state: KnownState, seen: SeenGraph) -> None:
        size = sum(np.asarray(part).nbytes for part in seen[0])
        if size > self._graph_bytes:
            return
        with self._lock:
            self._size += size - self._sizes.pop(state, 0)
            self._sizes[state] = size
            state.graph = seen
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
