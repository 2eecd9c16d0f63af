"""The memory of states: what masks may show, and what only saves time."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.decisions.process import State
from hlograph.errors import DamagedFileError
from hlograph.graph.features import GraphFeatures
from hlograph.module import Module
from hlograph.transforms.registry import passes

# Memory of a state without its graph: op counts, fingerprint, links, and a part of a dictionary.
_STATE_BYTES = 1_600
# Part of the memory of steps that states may take; graphs have the rest.
_STATES_SHARE = 0.25
# Memory of a state whose no-ops are shown: the fingerprint, the number, and the dictionary's links.
_SHOWN_BYTES = 400

_KEY_BYTES = 16
_CHECK_BYTES = 8
_WINDOW = 8  # number of consecutive slots that the no-ops of a state may be in
_MAGIC = b"hlograph known no-ops 1\n"


class Memory:
    """Remembers what earlier steps told about states, in two views.

    What an environment may **show** in its masks is its own: ``copy`` goes to a fork, and
    ``reset(seed=...)`` forgets it. What only **saves time** does not show: episodes are the same
    with it and without it, bit by bit. So all environments of a process share it, and its no-ops
    are in a file for all workers of a machine and for later runs.

    =======  ===================  =======================  =====================================
    View     Remembered           Identity of a state      When the bound is reached
    =======  ===================  =======================  =====================================
    shown    no-ops of masks      fingerprint              the state longest unused is forgotten
    shared   no-ops, not run      fingerprint and context  states of the same slot are forgotten
    shared   steps                key                      all states are forgotten
    shared   graphs               key                      the graph longest unused is dropped
    =======  ===================  =======================  =====================================

    The context is what the fingerprint leaves out but passes may depend on
    (``Module.context_fingerprint``). The key is the start module and the passes that changed it
    since, in their order. Modules of one fingerprint may store their instructions in different
    orders, in which the nodes of a graph are numbered; the key determines the order too.

    Only facts are remembered: no-ops, graphs, and the exact counts and costs of a state. Run times
    are measurements, which are made again. So is a pass that reports a change and leaves the
    fingerprint, for it may have reordered instructions, and one that fails, for its message.

    Processes write to the shared no-ops without locks. A slot that is half written, or was written
    by two processes at once, counts as empty; what is lost is learned again.

    Args:
        path: File of the shared no-ops, created if it is missing; None for memory of this process.
            A file of another engine is started over, for its passes may do other things.
        no_op_bytes: Size of the shared no-ops. A file has this size at once; memory is taken as it
            fills.
        step_bytes: Estimated memory of all steps and graphs.
        shown_bytes: Estimated memory of what is shown, in each environment.

    Raises:
        DamagedFileError: The file is something else.
        OSError: The file cannot be created, or there is no space for it.
        ValueError: A size does not hold even a few states.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        no_op_bytes: int = 8 << 20,
        step_bytes: int = 128 << 20,
        shown_bytes: int = 32 << 20,
    ) -> None:
        self.path = None if path is None else Path(path).absolute()
        # Memory needs no header, which takes reading the extension.
        header = b"" if self.path is None else _file_header(no_op_bytes)
        self._bits_bytes = 8 * -(-len(passes) // 64)
        self._slot_bytes = _KEY_BYTES + self._bits_bytes + _CHECK_BYTES
        shown_state = _SHOWN_BYTES + len(passes) // 7  # a Python int holds 30 bits in 4 bytes
        bounds = {"no_op_bytes": no_op_bytes, "step_bytes": step_bytes, "shown_bytes": shown_bytes}
        slots, states = len(header) + _WINDOW * self._slot_bytes, 2 * _STATE_BYTES / _STATES_SHARE
        for name, least in zip(bounds, (slots, int(states), shown_state), strict=True):
            if bounds[name] < least:
                raise ValueError(f"expected {name} of at least {least}, got {bounds[name]}")
        self._bounds = bounds
        # Numbers whose bit i is set if action i is a no-op, by fingerprint: a bit is set far more
        # often than a mask is asked for.
        self._shown: OrderedDict[str, int] = OrderedDict()
        self._max_shown = shown_bytes // shown_state
        # Copies share all that follows.
        self._first_slot = len(header)
        self._homes = (no_op_bytes - len(header)) // self._slot_bytes - _WINDOW + 1
        self._slots = _private(no_op_bytes) if self.path is None else _map_file(self.path, header)
        self._lock = threading.Lock()
        self._starts: WeakKeyDictionary[Module, State] = WeakKeyDictionary()
        self._graphs: OrderedDict[State, int] = OrderedDict()
        self._used = {"states": 0, "graph bytes": 0}
        self._max_states = int(_STATES_SHARE * step_bytes) // _STATE_BYTES
        self._max_graph_bytes = step_bytes - self._max_states * _STATE_BYTES

    def masked(self, mask: NDArray[np.int8], fingerprint: str) -> NDArray[np.int8]:
        """Returns a copy of a mask that is 0, too, where an action is shown to change nothing.

        Args:
            mask: int8 ``[num_actions]``.
            fingerprint: Fingerprint of the state.
        """
        no_ops = self._shown.get(fingerprint)
        if no_ops is None:
            return mask.copy()
        self._shown.move_to_end(fingerprint)
        packed = np.frombuffer(no_ops.to_bytes(-(-len(mask) // 8), "little"), np.uint8)
        return np.where(np.unpackbits(packed, count=len(mask), bitorder="little"), np.int8(0), mask)

    def show(self, fingerprint: str, action: int) -> None:
        """Records that masks show an action to change nothing in a state."""
        shown = self._shown
        shown[fingerprint] = shown.get(fingerprint, 0) | 1 << action
        shown.move_to_end(fingerprint)
        if len(shown) > self._max_shown:
            shown.popitem(last=False)

    def hide(self) -> None:
        """Forgets all that is shown; what saves time stays."""
        self._shown = OrderedDict()

    def copy(self) -> Memory:
        """Returns a copy that shows what this one does, and learns what to show on its own."""
        copy = object.__new__(Memory)
        copy.__dict__.update(self.__dict__)
        copy._shown = self._shown.copy()
        return copy

    def no_ops(self, state: int) -> int:
        """Returns the passes that are known to change nothing in a state.

        Args:
            state: Fingerprint and context of the state, of 128 bits.

        Returns:
            Bit i is set for the pass of index i in ``hlograph.passes``.
        """
        return self._find(state.to_bytes(_KEY_BYTES, "little"))[1]

    def add_no_ops(self, state: int, no_ops: int) -> None:
        """Records passes that reported no change in a state, both as in ``no_ops``."""
        key = state.to_bytes(_KEY_BYTES, "little")
        begin, present = self._find(key)
        if begin < 0:
            begin = self._free(key)
        content = key + (present | no_ops).to_bytes(self._bits_bytes, "little")
        self._slots[begin : begin + self._slot_bytes] = content + _checksum(content)

    def start(self, module: Module) -> State:
        """Returns the state in which episodes on a module begin.

        Its steps are forgotten with the module.

        Args:
            module: The module, which must not be changed. Another object is another module.
        """
        with self._lock:
            state = self._starts.get(module)
        if state is not None:
            return state
        snapshot = module.snapshot()
        with self._lock:
            self._make_room()
            return self._starts.setdefault(module, State(snapshot))

    def add_step(self, before: State, after: State) -> State:
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
            make: Returns the graph, for a memory without it.
        """
        graph = state.graph
        if graph is not None:
            with self._lock:
                if state in self._graphs:
                    self._graphs.move_to_end(state)
            return graph
        graph = make()
        size = sum(part.nbytes for part in graph)
        if size > self._max_graph_bytes:
            return graph
        with self._lock:
            used = self._used
            used["graph bytes"] += size - self._graphs.pop(state, 0)
            self._graphs[state] = size
            state.graph = graph
            while used["graph bytes"] > self._max_graph_bytes:
                oldest, dropped = self._graphs.popitem(last=False)
                oldest.graph = None
                used["graph bytes"] -= dropped
        return graph

    def _make_room(self) -> None:
        """Counts a new state, before which all are forgotten if there are too many.

        Episodes under way keep what led to their state.
        """
        if self._used["states"] >= self._max_states:
            self._starts.clear()
            self._graphs.clear()
            self._used.update({"states": 0, "graph bytes": 0})
        self._used["states"] += 1

    def _home(self, key: bytes) -> int:
        """Returns the offset of the window of slots that a state may be in."""
        number = int.from_bytes(key[:8], "little") % self._homes
        return self._first_slot + number * self._slot_bytes

    def _find(self, key: bytes) -> tuple[int, int]:
        """Returns the offset of a state's slot, -1 if it has none, and the no-ops in it."""
        home = self._home(key)
        window = self._slots[home : home + _WINDOW * self._slot_bytes]
        place = window.find(key)
        if place < 0 or place % self._slot_bytes:
            return -1, 0
        end = place + self._slot_bytes
        content = window[place : end - _CHECK_BYTES]
        if _checksum(content) != window[end - _CHECK_BYTES : end]:
            return home + place, 0
        return home + place, int.from_bytes(content[_KEY_BYTES:], "little")

    def _free(self, key: bytes) -> int:
        """Returns the offset of the first empty slot of a window, or of one chosen by the key."""
        home, empty = self._home(key), bytes(_KEY_BYTES)
        for place in range(home, home + _WINDOW * self._slot_bytes, self._slot_bytes):
            if self._slots[place : place + _KEY_BYTES] == empty:
                return place
        return home + key[-1] % _WINDOW * self._slot_bytes

    def __deepcopy__(self, memo: dict[int, object]) -> Memory:
        # gymnasium.make and vector environments copy their arguments.
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        # Another process opens the same file; what else saves time starts empty there.
        return partial(Memory, self.path, **self._bounds), (), {"_shown": self._shown}


def _private(max_bytes: int) -> mmap.mmap:
    """Returns memory of this process alone, which is taken as it is written to."""
    memory = mmap.mmap(-1, max_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # States are scattered: with small pages almost each of the first ones faults its own page.
    memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _checksum(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_CHECK_BYTES).digest()


def _file_header(max_bytes: int) -> bytes:
    """Returns the header of a file of this engine and size.

    It identifies the bytes of the extension, which hold the passes, their options, the fingerprint
    and the version of XLA, and XLA's flags, which passes depend on.
    """
    extension = Path(str(native().__file__)).read_bytes()
    flags = os.environ.get("XLA_FLAGS", "").encode()
    engine = hashlib.blake2b(extension + flags, digest_size=24).digest()
    return _MAGIC + engine + max_bytes.to_bytes(8, "little")


def _map_file(path: Path, header: bytes) -> mmap.mmap:
    """Maps the file that begins with a header; creates it in place of none or of another engine's.

    Raises:
        DamagedFileError: The file is something else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    size = int.from_bytes(header[-8:], "little")
    while True:
        with path.open("a+b") as file:
            # Locked while the file is checked and created; never while the memory is used.
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_still(path, file.fileno()):
                continue
            file.seek(0)
            start = file.read(len(header))
            if start == header and os.fstat(file.fileno()).st_size == size:
                # The mapping keeps the file open, and so would keep the lock.
                fcntl.flock(file, fcntl.LOCK_UN)
                return mmap.mmap(file.fileno(), size)
            if start and not start.startswith(_MAGIC):
                raise DamagedFileError(
                    f"{path} is no file of known no-ops: expected it to begin with {_MAGIC!r}, "
                    f"got {start[: len(_MAGIC)]!r}. Name another file, or delete this one"
                )
            # A new file instead of new content: other processes may have mapped the old one.
            _create(path, header, size)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _create(path: Path, header: bytes, size: int) -> None:
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with unfinished.open("xb") as file:
            # A write to a hole of a mapped file would end the process if the disk is full.
            os.posix_fallocate(file.fileno(), 0, size)
            file.write(header)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


MEMORY = Memory()
"""Memory of this process."""
