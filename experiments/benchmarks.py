"""Which benchmarks a run trains on and is measured by, and what XLA's own orders make of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import hlograph
from envs.benchmarks import resolve_benchmarks
from hlograph import corpus

REFERENCES = ("xla-cpu", "xla-simplify")
"""Reference pipelines that a policy is compared with."""


@dataclass(frozen=True)
class Reference:
    """Op counts of one benchmark without any policy."""

    start: int
    after: dict[str, int]
    """Op count after each reference pipeline, by the pipeline's name."""


def load(name: str) -> hlograph.Module:
    """A fresh module of a benchmark, by corpus name or path."""
    # A clone: the environments of this process share the module itself.
    return resolve_benchmarks(name)[0].load().clone()


def training_benchmarks(patterns: Sequence[str], op_limit: int) -> list[str]:
    """Benchmarks to train on.

    Args:
        patterns: Names, globs over names of the corpus, or paths; none is the train split.
        op_limit: Benchmarks of the corpus with more instructions are left out; a path is
            taken whatever its size.

    Raises:
        ValueError: A pattern matches nothing, or nothing is left.
    """
    if not patterns:
        names = [b.name for b in corpus.benchmarks("train", max_op_count=op_limit)]
    else:
        everything = corpus.benchmarks()
        names = []
        for pattern in patterns:
            matched = [b for b in everything if fnmatchcase(b.name, pattern)]
            if matched:
                names += [b.name for b in matched if b.op_count <= op_limit]
            elif Path(pattern).is_file():
                names.append(str(Path(pattern).absolute()))
            else:
                raise ValueError(
                    f"{pattern!r} is no benchmark, no glob that matches one, and no file; "
                    f"benchmarks are named like {everything[0].name!r}"
                )
    if not names:
        raise ValueError(f"no training benchmark has at most {op_limit} instructions")
    return list(dict.fromkeys(names))


def held_out_benchmarks(op_limit: int) -> list[str]:
    """Benchmarks of the test split with at most this many instructions."""
    return [b.name for b in corpus.benchmarks("test", max_op_count=op_limit)]


def references(names: Sequence[str]) -> dict[str, Reference]:
    """Op counts at the start and after each reference pipeline, by benchmark."""
    found = {}
    for name in names:
        module = load(name)
        after = {}
        for pipeline in REFERENCES:
            result = module.clone()
            result.run(hlograph.pipelines[pipeline])
            after[pipeline] = result.op_count
        found[name] = Reference(module.op_count, after)
    return found
