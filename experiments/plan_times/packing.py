"""Packing of recordings as the data set that ``hlograph.corpus.plan_times`` loads."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from experiments.plan_times.datasheet import Facts, SplitCounts, datasheet
from experiments.plan_times.recording import Recording, file_of, read
from hlograph.corpus.plan_times import PlanTime, RunKernel, dump
from hlograph.errors import HloError
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kinds import OUTSIDE
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

if TYPE_CHECKING:
    from hlograph.corpus import Benchmark

_COMMAND = "python -m experiments.plan_times --plans 40 --out runs/times --pack runs/packed"

# Digits of numbers, which are noisier than that.
_DIGITS = 4


def pack(folder: Path, benchmarks: "Iterable[Benchmark]", out: Path) -> Facts:
    """Writes the recordings of a run as a data set, with its datasheet.

    Args:
        folder: Folder of the run.
        benchmarks: The programs whose recordings are packed.
        out: Folder of the data set.

    Returns:
        Numbers of the data set.

    Raises:
        HloError: There are no recordings.
    """
    kernels: dict[str, int] = {}
    rows: dict[str, list[PlanTime]] = {"train": [], "validation": [], "test": []}
    families: dict[str, set[str]] = {split: set() for split in rows}
    for benchmark in benchmarks:
        found = [
            _packed(benchmark.name, one, kernels) for one in read(file_of(folder, benchmark.name))
        ]
        rows[benchmark.split] += found
        families[benchmark.split] |= {benchmark.family} if found else set()
    if not any(rows.values()):
        raise HloError(f"expected recordings in {folder}, found none")
    out.mkdir(parents=True, exist_ok=True)
    files = {"kernels": dump(list(kernels))}
    files |= {split: dump([plan.to_json() for plan in plans]) for split, plans in rows.items()}
    for name, content in files.items():
        write_bytes_atomically(out / f"{name}.jsonl.zst", content)
    facts = Facts(
        {split: _counts(plans, len(families[split])) for split, plans in rows.items()},
        len(kernels),
        sum(map(len, files.values())),
        [len(plan.ratios) for plans in rows.values() for plan in plans],
        median(_noise(plan) for plans in rows.values() for plan in plans),
    )
    write_text_atomically(out / "README.md", datasheet(facts, _COMMAND))
    # Where the run was on the machine is nobody's business.
    made = (folder / "made.json").read_text().replace(str(folder), folder.name)
    write_text_atomically(out / "made.json", made)
    return facts


def _counts(plans: Sequence[PlanTime], families: int) -> SplitCounts:
    timed = sum(kernel.seconds is not None for plan in plans for kernel in plan.kernels)
    return SplitCounts(len({plan.program for plan in plans}), families, len(plans), timed)


def _noise(plan: PlanTime) -> float:
    """Returns the relative difference of the medians of the two halves of the turns."""
    return abs(median(plan.ratios[::2]) / median(plan.ratios[1::2]) - 1)


def _packed(program: str, recording: Recording, kernels: dict[str, int]) -> PlanTime:
    default, seconds = (median(column) for column in zip(*recording.turns, strict=True))
    timed = {kernel.name: kernel for kernel in recording.kernels}
    outside = timed.get(OUTSIDE)
    return PlanTime(
        program,
        recording.point.values,
        recording.flags,
        ratios=tuple(_short(one / other) for one, other in recording.turns),
        seconds=_short(seconds),
        default_seconds=_short(default),
        compile_seconds=_short(recording.compile_seconds),
        memory=recording.memory,
        accounted=_short(recording.accounted),
        outside_seconds=_short(outside.seconds if outside else 0.0),
        kernels=tuple(_run_kernels(recording, kernels)),
    )


def _run_kernels(recording: Recording, kernels: dict[str, int]) -> Iterator[RunKernel]:
    timed = {kernel.name: kernel for kernel in recording.kernels}
    for kernel in kernel_modules(OptimizedModule.from_text(recording.module)):
        number = kernels.setdefault(kernel.text, len(kernels))
        if found := timed.get(kernel.name):
            yield RunKernel(number, _short(found.calls), _short(found.seconds))
        else:
            yield RunKernel(number, kernel.calls, None)


def _short(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
