"""Resolves the benchmarks that a user names, and chooses among them."""

from __future__ import annotations

import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from hlograph import corpus
from hlograph.errors import UnknownNameError
from hlograph.module import Module
from hlograph.storage.locations import Location, is_url

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
            cached = self._modules.get(source)
            if cached is not None and cached[0] == stamp:
                self._modules.move_to_end(source)
                return cached[1]
        module = Module.read(source)
        with self._lock:
            self._modules[source] = stamp, module
            self._sizes[source] = _INSTRUCTION_BYTES * module.op_count + _bytes_of(source, stamp)
            while len(self._modules) > 1 and self.size > self.max_bytes:
                oldest, _ = self._modules.popitem(last=False)
                del self._sizes[oldest]
        return module


def _bytes_of(source: Location | bytes, stamp: _Stamp) -> int:
    """Returns the bytes of a source, most of which are constants where they are many."""
    if isinstance(source, bytes):
        return len(source)
    return stamp[1] if stamp is not None else 0


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


@dataclass(frozen=True, slots=True)
class NamedModule:
    """Benchmark that has a name and a function that loads its module.

    Attributes:
        name: Corpus name, path, URL, or the name and fingerprint of a user's module.
        load: Returns the module, which must not be changed.
    """

    name: str
    load: Callable[[], Module]


BenchmarkSource = str | os.PathLike[str] | Module | corpus.Benchmark | NamedModule
"""A name of the corpus, a path or URL of an HLO file, a module, or a resolved benchmark."""

Selection = Literal["uniform", "round-robin"]
"""Order in which ``reset`` chooses benchmarks."""


class BenchmarkChoice:
    """Chooses the benchmark of each episode.

    Args:
        benchmarks: The benchmarks.
        selection: ``"uniform"`` or ``"round-robin"``.
    """

    def __init__(self, benchmarks: Sequence[NamedModule], selection: Selection) -> None:
        if selection not in ("uniform", "round-robin"):
            raise UnknownNameError.of("selection", selection, ("uniform", "round-robin"))
        self._benchmarks = tuple(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        self._selection = selection
        self._next = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the benchmarks."""
        return tuple(benchmark.name for benchmark in self._benchmarks)

    def restart(self) -> None:
        """Begins the round of ``"round-robin"`` again."""
        self._next = 0

    def named(self, name: str) -> NamedModule:
        """Returns the benchmark of that name.

        Args:
            name: Its name; for a file also another path of it.

        Raises:
            UnknownNameError: There is none.
        """
        benchmark = self._by_name.get(name) or self._by_name.get(str(Path(name).absolute()))
        if benchmark is None:
            raise UnknownNameError.of("benchmark", name, self._by_name)
        return benchmark

    def draw(self, generator: np.random.Generator) -> NamedModule:
        """Returns the next benchmark.

        Args:
            generator: Source of randomness for ``"uniform"``.
        """
        if self._selection == "uniform":
            return self._benchmarks[int(generator.integers(len(self._benchmarks)))]
        chosen = self._benchmarks[self._next % len(self._benchmarks)]
        self._next += 1
        return chosen


def resolve_benchmarks(
    sources: Sequence[BenchmarkSource] | BenchmarkSource | None,
) -> tuple[NamedModule, ...]:
    """Returns the benchmarks that a user names; files are read when they are first loaded.

    Args:
        sources: One or several; None for the training split of the corpus.

    Raises:
        UnknownNameError: A string is neither a file nor a URL nor a name of the corpus.
        ValueError: There are none.
        TypeError: One is of another type.
    """
    if sources is None:
        sources = list(corpus.load(split="train"))
    elif not isinstance(sources, Iterable) or isinstance(sources, str):
        sources = [sources]
    if not sources:
        raise ValueError("expected at least one benchmark, got an empty sequence")
    return tuple(_resolve(source) for source in sources)


def _resolve(source: BenchmarkSource) -> NamedModule:
    if isinstance(source, NamedModule):
        return source
    if not isinstance(source, str | os.PathLike | Module | corpus.Benchmark):
        raise TypeError(
            "expected a name of the corpus, a path or URL, a Benchmark or an hlograph.Module, got "
            f"{type(source).__qualname__}: hlograph.Module.read makes a module of what "
            "hlograph.parse takes"
        )
    if isinstance(source, str) and "\n" in source:
        raise ValueError(
            "expected the name or the path of a benchmark, got text: hlograph.Module.from_text "
            "makes a module of HLO text"
        )
    if isinstance(source, Module):
        # A clone, so that later passes on the user's module change no episode.
        frozen = source.clone()
        return NamedModule(f"{source.name}@{source.fingerprint()[:8]}", lambda: frozen)
    if isinstance(source, str) and is_url(source):
        return NamedModule(source, functools.partial(MODULES.read, source))
    if isinstance(source, str) and not Path(source).is_file():
        source = corpus.benchmark(source)
    if isinstance(source, corpus.Benchmark):
        return NamedModule(source.name, functools.partial(MODULES.read, source.source))
    path = Path(source).absolute()
    return NamedModule(str(path), functools.partial(MODULES.read, path))
