"""Modules that campaigns run on: the corpus, and sets of small modules of all operations."""

import contextlib
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache

from hlograph import HloParseError, Module, corpus
from tests.campaigns.random_programs.programs import random_program
from tests.hlograph import rare_modules
from tests.hlograph.degenerate.modules import modules

_SOURCES = (rare_modules,)
"""Python modules with small HLO modules: each has a dict `ALL` of HLO texts by name."""

SMALL = [
    (f"small/{name}", text) for source in _SOURCES for name, text in sorted(source.ALL.items())
]
"""Names and HLO texts of the small modules."""


_RANDOM_PROGRAMS = 600
_RANDOM_SEED = 0


def _degenerate() -> dict[str, str]:
    return {name.replace(" ", "-"): text for name, text in modules()}


def _random() -> dict[str, str]:
    numbers = range(_RANDOM_PROGRAMS)
    return {str(number): random_program(_RANDOM_SEED, number).text for number in numbers}


_SETS: dict[str, Callable[[], dict[str, str]]] = {
    "small": lambda: dict(SMALL),
    "degenerate": _degenerate,
    "random": _random,
}


@cache
def _texts(prefix: str) -> dict[str, str]:
    """Returns the HLO texts of a set by name, which begins with the name of the set."""
    return {f"{prefix}/{name.removeprefix(f'{prefix}/')}": t for name, t in _SETS[prefix]().items()}


def set_names() -> list[str]:
    """Returns the names of all modules of the sets beside the corpus."""
    return [name for prefix in _SETS for name in _texts(prefix)]


def _prefix(name: str) -> str:
    """Returns the set of a module or glob; empty for the corpus."""
    prefix = name.partition("/")[0]
    return prefix if prefix in _SETS else ""


def select(globs: Sequence[str], max_ops: int | None = None) -> list[corpus.Benchmark]:
    """Returns the modules whose names match one of the globs, smallest first.

    Args:
        globs: Globs over names of the corpus. Those that begin with `small/`, `degenerate/` or
            `random/` are over the names of a set of small modules instead: one for each rare
            operation, all operations in degenerate forms, and random programs.
        max_ops: Modules with more instructions are left out.

    Raises:
        SystemExit: No module matches.
    """
    benchmarks = [*corpus.load(max_op_count=max_ops)]
    for prefix in sorted({_prefix(glob) for glob in globs} - {""}):
        for name, text in _texts(prefix).items():
            # XLA's parser refuses some degenerate forms.
            with contextlib.suppress(HloParseError):
                if any(_matches(name, glob) for glob in globs):
                    benchmarks.append(corpus.from_source(name, text))
    selected = [
        benchmark
        for benchmark in benchmarks
        if (max_ops is None or benchmark.op_count <= max_ops)
        and any(_matches(benchmark.name, glob) for glob in globs)
    ]
    if not selected:
        limit = "" if max_ops is None else f" with at most {max_ops} instructions"
        raise SystemExit(f"--benchmarks: no module{limit} matches {' '.join(globs)}")
    return sorted(selected, key=lambda benchmark: (benchmark.op_count, benchmark.name))


def load(name: str) -> Module:
    """Returns a new module, given its name in the corpus or in a set of small modules."""
    prefix = _prefix(name)
    return Module.from_text(_texts(prefix)[name]) if prefix else corpus.benchmark(name).load()


def _matches(name: str, glob: str) -> bool:
    return _prefix(name) == _prefix(glob) and fnmatchcase(name, glob)
