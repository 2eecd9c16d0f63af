"""Table of the passes that change nothing in a state, which saves running them again."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import uuid
from pathlib import Path

from hlograph._native import native
from hlograph.errors import DamagedFileError
from hlograph.transforms.registry import passes

_KEY_BYTES = 16
_CHECK_BYTES = 8
_WINDOW = 8  # number of consecutive slots that a state may be in

_MAGIC = b"hlograph known no-ops 1\n"


class KnownNoOps:
    """Table of the passes that leave a state untouched, so that XLA need not run them.

    Unlike ``NoOpTable``, which action masks are made of and ``reset(seed=...)`` forgets, this table
    does not show: episodes are the same with it and without it, only faster. So one table serves
    all environments of a process, all workers of a machine, and, in a file, later runs.

    A state is a fingerprint together with what the fingerprint leaves out but passes may depend on
    (``Module.context_fingerprint``). A pass is known if it reported no change. A pass that reports
    a change and leaves the fingerprint as it was may have reordered instructions, and a pass
    that fails has a message to return; both are run again.

    The table is an array of slots in memory that processes share without locks. Each slot ends
    with a checksum: one that is half written, or was written by two processes at once, counts as
    empty. Of what two processes add to one slot at once a part may be lost, and is then learned
    again. A full table forgets.

    Args:
        path: File to keep the table in, created if it is missing; None for memory of this process.
            A file of another engine is started over, for its passes may do other things.
        max_bytes: Size of the table. A file has this size at once; memory is taken as it fills.

    Raises:
        DamagedFileError: The file is something else.
        OSError: The file cannot be created, or there is no space for it.
        ValueError: The size is less than one window of slots.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, max_bytes: int = 8 << 20
    ) -> None:
        self._bits_bytes = 8 * -(-len(passes) // 64)
        self._slot_bytes = _KEY_BYTES + self._bits_bytes + _CHECK_BYTES
        self._window_bytes = _WINDOW * self._slot_bytes
        # Memory needs no header, which takes reading the extension.
        header = b"" if path is None else _file_header(max_bytes)
        self._homes = (max_bytes - len(header)) // self._slot_bytes - _WINDOW + 1
        if self._homes < 1:
            least = len(header) + self._window_bytes
            raise ValueError(f"expected at least {least} bytes for known no-ops, got {max_bytes}")
        self._first = len(header)
        self.path = None if path is None else Path(path).absolute()
        self.max_bytes = max_bytes
        self._memory = _private(max_bytes) if self.path is None else _map_file(self.path, header)

    def at(self, fingerprint: int) -> int:
        """Returns the passes that are known to change nothing in a state.

        Args:
            fingerprint: The state, of 128 bits.

        Returns:
            Bit i is set for the pass of index i in ``hlograph.passes``.
        """
        key = fingerprint.to_bytes(_KEY_BYTES, "little")
        _, window = self._read(key)
        return self._bits(window, window.find(key), key)

    def add(self, fingerprint: int, found: int) -> None:
        """Records that some passes change nothing in a state.

        Args:
            fingerprint: The state, of 128 bits.
            found: The passes, as ``at`` returns them.
        """
        key = fingerprint.to_bytes(_KEY_BYTES, "little")
        home, window = self._read(key)
        place = window.find(key)
        bits = self._bits(window, place, key) | found
        if place < 0 or place % self._slot_bytes:
            place = self._free(window, key)
        state = key + bits.to_bytes(self._bits_bytes, "little")
        begin = home + place
        self._memory[begin : begin + self._slot_bytes] = state + _checksum(state)

    def _read(self, key: bytes) -> tuple[int, bytes]:
        """Returns the offset of a key's window, and a copy of the window."""
        number = int.from_bytes(key[:8], "little") % self._homes
        home = self._first + number * self._slot_bytes
        return home, self._memory[home : home + self._window_bytes]

    def _bits(self, window: bytes, place: int, key: bytes) -> int:
        if place < 0 or place % self._slot_bytes:
            return 0
        end = place + self._slot_bytes
        state = window[place : end - _CHECK_BYTES]
        if _checksum(state) != window[end - _CHECK_BYTES : end]:
            return 0
        return int.from_bytes(state[_KEY_BYTES:], "little")

    def _free(self, window: bytes, key: bytes) -> int:
        """Returns the place of the first empty slot of a window, or else one chosen by the key."""
        empty = bytes(_KEY_BYTES)
        for place in range(0, self._window_bytes, self._slot_bytes):
            if window[place : place + _KEY_BYTES] == empty:
                return place
        return key[-1] % _WINDOW * self._slot_bytes

    def __deepcopy__(self, memo: dict[int, object]) -> KnownNoOps:
        # gymnasium.make and vector environments copy their arguments; the table is to be shared.
        return self

    def __reduce__(self) -> tuple[object, tuple[Path | None, int]]:
        # Another process opens the same file; a table in memory starts empty there.
        return KnownNoOps, (self.path, self.max_bytes)


def _private(max_bytes: int) -> mmap.mmap:
    """Returns memory of this process alone, which is taken as it is written to."""
    memory = mmap.mmap(-1, max_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # States are scattered: with small pages almost each of the first ones faults its own page.
    memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _checksum(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_CHECK_BYTES).digest()


def _file_header(max_bytes: int) -> bytes:
    """Returns the header of a file of this engine.

    It identifies the bytes of the extension, which hold the passes, their options, the fingerprint
    and the version of XLA, and XLA's flags, which passes depend on.

    Args:
        max_bytes: Size of the file.
    """
    extension = Path(str(native().__file__)).read_bytes()
    flags = os.environ.get("XLA_FLAGS", "").encode()
    engine = hashlib.blake2b(extension + flags, digest_size=24).digest()
    return _MAGIC + engine + max_bytes.to_bytes(8, "little")


def _map_file(path: Path, header: bytes) -> mmap.mmap:
    """Maps the file that begins with a header, and creates it if there is none.

    Args:
        path: The file. One with another header of ``_file_header`` is replaced.
        header: The header.

    Raises:
        DamagedFileError: The file is something else.
        OSError: The file cannot be created, or there is no space for it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+b") as file:
            # Locked while the file is checked and created; never while the table is used.
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_still(path, file.fileno()):
                continue
            file.seek(0)
            found = file.read(len(header))
            size = int.from_bytes(header[-8:], "little")
            if found == header and os.fstat(file.fileno()).st_size == size:
                # The mapping keeps the file open, and so would keep the lock.
                fcntl.flock(file, fcntl.LOCK_UN)
                return mmap.mmap(file.fileno(), size)
            if found and not found.startswith(_MAGIC):
                raise DamagedFileError(
                    f"{path} is no table of known no-ops: expected it to begin with {_MAGIC!r}, "
                    f"got {found[: len(_MAGIC)]!r}. Name another file, or delete this one"
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


KNOWN_NO_OPS = KnownNoOps()
"""Table of this process."""
