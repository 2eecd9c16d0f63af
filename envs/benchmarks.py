"""Turns what a user names as benchmarks into modules."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from envs.module_cache import MODULES
from hlograph import corpus
from hlograph.module import Module
from hlograph.storage.locations import is_url


@dataclass(frozen=True, slots=True)
class NamedModule:
    """A benchmark: its name and how to get its module.

    Attributes:
        name: Corpus name, path, URL, or the name and fingerprint of a user's module.
        load: Returns the module, which is not to be changed.
    """

    name: str
    load: Callable[[], Module]


BenchmarkSource = str | os.PathLike[str] | Module | corpus.Benchmark | NamedModule
"""A name of the corpus, a path or URL of an HLO file, a module, or what was made of one."""


def resolve_benchmarks(
    sources: Sequence[BenchmarkSource] | BenchmarkSource | None,
) -> tuple[NamedModule, ...]:
    """Returns the benchmarks that a user names; files are read on first use.

    Args:
        sources: One or several; None for the training split of the corpus.

    Raises:
        UnknownNameError: A string is neither a file nor a URL nor a name of the corpus.
        ValueError: There are none.
    """
    if sources is None:
        sources = list(corpus.load(split="train"))
    elif isinstance(sources, str | os.PathLike | Module | corpus.Benchmark | NamedModule):
        sources = [sources]
    if not sources:
        raise ValueError("expected at least one benchmark, got an empty sequence")
    return tuple(_resolve(source) for source in sources)


def _resolve(source: BenchmarkSource) -> NamedModule:
    if isinstance(source, NamedModule):
        return source
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
