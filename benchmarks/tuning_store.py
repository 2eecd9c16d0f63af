"""Measures how much the measurements of tuning take, and how many a second one driver can keep.

    python -m benchmarks.tuning_store ~/.cache/hlograph/measurements
    python -m benchmarks.tuning_store runs/tune --streams 1000

The measurements of a folder are written once more, at most ``--most`` of them, to a folder within
it, with results of races that had as many. Rates are those of the median of short batches, since
other programs may use the machine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.tune.results import RaceResult
    from hlograph.measuring.trial import Outcome

_BATCH = 20  # items


@dataclass(frozen=True)
class StoreConfig:
    """Settings of the measurement."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder with files of measurements, at any depth: of a run, or of hlograph's cache."""
    most: int = 2000
    """Number of measurements, and of results, that are written."""
    streams: int = 0
    """Number of races under way at once, whose reports reach the driver through Ray; 0 leaves this
    out. They are all of one process, which does not measure."""


def measured(config: StoreConfig) -> Iterator[tuple[str, str]]:
    """Yields descriptions and figures.

    Raises:
        HloError: The folder has no measurement of this version.
    """
    from hlograph.optimization.measurements import Measurements

    files = sorted(config.folder.rglob("*.jsonl"))
    lines = [line for path in files for line in path.read_bytes().splitlines() if line]
    races = [Measurements(path.stem, path.parent).read() for path in files]
    outcomes = [outcome for race in races for outcome in race]
    if not outcomes:
        raise HloError(f"expected measurements of this version in {config.folder}; tune a program")
    yield "bytes of a measurement, mean", f"{sum(map(len, lines)) / len(lines):,.0f}"
    yield "measurements of a program, mean", f"{len(lines) / len(files):.1f}"
    repeated = (outcomes * (config.most // len(outcomes) + 1))[: config.most]
    with tempfile.TemporaryDirectory(dir=config.folder) as name:
        folder = Path(name)
        yield from _of_lines(repeated, folder)
        yield from _of_results([_result(race) for race in races], config.most, folder)
    if config.streams:
        rate = _through_ray(repeated, config.streams)
        yield f"reports of {config.streams:,} races that reach the driver per second", rate


def _result(race: Sequence[Outcome]) -> RaceResult:
    """Returns the result of a race with some outcomes."""
    from experiments.tune.curves import Curve
    from experiments.tune.results import RaceResult
    from hlograph.storage.machine import machine

    curve = Curve()
    for number in range(len(race)):
        curve(race[: number + 1], race[number])
    points = tuple(curve.points)
    return RaceResult("", 0, "", "", plans=len(race), seconds=60.0, machine=machine(), curve=points)


def _of_lines(outcomes: Sequence[Outcome], folder: Path) -> Iterator[tuple[str, str]]:
    from hlograph.optimization.measurements import Measurements

    one_file = Measurements("key", folder)
    rate = _rate(outcomes, one_file.add)
    yield "measurements appended to one file per second", f"{rate:,.0f}"
    numbered = list(enumerate(outcomes))
    rate = _rate(numbered, lambda one: Measurements(f"key-{one[0]}", folder / "files").add(one[1]))
    yield "measurements appended to a new file each per second", f"{rate:,.0f}"
    begun = time.process_time()
    number = len(one_file.read())
    yield "measurements read per second", f"{number / (time.process_time() - begun):,.0f}"


def _of_results(
    results: Sequence[RaceResult], number: int, folder: Path
) -> Iterator[tuple[str, str]]:
    from experiments.tune.results import RaceResult, result_file

    names = [f"family/program/{n}" for n in range(number)]
    named = [replace(results[n % len(results)], program=name) for n, name in enumerate(names)]
    rate = _rate(named, lambda one: one.save(folder))
    yield "results written per second", f"{rate:,.0f}"
    rate = _rate(names, lambda name: RaceResult.load(folder, name))
    yield "results read per second", f"{rate:,.0f}"
    sizes = [result_file(folder, name).stat().st_size for name in names]
    yield "bytes of a result, mean", f"{statistics.mean(sizes):,.0f}"


def _through_ray(outcomes: Sequence[Outcome], streams: int) -> str:
    """Returns the rate of reports that are made without measuring, as the driver gets them."""
    from experiments.workers.pools import needing_ray

    with needing_ray():
        from experiments.workers.ray.nodes import NodePool
    with NodePool(iter) as pool:
        while not pool.idle:
            list(pool.reports())
        (node,) = pool.nodes
        for number in range(streams):
            pool.give(node, list(outcomes[number::streams]))
        times: list[float] = []
        while len(times) < len(outcomes):
            times += [time.monotonic() for _ in pool.reports()]
    gaps = [later - earlier for earlier, later in pairwise(times[::_BATCH])]
    return f"{_BATCH / statistics.median(gaps):,.0f}"


def _rate(items: Sequence[Any], work: Callable[[Any], object]) -> float:
    """Returns the items per second that a function works off, in the median batch."""
    seconds = []
    for begin in range(0, len(items), _BATCH):
        begun = time.perf_counter()
        for item in items[begin : begin + _BATCH]:
            work(item)
        seconds.append(time.perf_counter() - begun)
    return _BATCH / statistics.median(seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints the figures as a Markdown table.

    Returns:
        Exit status.
    """
    prog = "python -m benchmarks.tuning_store"
    config = tyro.cli(StoreConfig, args=arguments, prog=prog, description=__doc__)
    print("| what | figure |\n|---|---|")
    for what, figure in measured(config):
        print(f"| {what} | {figure} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
