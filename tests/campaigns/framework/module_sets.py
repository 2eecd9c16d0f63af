"""Modules that campaigns run on: the corpus, and small modules of operations that it lacks."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from hlograph import Module, corpus
from tests.hlograph import rare_modules

_SOURCES = (rare_modules,)
"""Python modules with small HLO modules: each has a dict `ALL` of HLO texts by name."""

SMALL = [
    (f"small/{name}", text) for source in _SOURCES for name, text in sorted(source.ALL.items())
]
"""Names and HLO texts of the small modules."""


def select(globs: Sequence[str], max_ops: int | None = None) -> list[corpus.Benchmark]:
    """Returns the modules whose names match one of the globs, smallest first.

    Args:
        globs: Globs over names of the corpus. Those that begin with `small/` are over the names
            of the small modules instead.
        max_ops: Modules with more instructions are left out.

    Raises:
        SystemExit: No module matches.
    """
    benchmarks = [*corpus.load(max_op_count=max_ops)]
    if any(glob.startswith("small/") for glob in globs):
        benchmarks += [corpus.from_source(name, text) for name, text in SMALL]
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
    """Returns a new module, given its name in the corpus or in `SMALL`."""
    text = dict(SMALL).get(name)
    return Module.from_text(text) if text is not None else corpus.benchmark(name).load()


def _matches(name: str, glob: str) -> bool:
    same_set = name.startswith("small/") == glob.startswith("small/")
    return same_set and fnmatchcase(name, glob)
