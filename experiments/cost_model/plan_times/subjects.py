"""Programs whose plans are recorded."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.evaluate.speed_programs import Split, matching
from hlograph import corpus
from hlograph.corpus.shipped import CorpusSet
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.corpus import Benchmark, BenchmarkSet


def subjects(
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


def all_subjects() -> "list[Benchmark]":
    """Returns all programs that may be in the data set, of any set of the corpus."""
    return [*corpus.load("speed"), *_outside_speed()]


def _outside_speed() -> "BenchmarkSet":
    """Returns training programs of families that no held-out program of the speed set is of."""
    held_out = {benchmark.family for benchmark in corpus.load("speed", ("validation", "test"))}
    return corpus.load(split="train").filter(lambda b: b.family not in held_out)
