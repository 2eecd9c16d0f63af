"""Benchmarks, and sets of them, whose modules are loaded one by one."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar, overload

from hlograph.errors import MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

    from hlograph.module import Module
    from hlograph.storage.locations import Location


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: facts about a module, and its location. ``load`` loads the module.

    Attributes:
        name: ``family/model/variant`` in the shipped corpus; unique in a set.
        family: Model family or class of algorithm. Whole families are held out for
            ``test-unseen``, and for each split of the set ``speed``.
        library: Distribution name of the library whose code was lowered; empty if unknown.
        version: Its version; empty if unknown.
        scope: ``training-step`` or ``model`` (of a whole model), ``algorithm`` or ``layer``;
            empty if unknown.
        recipe: Description of the program that was lowered, in one line.
        set: ``gpt2-train``, ``diverse`` or ``speed``; ``own`` for the user's modules.
        split: ``train``, ``validation``, ``test-seen`` or ``test-unseen``; in the set ``speed``
            ``train``, ``validation`` or ``test``.
        op_count: Instructions of the module as shipped.
        op_count_xla_cpu: Instructions after the pipeline ``xla-cpu``; None if not measured.
        op_count_xla_dump: Instructions in XLA:CPU's own dump before layout assignment; None if
            not measured.
        op_count_xla_simplify: Instructions after the pipeline ``xla-simplify``; None if not
            measured.
        fingerprint: ``Module.fingerprint()``.
        structure: ``Module.structure()``; equal for modules that differ only in shapes.
        source: Path or URL that ``Module.load`` takes, or bytes that ``Module.read`` takes.
    """

    name: str
    family: str
    library: str
    version: str
    scope: str
    recipe: str
    set: str
    split: str
    op_count: int
    op_count_xla_cpu: int | None
    op_count_xla_dump: int | None
    op_count_xla_simplify: int | None
    fingerprint: str
    structure: str
    source: Location | bytes

    def load(self) -> Module:
        """Loads the module; each call returns a new one.

        Raises:
            HloParseError: The file is missing or damaged.
        """
        from hlograph.module import Module

        if isinstance(self.source, bytes):
            return Module.read(self.source)
        return Module.load(self.source)


T = TypeVar("T")

COLUMNS = tuple(field.name for field in fields(Benchmark) if field.name != "source")
"""Columns of a manifest: the attributes of ``Benchmark`` without ``source``."""

# Results wait for slower ones before them. More results in flight would only take memory.
_IN_FLIGHT_PER_WORKER = 4


class BenchmarkSet(Sequence[Benchmark]):
    """Immutable sequence of benchmarks that can also be looked up by name.

    Modules are loaded when they are requested.

    Example:
        >>> steps = hlograph.corpus.load("gpt2-train", split="train")
        >>> steps["gpt2/l2-h64/train-adamw-b2-s32"].load()
        <hlograph.Module 'jit_step': 1636 instructions>
        >>> small = steps.filter(lambda benchmark: benchmark.op_count < 1000)
        >>> sizes = list(small.map(lambda b: b.load().graph().num_edges, workers=2))
    """

    def __init__(self, benchmarks: Iterable[Benchmark]) -> None:
        """Stores benchmarks in the given order.

        Raises:
            ValueError: A name occurs twice.
        """
        self._benchmarks = tuple(benchmarks)
        self._by_name = {benchmark.name: benchmark for benchmark in self._benchmarks}
        if len(self._by_name) < len(self._benchmarks):
            names = [benchmark.name for benchmark in self._benchmarks]
            repeated = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"expected different names, got {repeated!r} twice")

    @property
    def names(self) -> list[str]:
        """The benchmarks' names, in order."""
        return list(self._by_name)

    def modules(self, *, workers: int | None = None) -> Iterator[tuple[Benchmark, Module]]:
        """Loads the modules in order, some of them in advance.

        Args:
            workers: As for ``map``.

        Yields:
            Each benchmark with a new module.
        """
        yield from zip(self, self.map(Benchmark.load, workers=workers), strict=True)

    def map(self, function: Callable[[Benchmark], T], *, workers: int | None = None) -> Iterator[T]:
        """Applies a function to every benchmark in threads; XLA runs in parallel.

        Only a few results for each worker are held at a time, so a corpus need not fit into memory.

        Args:
            function: Function of a benchmark. Its exceptions are raised here, in order.
            workers: Number of threads; None is the number of CPUs.

        Yields:
            The results, in the order of the benchmarks.
        """
        workers = workers or os.cpu_count() or 1
        running: deque[Future[T]] = deque()
        pool = ThreadPoolExecutor(workers)
        try:
            for benchmark in self:
                running.append(pool.submit(function, benchmark))
                if len(running) > workers * _IN_FLIGHT_PER_WORKER:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def filter(self, keep: Callable[[Benchmark], bool]) -> BenchmarkSet:
        """Returns the benchmarks for which a function returns True."""
        return BenchmarkSet(benchmark for benchmark in self if keep(benchmark))

    def manifest(self) -> pd.DataFrame:
        """Returns the attributes of the benchmarks as a table, one row for each benchmark.

        Columns: the attributes of ``Benchmark``, without ``source``.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        MissingExtraError.check("learn", "pandas")
        import pandas as pd

        rows = [tuple(getattr(b, column) for column in COLUMNS) for b in self]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @overload
    def __getitem__(self, key: int | str) -> Benchmark: ...
    @overload
    def __getitem__(self, key: slice) -> BenchmarkSet: ...
    def __getitem__(self, key: int | str | slice) -> Benchmark | BenchmarkSet:
        """Returns one benchmark by position or name, or a slice as a set.

        Raises:
            UnknownNameError: There is no benchmark of that name.
            IndexError: There is no such position.
        """
        if isinstance(key, slice):
            return BenchmarkSet(self._benchmarks[key])
        if isinstance(key, str):
            if key not in self._by_name:
                raise UnknownNameError.of("benchmark", key, list(self._by_name))
            return self._by_name[key]
        return self._benchmarks[key]

    def __len__(self) -> int:
        return len(self._benchmarks)

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self._by_name
        return isinstance(value, Benchmark) and self._by_name.get(value.name) == value

    def __iter__(self) -> Iterator[Benchmark]:
        return iter(self._benchmarks)

    def __add__(self, other: Iterable[Benchmark]) -> BenchmarkSet:
        return BenchmarkSet((*self, *other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BenchmarkSet) and self._benchmarks == other._benchmarks

    def __hash__(self) -> int:
        return hash(self._benchmarks)

    def __repr__(self) -> str:
        count = sum(benchmark.op_count for benchmark in self)
        return f"<hlograph.corpus.BenchmarkSet: {len(self)} benchmarks, {count:,} instructions>"
