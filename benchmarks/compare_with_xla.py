"""Holds the pipeline xla-cpu against XLA:CPU's own compilation, benchmark by benchmark.

Writes docs/reference-pipelines.md:

    python -m benchmarks.compare_with_xla
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

import hlograph
from hlograph import corpus
from hlograph.transforms.xla_cpu import before_layout_assignment

PAGE = Path(__file__).parent.parent / "docs" / "reference-pipelines.md"

# XLA:CPU's pass for its own convolution code: it puts transposes around
# convolutions. A pass of one target, so not an entry of the registry.
CONVOLUTIONS = "convolution-canonicalization"

# Passes whose options XLA:CPU derives from what its libraries (oneDNN, XNNPACK)
# take on the machine: it leaves such dots in their types, the registry's do not.
LIBRARY_DOTS = ("operand_upcaster", "change-op-data-type", "float-normalization-bf16")

TEXT = """# Reference pipelines

`hlograph.pipelines["xla-cpu"]` runs, over the entries of the registry, what XLA:CPU of the linked
version runs before layout assignment, in its order: the order and the names are those that XLA's
compiler records of itself, and `tests/hlograph/transforms/test_pipelines.py` compares them.
`hlograph.pipelines["xla-simplify"]` is a fixed point of inlining, simplification and cse.

```
{pipelines}
```

Left out of `xla-cpu`, and why:

| pass of XLA:CPU | why it is not in the pipeline | effect on the corpus |
|---|---|---|
| `convolution-canonicalization` | of that target: transposes for convolutions | table below |
| `float-normalization` of 8- and 4-bit types | no module of the corpus has them | none |
| `sub-byte-size-setter` | the same | none |

In it with other options: `operand_upcaster`, `change-op-data-type` and `float-normalization-bf16`,
which XLA:CPU keeps from dots that its libraries (oneDNN, XNNPACK) take as they are on the machine
that it runs on.

## Held against XLA's own dump

On {equal} of the {total} benchmarks of the corpus the module after `xla-cpu` has as many
instructions as XLA's own dump right before layout assignment (columns of the manifest).
Once XLA skips `{convolutions}`, {explained} of the other {different} are equal, so
that pass is the whole difference there: leaving it out makes the reference `xla-cpu` harder to beat
than what XLA:CPU does. Once both skip the three passes on dots, too, {dots} more are equal.

{rest}

Made by `python -m benchmarks.compare_with_xla`; a sample is checked by
`python -m pytest tests/hlograph/transforms/test_pipelines.py`, and all of it with `-m slow`.

| family | benchmarks | equal | but for convolutions | but for dots | neither |
|---|---|---|---|---|---|
{rows}
"""

UNEXPLAINED = """Not explained: {names}.
In the two looked into, `pipeline-parallel/mixer-m8-pp8/grad` and
`vgg/keras-short-vgg19-steps/per-example-grad-b2`, XLA:CPU's `tree_reduction_rewriter` leaves one
reduction whole that the registry's splits; why is not known."""


class Comparison(NamedTuple):
    """One benchmark after `xla-cpu` and in XLA's dump.

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
        """Whether the counts are equal, or it is known why not."""
        return self.equal or self.convolutions or self.dots


def compare(benchmark: corpus.Benchmark) -> Comparison:
    """Holds the pipeline against XLA's own dump on one benchmark."""
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
    """As `compare`, but compiles nothing where the counts of the manifest are equal."""
    if benchmark.op_count_xla_cpu == benchmark.op_count_xla_dump:
        return Comparison(equal=True)
    return compare(benchmark)


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
    every = [result for results in by_family.values() for result in results]
    equal, convolutions, dots = _sums(every)
    names = ", ".join(f"`{name}`" for name in unexplained)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(
        TEXT.format(
            pipelines="\n\n".join(map(str, hlograph.pipelines.values())),
            convolutions=CONVOLUTIONS,
            equal=equal,
            total=len(every),
            explained=convolutions,
            dots=dots,
            different=len(every) - equal,
            rest=UNEXPLAINED.format(names=names) if names else "All are explained.",
            rows="\n".join(_row(family, results) for family, results in by_family.items()),
        ),
        encoding="utf-8",
    )
    print(f"{equal} of {len(every)} equal, {len(unexplained)} not explained: {PAGE}")


def _row(family: str, results: list[Comparison]) -> str:
    equal, convolutions, dots = _sums(results)
    neither = len(results) - equal - convolutions - dots
    cells = (family, len(results), equal, convolutions, dots, neither)
    return f"| {' | '.join(map(str, cells))} |"


def _sums(results: list[Comparison]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


if __name__ == "__main__":
    main()
