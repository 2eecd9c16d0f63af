"""Holds the pipeline xla-cpu against XLA:CPU's own compilation, benchmark by benchmark.

Writes docs/reference-pipelines.md:

    python -m benchmarks.compare_with_xla
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tqdm import tqdm

import hlograph
from hlograph import Module, corpus

PAGE = Path(__file__).parent.parent / "docs" / "reference-pipelines.md"

# XLA:CPU's pass for its own convolution code: it puts transposes around
# convolutions. A pass of one target, so not an entry of the registry.
CONVOLUTIONS = "convolution-canonicalization"

TEXT = """# Reference pipelines

`hlograph.pipelines["xla-cpu"]` runs, over the entries of the registry, what XLA:CPU of the linked
version runs before layout assignment, in its order: the order and the names are those that XLA's
compiler records of itself, and `tests/hlograph/test_reference_pipelines.py` compares the two lists.
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

## Held against XLA's own dump

On {equal} of the {total} benchmarks of the corpus the module after `xla-cpu` has as many
instructions as XLA's own dump right before layout assignment; on {same} it has its fingerprint.
The other {different} hold convolutions. With `{convolutions}` disabled inside XLA, the counts of
{explained} of them are equal, so that pass is the whole difference: leaving it out
makes the reference `xla-cpu` harder to beat than what XLA:CPU does on all of them.

Made by `python -m benchmarks.compare_with_xla`; checked by
`python -m pytest tests/hlograph/test_reference_pipelines.py`.

| benchmark | start | `xla-cpu` | XLA's own dump | XLA's own, without {convolutions} |
|---|---|---|---|---|
{rows}
"""


def before_layout_assignment(module: Module, disabled: list[str]) -> Module:
    """Returns XLA's own dump of a module right before layout assignment.

    Args:
        module: The module to compile; unchanged.
        disabled: Names of passes for XLA to skip.
    """
    with tempfile.TemporaryDirectory() as folder:
        module._native.dump_cpu_passes(folder, disabled)
        dumps = sorted(Path(folder).glob("*.txt"))
        number = next(i for i, path in enumerate(dumps) if "after_layout-assignment" in path.name)
        return Module.load(dumps[number - 1])


def main() -> None:
    """Compares all benchmarks and writes the page."""
    rows = []
    equal = same = explained = 0
    benchmarks = corpus.benchmarks()
    for benchmark in tqdm(benchmarks, unit="module"):
        module = benchmark.load()
        ours = module.clone()
        ours.run(hlograph.pipelines["xla-cpu"])
        theirs = before_layout_assignment(module, [])
        same += ours.fingerprint() == theirs.fingerprint()
        if ours.op_count == theirs.op_count:
            equal += 1
            continue
        without = before_layout_assignment(module, [CONVOLUTIONS])
        explained += without.op_count == ours.op_count
        rows.append(
            f"| {benchmark.name} | {benchmark.op_count} | {ours.op_count} | {theirs.op_count} "
            f"| {without.op_count} |"
        )
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(
        TEXT.format(
            pipelines="\n\n".join(map(str, hlograph.pipelines.values())),
            convolutions=CONVOLUTIONS,
            equal=equal,
            same=same,
            total=len(benchmarks),
            different=len(rows),
            explained=explained,
            rows="\n".join(rows),
        ),
        encoding="utf-8",
    )
    print(f"{equal} of {len(benchmarks)} equal, {len(rows)} differ, {explained} explained: {PAGE}")


if __name__ == "__main__":
    main()
