"""Small programs of the corpus, one of each family."""

from collections.abc import Collection

from hlograph import corpus


def small_programs(count: int, without: Collection[str] = ()) -> list[corpus.Benchmark]:
    """Returns the smallest of the smallest train modules of all families.

    Args:
        count: How many.
        without: Families to leave out.
    """
    by_family: dict[str, corpus.Benchmark] = {}
    for benchmark in sorted(corpus.load(split="train"), key=lambda b: (b.op_count, b.name)):
        if benchmark.family not in without:
            by_family.setdefault(benchmark.family, benchmark)
    return sorted(by_family.values(), key=lambda b: b.op_count)[:count]
