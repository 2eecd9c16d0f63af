"""Benchmarks from the user's own modules: files, folders, XLA dumps, jax functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from hlograph.corpus.benchmark_set import Benchmark, BenchmarkSet
from hlograph.errors import HloError, HloParseError
from hlograph.storage.locations import Location, absolute, as_location, files_below

if TYPE_CHECKING:
    import os

    from hlograph.module import Module
    from hlograph.reading.sources import Source

_SUFFIX = re.compile(r"(\.hlo|\.txt|\.pb|\.mlir|\.stablehlo)+(\.gz|\.zst)?$")

# --xla_dump_to writes each module in many states, with buffer assignments and LLVM IR. Passes are
# to run on the first state.
_DUMPED = re.compile(r"module_\d+\.")
_DUMPED_FIRST = re.compile(r"\.before_optimizations\.(txt|hlo\.pb)(\.gz|\.zst)?$")


def from_folder(
    folder: str | os.PathLike[str],
    *,
    split: str = "train",
    skip_unreadable: bool | Callable[[HloParseError], None] = False,
) -> BenchmarkSet:
    """Returns the modules in a folder and its subfolders as benchmarks.

    Files named ``*.hlo``, ``*.txt``, ``*.pb``, ``*.mlir`` or ``*.stablehlo`` are read, also
    compressed (``.gz``, ``.zst``). In a folder that ``--xla_dump_to`` wrote, only the modules
    before optimizations are read. Each file is loaded once to compute its counts and fingerprint.
    Of several modules with the same fingerprint, the first one is kept.

    Args:
        folder: A path, or a URL that fsspec reads. The name of a benchmark is the path of its file
            in the folder, without the suffix.
        split: Value of ``Benchmark.split``.
        skip_unreadable: True skips files that the linked XLA cannot read, instead of raising an
            error. A function does so, too, and is told of each.

    Raises:
        HloError: The folder does not exist, or has no modules.
        HloParseError: A file holds no HLO module.
    """
    base = as_location(folder)
    if isinstance(base, Path) and not base.is_dir():
        problem = "a file" if base.exists() else "no such folder"
        raise HloError(f"expected a folder with HLO modules, got {str(folder)!r}: {problem}")
    benchmarks: dict[str, Benchmark] = {}
    names: set[str] = set()
    for path, name in _module_files(base):
        try:
            benchmark = _benchmark(_unique(name, names), _load(path), absolute(path), split)
        except HloParseError as error:
            if not skip_unreadable:
                raise
            if callable(skip_unreadable):
                skip_unreadable(error)
            continue
        names.add(benchmark.name)
        benchmarks.setdefault(benchmark.fingerprint, benchmark)
    if not benchmarks:
        raise HloError(
            f"no HLO modules in {str(folder)!r}: expected files named *.hlo, *.txt, *.pb (also "
            "with .gz or .zst), or what XLA wrote with --xla_dump_to"
        )
    return BenchmarkSet(benchmarks.values())


def from_source(
    name: str, source: Source | Module | Any, *arguments: Any, split: str = "train"
) -> Benchmark:
    """Returns one module of the user's own as a benchmark, held in memory.

    Args:
        name: Name of the benchmark.
        source: A source that ``hlograph.parse`` takes; or a jax function, also a jitted one, which
            is lowered and not run.
        *arguments: Arguments of the jax function: arrays, or ``jax.ShapeDtypeStruct``.
        split: Value of ``Benchmark.split``.

    Raises:
        HloParseError: The source holds no HLO module.
        TypeError: There are arguments, and the source is not a function.
    """
    from hlograph.module import Module
    from hlograph.reading.device_counts import serialize

    module = source if isinstance(source, Module) else Module.read(_lowered(source, arguments))
    return _benchmark(name, module, serialize(module._native)[1], split)


def _lowered(source: Any, arguments: tuple[Any, ...]) -> Any:
    """Lowers a jax function; returns anything else as it is."""
    if callable(source):
        import jax

        lower = getattr(source, "lower", None) or jax.jit(source).lower
        return lower(*arguments)
    if arguments:
        raise TypeError(
            f"expected a jax function for these arguments, got {type(source).__qualname__}"
        )
    return source


def _module_files(base: Location) -> Iterable[tuple[Location, str]]:
    """Yields the files whose names are those of modules, with the benchmarks' names, in order."""
    for path, name in files_below(base):
        suffix = _DUMPED_FIRST if _DUMPED.match(PurePosixPath(name).name) else _SUFFIX
        if suffix.search(name):
            yield path, suffix.sub("", name)


def _load(path: Location) -> Module:
    from hlograph.module import Module

    try:
        return Module.load(path)
    except HloParseError as error:
        error.add_note(f"in the file {path}")
        raise


def _unique(name: str, taken: set[str]) -> str:
    """Returns the name, with a number if another file differs only in its suffix."""
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name}-{number}"
        number += 1
    return unique


def _benchmark(name: str, module: Module, source: Location | bytes, split: str) -> Benchmark:
    return Benchmark(
        name=name,
        family=name.split("/")[0],
        library="",
        version="",
        scope="",
        recipe="",
        set="own",
        split=split,
        op_count=module.op_count,
        op_count_xla_cpu=None,
        op_count_xla_dump=None,
        op_count_xla_simplify=None,
        fingerprint=module.fingerprint(),
        structure=module.structure(),
        source=source,
    )
