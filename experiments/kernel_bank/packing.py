"""Packing of recordings as the data set of ``hlograph.corpus.kernel_times``, with its datasheet."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from experiments.cost_model.plan_times.packing import halves_apart, short
from experiments.evaluate.run_folder import published_provenance
from experiments.kernel_bank.collecting import recordings
from experiments.kernel_bank.origins import unconfigured
from hlograph.corpus import kernel_times
from hlograph.corpus.json_lines import save_splits
from hlograph.corpus.kernel_times import KernelVariant, MeasuredKernel
from hlograph.corpus.plan_times import RunKernel
from hlograph.errors import HloError
from hlograph.profiling.kernel_modules import is_kernel_text
from hlograph.storage.atomic_write import write_text_atomically

_TEXT = """\
# Kernel times

Run times of {measured:,} kernels of XLA:CPU, each compiled by jaxlib's default and with decisions
that apply to it alone: {variants:,} variants. For learned cost models. The form of this datasheet
is that of Gebru et al. 2021 ("Datasheets for datasets").

| split | kernels | families | variants | changed | machines and instruction sets |
| --- | --- | --- | --- | --- | --- |
{splits}

{texts:,} distinct kernels came of them; {bytes:.1f} MB.{both}

```python
from hlograph.corpus import kernel_times

times = kernel_times.load("train")
kernel = times.measured[0]
default, *others = kernel.variants
for variant in others:
    print(variant.decisions, f"{{default.seconds / variant.seconds:.2f}} times as fast")
```

## Composition

- `train.jsonl.zst`, `validation.jsonl.zst`, `test.jsonl.zst`: a line for each kernel, with the
  fields of `hlograph.corpus.kernel_times.MeasuredKernel`, its variants in columns. No two splits
  have a family of programs in common. All families are those of training programs of the set
  `speed` and of other sets; no kernel is one of a held-out program of `speed`, nor became one,
  and none for training became one of the kernels for validation or of the test. Where jaxlib makes
  several of one, the longest counts.
- `kernels.jsonl.zst`: the text of each distinct kernel that jaxlib made, as in the data set of plan
  times ([its datasheet](../plan_times/README.md)).
- Kernels are those of the data set of plan times that are predicted to run from 2 µs to 50 ms, as
  they are and with other sizes, element types and layouts. They are taken apart and optimized
  again, so that what jaxlib made of one is what it makes of a program of that size.
- A decision is a value of a knob of plans: a rule of form or of a native kernel, a library,
  partitions, fusing or taking apart, one kernel for a loop, a layout, a flag. Those with the same
  final module and machine code as an earlier one of the kernel were left out.

## Collection

```sh
{commands}
```

The variants of a kernel were timed in turns in one process that keeps freed memory, with as many
threads as the machine has cores: in each of {turns} turns some warm runs, of which the median
counts, and in the first {colds} one run after the caches were filled with other data. A time is
that from the begin of a variant's first step to the end of its last one, by XLA's profiler, which
adds about a tenth of a microsecond to each step. In the median, the two halves of a variant's turns
differ by {noise:.1%}; {busy:.1%} of the kernels were timed beside a load of more than a tenth.

## Limits

- Kernels alone, with random operands: within a program their operands may be elsewhere.
- Outputs were not compared.
- Compare times of one machine and instruction set only.

