"""Programs whose plans are raced or recorded, chosen by split, name and family."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from hlograph.corpus.shipped import CorpusSet
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.corpus import Benchmark, BenchmarkSet

Split = Literal["train", "validation", "test"]
"""Splits of the speed set."""


def chosen_programs(
    split: Split | None, patterns: Sequence[str], per_family: int | None
) -> "BenchmarkSet":
    """Returns programs of the speed set.

    Args:
        split: Their split; None takes all.
        patterns: Names or globs, one of which a program must match.
        per_family: Number of programs of each family; None takes all.

    Raises:
        HloError: There is none.
    """
    from hlograph import corpus

    chosen = matching(corpus.load("speed", split), patterns, per_family)
    if not chosen:
        where = f"split {split}" if split else "the speed set"
        raise HloError(f"no program of {where} matches {' '.join(patterns)}")
    return chosen


def matching(
    programs: "BenchmarkSet", patterns: Sequence[str], per_family: int | None
) -> "BenchmarkSet":
    """Returns the programs whose names match.

    Args:
        programs: The programs to choose from.
        patterns: Names or globs, one of which a program must match.
        per_family: Number of programs of each family; None takes all.
    """
    chosen = programs.filter(lambda b: any(fnmatchcase(b.name, pattern) for pattern in patterns))
    if per_family is None:
        return chosen
    taken = set(names_per_family(chosen, per_family))
    return chosen.filter(lambda benchmark: benchmark.name in taken)


def names_per_family(programs: "Iterable[Benchmark]", number: int) -> list[str]:
    """Returns the names of some programs of each family: the least, the largest, the second least.

    Args:
        programs: The programs to choose from.
        number: Number of programs of each family.
    """
    families: dict[str, list[str]] = {}
    for benchmark in sorted(programs, key=lambda b: (b.op_count, b.name)):
        families.setdefault(benchmark.family, []).append(benchmark.name)
    taken = []
    for names in families.values():
        for turn in range(min(number, len(names))):
            taken.append(names[turn // 2] if turn % 2 == 0 else names[-1 - turn // 2])
    return taken


def recorded_programs(
    corpus_set: CorpusSet, split: Split | None, patterns: Sequence[str], per_family: int | None
) -> "list[Benchmark]":
    """Returns programs of the corpus, those of each family far apart and small ones first.

    Args:
        corpus_set: Set of the corpus. Of a set other than ``speed`` these are training programs of
            families that no held-out program of ``speed`` is of; they become the data set's split
            ``small``.
        split: Split of the set; None takes all.
        patterns: Names or globs, one of which a program must match.
        per_family: Number of programs of each family; None takes all.

    Raises:
        HloError: There is none.
    """
    from hlograph import corpus

    programs = corpus.load("speed") if corpus_set == "speed" else _outside_speed()
    of_set = programs.filter(lambda b: b.set == corpus_set and split in (None, b.split))
    chosen = matching(of_set, patterns, per_family)
    if not chosen:
        raise HloError(f"no program of the set {corpus_set} matches {' '.join(patterns)}")
    before = Counter[str]()
    turns: list[tuple[int, Benchmark]] = []
    for benchmark in sorted(chosen, key=lambda b: (b.op_count, b.name)):
        turns.append((before[benchmark.family], benchmark))
        before[benchmark.family] += 1
    # Sorting is stable: within a turn they stay in the order of their sizes.
    return [benchmark for _, benchmark in sorted(turns, key=lambda turn: turn[0])]


def all_recorded_programs() -> "list[Benchmark]":
    """Returns all programs that may be in the data set, of any set of the corpus."""
    from hlograph import corpus

    return [*corpus.load("speed"), *_outside_speed()]


def _outside_speed() -> "BenchmarkSet":
    """Returns training programs of families that no held-out program of the speed set is of."""
    from hlograph import corpus

    held_out = {benchmark.family for benchmark in corpus.load("speed", ("validation", "test"))}
    return corpus.load(split="train").filter(lambda b: b.family not in held_out)
