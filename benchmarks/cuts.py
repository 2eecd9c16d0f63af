"""Measures what is lost when a program is tuned in cuts: kernels and loops, each by itself.

    python -m benchmarks.cuts --benchmarks 'swin/*' --out runs/cuts

For each program, the times of its heavy places are taken within the program, by a profile, and as
cuts. Then the decisions that are fastest in the cuts are measured in the whole program, those of
single places and all of them together, beside what is predicted for it.
"""

from __future__ import annotations

import csv
import io
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from benchmarks.machine import machine
from benchmarks.progress import tracked

if TYPE_CHECKING:
    from hlograph.plans import Measured
    from hlograph.programs import Program

PLACES = ("program", "place", "places", "share", "us in the program", "us in the cut", "error")
DECISIONS = (
    *("program", "decision", "share", "in the cut", "predicted", "measured", "low", "high"),
    *("trials", "seconds in cuts", "compile seconds"),
)

_ROUNDS = 3
"""Turns in which the times within the program and as a cut are taken."""


@dataclass(frozen=True)
class CutsConfig:
    """Settings of the measurement."""

    benchmarks: tuple[str, ...] = (
        "conv-lstm/haiku-w16-f8-b1-48px/forward",
        "gpt2/l6-h384-a6/cached-step-b1-s512",
        "hidden-markov/forward-scaled/s128-t1024",
        "swin/keras-hub-w48-d2x2x2-112px/forward-b2",
        "wave/inversion/n128-t60",
    )
    """Names or globs of programs of the speed set."""
    places: int = 12
    """Number of places of each program whose times are compared, the heaviest first."""
    seconds: float = 4.0
    """Most seconds for the measurement of a decision in the whole program."""
    out: Path = Path("runs/cuts")
    """Folder of the tables, places.csv and decisions.csv."""


Row = tuple[object, ...]


def place_rows(name: str, program: Program, number: int) -> Iterator[Row]:
    """Yields a row for each heavy place: its least time, within the program and as a cut."""
    from hlograph.errors import HloError
    from hlograph.measuring.compiled import Shares
    from hlograph.measuring.samples import Samples
    from hlograph.plans import Plan, compile_program
    from hlograph.plans.optimized import optimized_module
    from hlograph.profiling.kernels import measure
    from hlograph.timing.runs import Run
    from hlograph.tuning.cutting.places import HeavyPlaces
    from hlograph.tuning.cutting.region import parsed
    from hlograph.tuning.cutting.timing import CutTimer
    from hlograph.tuning.place_knobs import PlaceKnobs

    executable = compile_program(program)
    run = Run(executable, Samples(program, None, 0).usual[0].inputs, program.donated)
    proto = optimized_module(program)
    found = measure(executable, run.seconds)
    shares = Shares.of_measurement(found).instructions
    places = HeavyPlaces(parsed(proto), PlaceKnobs(proto).decided, shares)
    timer = CutTimer(proto, places, Plan(), lambda alone: nullcontext())
    chosen = places.heavy()[:number]
    within = {one.kind: math.inf for one in chosen}
    alone, errors = dict(within), dict[str, str]()
    # In turns, and the least of each: others on the machine only ever add to a time.
    for _ in range(_ROUNDS):
        found = measure(executable, run.seconds)
        shares = Shares.of_measurement(found).instructions
        calls = {kernel.name: kernel.calls for kernel in found.kernels}
        for kind in within:
            names = places.region(kind)
            parts = (shares.get(n, 0.0) / max(calls.get(n, 1), 1) for n in names)
            within[kind] = min(within[kind], found.seconds * sum(parts))
            try:
                alone[kind] = min(alone[kind], timer.seconds(kind))
            except HloError as failed:
                errors[kind] = str(failed)
    for one in chosen:
        times = (f"{seconds[one.kind] * 1e6:.1f}" for seconds in (within, alone))
        error = errors.get(one.kind, "")
        yield name, _short(one.about), one.places, f"{one.share:.3f}", *times, error


