"""Cache of the modules of benchmarks, shared by all environments of a process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from hlograph.module import Module
from hlograph.storage.locations import Location

_Stamp = tuple[int, int] | None

_INSTRUCTION_BYTES = 1024
"""Memory of one instruction in XLA: 540 to 1,010 bytes, measured over the corpus."""


class ModuleCache:
    """Cache that keeps modules up to a limit; those longest unused are dropped first.

    Cloning a module that was never changed costs nothing, so one copy serves all episodes. A file
    whose size or time has changed is read again.

    Args:
        max_bytes: Estimated memory that the modules may take; one module is always kept.
    """

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        self.max_bytes = max_bytes
        self._modules: OrderedDict[Location | bytes, tuple[_Stamp, Module]] = OrderedDict()
        self._sizes: dict[Location | bytes, int] = {}
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Estimated memory of the modules, in bytes."""
        return sum(self._sizes.values())

    def read(self, source: Location | bytes) -> Module:
        """Returns the module of a source, which must not be changed.

        Args:
            source: As for ``Module.read``.

        Raises:
            HloParseError: The source holds no module.
        """
        stamp = _stamp_of(source)
        with self._lock:
            known = self._modules.get(source)
            if known is not None and known[0] == stamp:
                self._modules.move_to_end(source)
                return known[1]
        module = Module.read(source)
        with self._lock:
            self._modules[source] = stamp, module
            self._sizes[source] = _INSTRUCTION_BYTES * module.op_count
            while len(self._modules) > 1 and self.size > self.max_bytes:
                oldest, _ = self._modules.popitem(last=False)
                del self._sizes[oldest]
        return module


def _stamp_of(source: Location | bytes) -> _Stamp:
    """Returns what tells a version of a file from others; None for other sources."""
    if not isinstance(source, Path):
        return None
    try:
        status = source.stat()
    except OSError:  # reading it says what is wrong
        return None
    return status.st_mtime_ns, status.st_size


MODULES = ModuleCache()
"""Cache of this process."""
