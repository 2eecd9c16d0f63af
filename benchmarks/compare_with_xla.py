"""Compares the pipeline xla-cpu with XLA:CPU's own compilation, benchmark by benchmark.

Writes docs/reference-pipelines.md:

    python -m benchmarks.compare_with_xla
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

import hlograph
from hlograph import corpus
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.transforms.xla_cpu import before_layout_assignment

PAGE = Path(__file__).parent.parent / "docs" / "reference-pipelines.md"

# XLA:CPU's pass for its own convolution code, which puts transposes around
# convolutions. Only this target needs it, so it is not in the registry.
CONVOLUTIONS = "convolution-canonicalization"

# Passes whose options depend on what XLA:CPU's libraries (oneDNN, XNNPACK) support on the
# machine: XLA:CPU leaves such dots in their types, the registry's passes do not.
LIBRARY_DOTS = ("operand_upcaster", "change-op-data-type", "float-normalization-bf16")

TEXT = """# Reference pipelines

`hlograph.pipelines["xla-cpu"]` runs the passes that XLA:CPU of the linked version runs before
layout assignment, in the same order, as entries of the registry. XLA's compiler records the order
and the names of its passes; `tests/hlograph/transforms/test_pipelines.py` compares the pipeline
with that record. `hlograph.pipelines["xla-cpu-unexpanded"]` leaves out the expansions that only
this target asks for. `hlograph.pipelines["xla-simplify"]` is a fixed point of inlining,
simplification and common-subexpression elimination.

```text
{pipelines}
```

These passes of XLA:CPU are not in `xla-cpu`:

| pass of XLA:CPU | reason | effect on the corpus |
|---|---|---|
| `convolution-canonicalization` | adds transposes for this target's convolutions | table below |
| `float-normalization` of 8- and 4-bit types | no module of the corpus has these types | none |
| `sub-byte-size-setter` | the same | none |

These are in it with other options: `operand_upcaster`, `change-op-data-type` and
`float-normalization-bf16`. XLA:CPU does not apply them to dots that its libraries (oneDNN, XNNPACK)
support on the machine that it runs on.

## Comparison with XLA's own dump

On {equal} of the {total} benchmarks of the corpus, the module after `xla-cpu` has as many
instructions as XLA's own dump right before layout assignment (both are columns of the manifest).
The comparison was then repeated on the other {different}. With `{convolutions}` disabled in XLA,
{explained} of them are equal: this pass is the whole difference there, and leaving it out makes the
reference `xla-cpu` harder to beat than XLA:CPU itself. With the three passes on dots disabled on
both sides as well, {dots} more are equal.

{rest}

Made by `python -m benchmarks.compare_with_xla`. `python -m pytest
tests/hlograph/transforms/test_pipelines.py` checks a sample, and with `-m slow` all benchmarks. The
columns are: number of benchmarks, equal at once, equal with the convolution pass disabled, equal
with the passes on dots disabled as well, and not equal.

| family | benchmarks | equal | without convolution pass | without passes on dots | not equal |
|---|---|---|---|---|---|
{rows}
"""

UNEXPLAINED = """The difference is not explained for {names}.
In two of them, `pipeline-parallel/mixer-m8-pp8/grad` and
`vgg/keras-short-vgg19-steps/per-example-grad-b2`, XLA:CPU's `tree_reduction_rewriter` does not
split one reduction that the registry's pass splits; the reason is not known."""


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


def page(by_family: Mapping[str, Sequence[Comparison]], unexplained: Sequence[str]) -> str:
    """Returns the page: the pipelines as they are now, and the comparisons.

    Args:
        by_family: Comparisons of all benchmarks, by family.
        unexplained: Names of the benchmarks whose difference is not explained.
    """
    every = [result for results in by_family.values() for result in results]
    equal, convolutions, dots = _sums(every)
    names = ", ".join(f"`{name}`" for name in unexplained)
    return TEXT.format(
        pipelines="\n\n".join(map(str, hlograph.pipelines.values())),
        convolutions=CONVOLUTIONS,
        equal=equal,
        total=len(every),
        explained=convolutions,
        dots=dots,
        different=len(every) - equal,
        rest=UNEXPLAINED.format(names=names) if names else "All differences are explained.",
        rows="\n".join(_row(family, results) for family, results in by_family.items()),
    )


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
    write_text_atomically(PAGE, page(by_family, unexplained))
    print(f"{len(unexplained)} of {len(benchmarks)} are not explained: {PAGE}")


def _row(family: str, results: Sequence[Comparison]) -> str:
    equal, convolutions, dots = _sums(results)
    neither = len(results) - equal - convolutions - dots
    cells = (family, len(results), equal, convolutions, dots, neither)
    return f"| {' | '.join(map(str, cells))} |"


def _sums(results: Sequence[Comparison]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


if __name__ == "__main__":
    main()