def decision_rows(name: str, program: Program, most_seconds: float) -> Iterator[Row]:
    """Yields a row for the decisions of each place that helped in its cut, and one for all.

    The places that are predicted to save most are measured by themselves.
    """
    from hlograph.measuring.service import Measurer
    from hlograph.measuring.trial import FINAL, Job, Outcome, Trial
    from hlograph.tuning.cutting.searcher import CutSearch
    from hlograph.tuning.knobs import Point
    from hlograph.tuning.space import ProgramSpace

    space = ProgramSpace(program)
    search = CutSearch(space)
    space.heavy_places(Point())  # compiles and profiles the program
    begun = time.monotonic()
    points = list(iter(search.ask, None))
    seconds = time.monotonic() - begun
    trials = sum(one.trials for one in search.tuned.values())
    by_point = {Point.of(one.values): one for one in search.tuned.values() if one.values}
    composed = search.composed()
    chosen = [point for point in points if point in by_point or point == composed]
    plans = [space.plan(point) for point in chosen]
    space.close()
    with Measurer(Job(program), workers=1) as measurer:
        effort = replace(FINAL, max_seconds=most_seconds)
        outcomes: list[Outcome] = list(measurer.measure(Trial(plan, effort) for plan in plans))
    found = {outcome.plan.digest: outcome for outcome in outcomes}
    # The composed point comes last, and may be that of a single place.
    for point, plan in sorted(
        zip(chosen, plans, strict=True), key=lambda pair: pair[0] == composed
    ):
        one, outcome = by_point.get(point), found[plan.digest]
        measured = _texts(outcome.measured)
        cost = trials, f"{seconds:.1f}", f"{outcome.compile_seconds:.2f}"
        if one is not None:
            words = f"{_short(one.place.about)}: {' and '.join(one.values.values())}"
            share, ratio, saved = f"{one.place.share:.3f}", f"{one.time.ratio:.2f}", one.saved
            yield name, words, share, ratio, f"{1 / (1 - saved):.3f}", *measured, *cost
        if point == composed:
            predicted = f"{1 / (1 - search.predicted_saving()):.3f}"
            yield name, "all together", "", "", predicted, *measured, *cost


def _short(about: str) -> str:
    """Returns the opcode and shape of a place, of a loop without its state."""
    return about.partition(" (")[0]


def _texts(measured: Measured | None) -> tuple[str, str, str]:
    if measured is None:
        return "0", "0", "0"
    low, high = f"{measured.low:.3f}", f"{measured.high:.3f}"
    return f"{measured.ratio:.3f}", low, high


def to_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Returns a table as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints the tables and writes them; returns the exit status."""
    prog = "python -m benchmarks.cuts"
    config = tyro.cli(CutsConfig, args=arguments, prog=prog, description=__doc__)
    from experiments.outcomes.speed_programs import chosen_programs
    from hlograph.errors import HloError
    from hlograph.programs import Program
    from hlograph.storage.atomic_write import write_text_atomically

    places: list[Row] = []
    decisions: list[Row] = []
    config.out.mkdir(parents=True, exist_ok=True)
    for benchmark in tracked(list(chosen_programs(None, config.benchmarks, None)), unit="program"):
        program = Program.of(benchmark.load())
        try:
            places += place_rows(benchmark.name, program, config.places)
            decisions += decision_rows(benchmark.name, program, config.seconds)
        except HloError as error:
            print(f"{benchmark.name}: {error}")
        write_text_atomically(config.out / "places.csv", to_csv(PLACES, places))
        write_text_atomically(config.out / "decisions.csv", to_csv(DECISIONS, decisions))
    print(to_csv(PLACES, places))
    print(to_csv(DECISIONS, decisions))
    made = machine()
    print(f"on {made['processor']}, load {made['load']}; written: {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