Licences are those of the programs, [listed with the corpus](../README.md#licences).
"""
_LOADED = 0.1


@dataclass(frozen=True)
class Packed:
    """Describes a data set.

    Attributes:
        by_split: The kernels of each split.
        texts: Number of distinct kernels that jaxlib made.
        bytes: Size of the files.
    """

    by_split: Mapping[str, Sequence[MeasuredKernel]]
    texts: int
    bytes: int

    @property
    def measured(self) -> list[MeasuredKernel]:
        """The kernels of all splits."""
        return [kernel for kernels in self.by_split.values() for kernel in kernels]


def pack(folders: Iterable[Path], out: Path) -> Packed:
    """Writes the recordings of runs as a data set, with its datasheet.

    Args:
        folders: Folders of the runs.
        out: Folder of the data set.

    Raises:
        HloError: There are no recordings.
    """
    numbers: dict[str, int] = {}
    by_split: dict[str, list[MeasuredKernel]] = {split: [] for split in kernel_times.SPLITS}
    made, known = [], set[tuple[object, ...]]()
    for folder in folders:
        made.append(published_provenance(folder))
        for line in recordings(folder):
            key = tuple(line.get(name) for name in ("origin", "draw", "seed", "machine"))
            if "variants" in line and key not in known:
                known.add(key)
                by_split[line["split"]].append(_measured(line, numbers))
    if not known:
        raise HloError("expected recordings of kernels, found none")
    texts = list(numbers)
    by_split = _apart(by_split, [unconfigured(text) for text in texts])
    used: dict[int, int] = {}
    by_split = {
        split: [k.renumbered(lambda n: used.setdefault(n, len(used))) for k in kernels]
        for split, kernels in by_split.items()
    }
    if not used:
        raise HloError("expected kernels that are apart from those of other splits, found none")
    contents = {split: [k.to_json() for k in kernels] for split, kernels in by_split.items()}
    packed = Packed(by_split, len(used), save_splits(out, [texts[n] for n in used], contents))
    commands = [_command(start) for m in made for start in (*m.get("before", []), m)]
    write_text_atomically(out / "README.md", datasheet(packed, commands))
    write_text_atomically(out / "made.json", json.dumps(made, indent=2) + "\n")
    return packed


def _command(made: Mapping[str, Any]) -> str:
    """Returns the command of a recording, with the flags of XLA that it ran under."""
    flags = made.get("machine", {}).get("xla_flags", "")
    return f"XLA_FLAGS={shlex.quote(flags)} {made['command']}" if flags else made["command"]


def _apart(
    by_split: Mapping[str, Sequence[MeasuredKernel]], texts: Sequence[str]
) -> dict[str, list[MeasuredKernel]]:
    """Returns the kernels of each split without what a split that is held out further has, too.

    Of the kernels that jaxlib makes of one, the longest counts: all have brief ones in common.

    Args:
        by_split: The kernels of each split.
        texts: Texts of what jaxlib made, without what plans decide about them.
    """
    apart: dict[str, list[MeasuredKernel]] = {}
    held_out: set[str] = set()
    for split in reversed(kernel_times.SPLITS):
        kept = [kernel for each in by_split[split] if (kernel := _without(each, held_out, texts))]
        apart[split] = kept
        longest = {texts[v.longest.number] for each in kept for v in each.variants}
        held_out |= {text for text in longest if is_kernel_text(text)}
    return {split: apart[split] for split in by_split}


def _without(
    kernel: MeasuredKernel, held_out: Set[str], texts: Sequence[str]
) -> MeasuredKernel | None:
    """Returns a kernel without its variants that became held-out ones; None if its default did."""
    kept = tuple(v for v in kernel.variants if texts[v.longest.number] not in held_out)
    if kept[:1] != kernel.variants[:1]:
        return None
    return replace(kernel, variants=kept)


def _measured(line: Mapping[str, Any], numbers: dict[str, int]) -> MeasuredKernel:
    return MeasuredKernel(
        line["origin"],
        line["family"],
        line["change"],
        line["machine"],
        line["isa"],
        short(line["load"]),
        tuple(
            KernelVariant(
                variant["decisions"],
                variant["flags"],
                tuple(map(short, variant["warm"])),
                tuple(map(short, variant["cold"])),
                short(variant["compile_seconds"]),
                tuple(
                    RunKernel(
                        numbers.setdefault(text, len(numbers)),
                        short(calls),
                        None if seconds is None else short(seconds),
                    )
                    for text, calls, seconds in variant["kernels"]
                ),
            )
            for variant in line["variants"]
        ),
    )


def datasheet(packed: Packed, commands: Sequence[str]) -> str:
    """Returns the datasheet as Markdown.

    Args:
        packed: The data set.
        commands: Commands that recorded it.
    """
    variants = [variant for kernel in packed.measured for variant in kernel.variants]
    return _TEXT.format(
        measured=len(packed.measured),
        variants=len(variants),
        splits="\n".join(_row(split, kernels) for split, kernels in packed.by_split.items()),
        texts=packed.texts,
        bytes=packed.bytes / 1e6,
        commands="\n".join(commands),
        turns=max(len(variant.warm) for variant in variants),
        colds=max(len(variant.cold) for variant in variants),
        noise=median(halves_apart(variant.warm) for variant in variants),
        both=_both_sets(packed.measured),
        busy=sum(kernel.load > _LOADED for kernel in packed.measured) / len(packed.measured),
    )


def _both_sets(kernels: Sequence[MeasuredKernel]) -> str:
    """Returns how kernels compare that were timed with AVX2 and with AVX-512; empty if none was."""
    narrow, wide = (
        {
            (kernel.origin, json.dumps(kernel.change, sort_keys=True)): kernel.variants[0].seconds
            for kernel in kernels
            if kernel.isa == isa
        }
        for isa in ("avx2", "avx512")
    )
    ratios = [narrow[key] / wide[key] for key in narrow.keys() & wide.keys()]
    if not ratios:
        return ""
    low, middle, high = np.percentile(ratios, (5, 50, 95))
    return (
        f" {len(ratios):,} kernels were timed with AVX2 and with\nAVX-512, and with AVX2 they take "
        f"{middle:.2f} times as long (the middle 90 %: {low:.2f} to {high:.2f})."
    )


def _row(split: str, kernels: Sequence[MeasuredKernel]) -> str:
    families = {kernel.family for kernel in kernels}
    changed = sum(bool(kernel.change) for kernel in kernels)
    variants = sum(len(kernel.variants) for kernel in kernels)
    machines = Counter(f"{kernel.machine} ({kernel.isa})" for kernel in kernels)
    listed = ", ".join(f"{name}: {count:,}" for name, count in sorted(machines.items()))
    return (
        f"| {split} | {len(kernels):,} | {len(families)} | {variants:,} | {changed:,} | {listed} |"
    )
