"""Compares the pipeline xla-cpu with XLA:CPU's own compilation, benchmark by benchmark.

Writes the tables of docs/reference-pipelines.md:

    python -m benchmarks.compare_with_xla
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

import hlograph
from benchmarks.tables import markdown_table, write_parts
from hlograph import corpus
from hlograph.transforms.xla_cpu import before_layout_assignment

PAGE = Path(__file__).parent.parent / "docs" / "reference-pipelines.md"

# XLA:CPU's pass for its own convolution code, which puts transposes around
# convolutions. Only this target needs it, so it is not in the registry.
CONVOLUTIONS = "convolution-canonicalization"

# Passes whose options depend on what XLA:CPU's libraries (oneDNN, XNNPACK) support on the
# machine: XLA:CPU leaves such dots in their types, the registry's passes do not.
LIBRARY_DOTS = ("operand_upcaster", "change-op-data-type", "float-normalization-bf16")

_HEADINGS = (
    *("family", "benchmarks", "equal", "without convolution pass"),
    *("without passes on dots", "not equal"),
)
_SUMMARY = """\
On {equal} of the {total} benchmarks of the corpus, the module after `xla-cpu` has as many
instructions as XLA's own dump right before layout assignment (both are columns of the manifest).
The comparison was then repeated on the other {different}. With `{passes}` disabled in XLA,
{explained} of them are equal: this pass is the whole difference there, and leaving it out makes the
reference `xla-cpu` harder to beat than XLA:CPU itself. With the three passes on dots disabled on
both sides as well, {dots} more are equal.

{rest}"""


class Comparison(NamedTuple):
    """Op counts of one benchmark after `xla-cpu` and in XLA's dump, compared.

    Attributes:
        equal: Both have as many instructions.
        convolutions: The counts differ, and are equal once XLA skips its convolution pass.
        dots: They are equal only once both skip the passes on dots, too.
    """

    equal: bool
    convolutions: bool = False
    dots: bool = False

    @property
    def explained(self) -> bool:
        """True if the counts are equal, or the passes that make the difference are known."""
        return self.equal or self.convolutions or self.dots


def compare(benchmark: corpus.Benchmark) -> Comparison:
    """Compares the pipeline with XLA's own dump on one benchmark."""
    module = benchmark.load()
    ours = module.clone()
    ours.run(hlograph.pipelines["xla-cpu"])
    theirs = before_layout_assignment(module)
    if ours.op_count == theirs.op_count:
        return Comparison(equal=True)
    theirs = before_layout_assignment(module, disabled=[CONVOLUTIONS])
    if ours.op_count == theirs.op_count:
        return Comparison(equal=False, convolutions=True)
    ours = module.clone()
    hlograph.pipelines["xla-cpu"].run(
        lambda entry: entry.name.split(":")[0] not in LIBRARY_DOTS and ours.run(entry)
    )
    theirs = before_layout_assignment(module, disabled=[CONVOLUTIONS, *LIBRARY_DOTS])
    return Comparison(equal=False, dots=ours.op_count == theirs.op_count)


def compare_recorded(benchmark: corpus.Benchmark) -> Comparison:
    """Compares as `compare` does, but compiles nothing if the manifest's counts are equal."""
    if benchmark.op_count_xla_cpu == benchmark.op_count_xla_dump:
        return Comparison(equal=True)
    return compare(benchmark)


def parts(
    by_family: Mapping[str, Sequence[Comparison]], unexplained: Sequence[str]
) -> dict[str, str]:
    """Returns the parts of the page: the pipelines as they are now, and the comparisons.

    Args:
        by_family: Comparisons of all benchmarks, by family.
        unexplained: Names of the benchmarks whose difference is not explained.
    """
    every = [result for results in by_family.values() for result in results]
    equal, convolutions, dots = _sums(every)
    names = ", ".join(f"`{name}`" for name in unexplained)
    summary = _SUMMARY.format(
        equal=equal,
        total=len(every),
        different=len(every) - equal,
        passes=CONVOLUTIONS,
        explained=convolutions,
        dots=dots,
        rest=f"The difference is not explained for {names}."
        if names
        else "All differences are explained.",
    )
    pipelines = "\n\n".join(map(str, hlograph.pipelines.values()))
    families = (_row(family, results) for family, results in by_family.items())
    return {
        "pipelines": f"```text\n{pipelines}\n```",
        "summary": summary,
        "families": markdown_table(_HEADINGS, families),
    }


def main() -> None:
    """Compares all benchmarks and writes the page."""
    benchmarks = corpus.load()
    by_family: dict[str, list[Comparison]] = defaultdict(list)
    unexplained = []
    results = zip(benchmarks, benchmarks.map(compare_recorded), strict=True)
    for benchmark, result in tqdm(results, total=len(benchmarks), unit="module"):
        by_family[benchmark.family].append(result)
        if not result.explained:
            unexplained.append(benchmark.name)
    write_parts(parts(by_family, unexplained), PAGE)
    print(f"{len(unexplained)} of {len(benchmarks)} are not explained: {PAGE}")


def _row(family: str, results: Sequence[Comparison]) -> list[str]:
    equal, convolutions, dots = _sums(results)
    neither = len(results) - equal - convolutions - dots
    return list(map(str, (family, len(results), equal, convolutions, dots, neither)))


def _sums(results: Sequence[Comparison]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


if __name__ == "__main__":
    main()
