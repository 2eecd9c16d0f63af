"""Packing of recordings as the data set of ``hlograph.corpus.plan_times``, with its datasheet."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.cost_model.plan_times.datasheet import Facts, SplitCounts, datasheet
from experiments.cost_model.plan_times.recording import Recording, file_of, read
from experiments.evaluate.run_folder import published_provenance
from hlograph.corpus import plan_times
from hlograph.corpus.json_lines import save_splits
from hlograph.corpus.plan_times import PlanTime, RunKernel, renumbered
from hlograph.errors import HloError
from hlograph.profiling.kernel_categories import OUTSIDE
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from hlograph.corpus import Benchmark

# Digits of numbers, which are noisier than that.
_DIGITS = 4


def pack(
    folder: Path, benchmarks: "Iterable[Benchmark]", out: Path, extends: Path | None = None
) -> Facts:
    """Writes the recordings of a run as a data set, with its datasheet.

    Args:
        folder: Folder of the run.
        benchmarks: The programs whose recordings are packed.
        out: Folder of the data set.
        extends: Folder of an earlier data set of the same machine, whose plans are kept; those that
            the run compiled to the same kernels, with the same flags, are left out.

    Returns:
        Numbers of the data set.

    Raises:
        HloError: There are no recordings, or the earlier data set is of another machine.
    """
    made = _made(folder, extends)
    earlier = plan_times.load(folder=extends) if extends else plan_times.PlanTimes([], [])
    before = earlier.by_program()
    kernels: dict[str, int] = {}
    rows: dict[str, list[PlanTime]] = {split: [] for split in plan_times.SPLITS}
    families: dict[str, set[str]] = {split: set() for split in rows}
    for benchmark in benchmarks:
        recordings = read(file_of(folder, benchmark.name))
        plans = [_packed(benchmark.name, recording, kernels) for recording in recordings]
        plans += _new(before.get(benchmark.name, ()), earlier.kernels, plans, kernels)
        split = benchmark.split if benchmark.set == "speed" else "small"
        rows[split] += plans
        families[split] |= {benchmark.family} if plans else set()
    if not any(rows.values()):
        raise HloError(f"expected recordings in {folder}, found none")
    contents = {split: [plan.to_json() for plan in plans] for split, plans in rows.items()}
    size = save_splits(out, list(kernels), contents)
    facts = Facts(
        {split: _counts(plans, len(families[split])) for split, plans in rows.items()},
        len(kernels),
        size,
        [len(plan.ratios) for plans in rows.values() for plan in plans],
        median(halves_apart(plan.ratios) for plans in rows.values() for plan in plans),
    )
    write_text_atomically(out / "README.md", datasheet(facts, made))
    write_text_atomically(out / "made.json", json.dumps(made, indent=2) + "\n")
    return facts


def _made(folder: Path, extends: Path | None) -> dict[str, Any]:
    """Returns where a run's recordings are from, and below "extends" those that it extends."""
    made = published_provenance(folder)
    if extends is None:
        return made
    before = json.loads((extends / "made.json").read_text())
    if before["machine"] != made["machine"]:
        raise HloError(
            f"expected a data set of the machine {made['machine']}, got one of "
            f"{before['machine']} in {extends}: times of two machines do not mix"
        )
    made["settings"]["extends"] = extends.name
    return made | {"extends": before}


def _code(plan: PlanTime, kernels: Sequence[str]) -> tuple[object, ...]:
    """Returns what distinguishes the code of a program's plans: their kernels and flags."""
    return tuple(sorted(plan.flags.items())), tuple(kernels[k.number] for k in plan.kernels)


def _new(
    plans: Sequence[PlanTime],
    kernels: Sequence[str],
    recorded: Sequence[PlanTime],
    numbers: dict[str, int],
) -> list[PlanTime]:
    """Returns the plans of another data set whose code is new, with kernels as numbered here.

    Args:
        plans: Plans of one program.
        kernels: Kernels of their data set.
        recorded: Plans of the program in this one.
        numbers: Numbers of the kernels of this one; new ones are added.
    """
    texts = list(numbers)
    codes = {_code(plan, texts) for plan in recorded}
    return [_renumbered(p, kernels, numbers) for p in plans if _code(p, kernels) not in codes]


def _renumbered(plan: PlanTime, kernels: Sequence[str], numbers: dict[str, int]) -> PlanTime:
    """Returns a plan of another data set with the numbers of kernels in this one."""
    own = renumbered(plan.kernels, lambda n: numbers.setdefault(kernels[n], len(numbers)))
    return replace(plan, kernels=own)


def _counts(plans: Sequence[PlanTime], families: int) -> SplitCounts:
    timed = sum(kernel.seconds is not None for plan in plans for kernel in plan.kernels)
    return SplitCounts(len({plan.program for plan in plans}), families, len(plans), timed)


def halves_apart(turns: Sequence[float]) -> float:
    """Returns the relative difference of the medians of the two halves of turns."""
    return abs(median(turns[::2]) / median(turns[1::2]) - 1)


def _packed(program: str, recording: Recording, kernels: dict[str, int]) -> PlanTime:
    default, seconds = (median(column) for column in zip(*recording.turns, strict=True))
    timed = {kernel.name: kernel for kernel in recording.kernels}
    outside = timed.get(OUTSIDE)
    return PlanTime(
        program,
        recording.point.values,
        recording.flags,
        ratios=tuple(short(default / plan) for default, plan in recording.turns),
        seconds=short(seconds),
        default_seconds=short(default),
        compile_seconds=short(recording.compile_seconds),
        memory=recording.memory,
        accounted=short(recording.accounted),
        outside_seconds=short(outside.seconds if outside else 0.0),
        kernels=tuple(_run_kernels(recording, kernels)),
    )


def _run_kernels(recording: Recording, kernels: dict[str, int]) -> Iterator[RunKernel]:
    timed = {kernel.name: kernel for kernel in recording.kernels}
    for kernel in kernel_modules(OptimizedModule.from_text(recording.module)):
        number = kernels.setdefault(kernel.text, len(kernels))
        if time := timed.get(kernel.name):
            yield RunKernel(number, short(time.calls), short(time.seconds))
        else:
            yield RunKernel(number, kernel.calls, None)


def short(number: float) -> float:
    """Returns a time with the digits that measurements have."""
    return float(f"{number:.{_DIGITS}g}")
