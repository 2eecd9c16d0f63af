"""Measures the programs of the set `speed` in jaxlib: `python datasets/speed_times.py`.

Writes `speed/times.csv`: the time of a run with jaxlib's default, the share of each kind of kernel,
memory, and the roofline estimate by this machine's measured peaks. Each program runs in a worker
process, and its row is written as soon as it is there, so a run that was ended goes on where it
was. The machine should do nothing else.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from manifest import ROOT
from tqdm import tqdm

from hlograph import corpus
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool
from hlograph.profiling import KINDS, Peaks, measured_peaks
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.machine import machine
from hlograph.storage.provenance import git_commit

TIMES = ROOT / "speed" / "times.csv"
MADE = ROOT / "speed" / "times.json"
MEASURES = (
    *("ms", "compile_s", "roofline_ms", "headroom", "gflop", "mbyte"),
    *("argument_mb", "output_mb", "temporary_mb", "code_kb", "accounted"),
)
SHARES = tuple(kind.replace(" ", "_") for kind in KINDS)
COLUMNS = ("name", *MEASURES, *SHARES, "error")
_SECONDS, _MEMORY = 600.0, 16 << 30


def main() -> int:
    """Measures what has no row yet, and returns the exit status."""
    arguments = parse_arguments()
    rows = {} if arguments.force else read_times()
    names = [b.name for b in corpus.load("speed", arguments.split) if b.name not in rows]
    peaks = measured_peaks(again=arguments.force)
    limits = WorkerLimits(seconds=_SECONDS, idle_seconds=_SECONDS, memory=_MEMORY)
    # One worker: a program that runs beside another one would be measured with it.
    with WorkerPool(make_worker, 1, limits) as pool:
        found = pool.map((name, peaks) for name in names)
        for number, row in tqdm(found, total=len(names), unit="program", disable=None):
            name = names[number]
            lost = isinstance(row, WorkerLostError)
            rows[name] = {"name": name, "error": str(row)} if lost else row
            write_times(rows.values())
    made = {"machine": machine().to_json(), "peaks": asdict(peaks), "commit": git_commit()}
    write_text_atomically(MADE, json.dumps(made, indent=2) + "\n")
    failed = [name for name, row in rows.items() if row["error"]]
    print(f"{len(rows)} programs in {TIMES}, {len(failed)} without a time: {', '.join(failed)}")
    return 0


def parse_arguments() -> argparse.Namespace:
    """Returns the command line's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--split", choices=("train", "validation", "test"))
    parser.add_argument("--force", action="store_true", help="measure those with a row again")
    return parser.parse_args()


def make_worker(recorder: FlightRecorder) -> Callable[[tuple[str, Peaks]], dict[str, Any]]:
    """Returns the function that measures one program in a worker."""

    def measure(task: tuple[str, Peaks]) -> dict[str, Any]:
        name, peaks = task
        recorder.begin(name.encode())
        try:
            return measured(name, peaks)
        except HloError as error:
            return {"name": name, "error": str(error).splitlines()[0][:200]}
        finally:
            recorder.end()

    return measure


def measured(name: str, peaks: Peaks) -> dict[str, Any]:
    """Returns the row of one program.

    Raises:
        HloError: It does not compile or run.
    """
    import time

    from hlograph.execution import lock
    from hlograph.measuring.samples import Samples
    from hlograph.plans import Program, compile_program
    from hlograph.profiling import profile_program

    program = Program.of(corpus.benchmark(name).load())
    inputs = Samples(program, None, 0).usual[0].inputs
    with lock.alone():
        begun = time.perf_counter()
        compile_program(program)
        compile_seconds = time.perf_counter() - begun
        profile = profile_program(program, inputs, max_seconds=3.0)
    memory, cost, shares = profile.memory, profile.cost, profile.by_kind()
    row = {
        "name": name,
        "ms": 1e3 * profile.seconds,
        "compile_s": compile_seconds,
        "roofline_ms": 1e3 * profile.roofline_seconds(peaks),
        "headroom": profile.headroom(peaks),
        "gflop": cost.flops / 1e9,
        "mbyte": cost.bytes_accessed / 1e6,
        "argument_mb": memory.arguments / 1e6,
        "output_mb": memory.outputs / 1e6,
        "temporary_mb": memory.temporaries / 1e6,
        "code_kb": memory.code / 1e3,
        "accounted": profile.accounted,
        "error": "",
    }
    return row | {kind.replace(" ", "_"): shares.get(kind, 0.0) for kind in KINDS}


def read_times() -> dict[str, dict[str, Any]]:
    """Returns the rows by program; none if they have other columns, or there is no file."""
    if not TIMES.is_file():
        return {}
    rows = list(csv.DictReader(io.StringIO(TIMES.read_text(), newline="")))
    if rows and tuple(rows[0]) != COLUMNS:
        return {}
    return {row["name"]: row for row in rows}


def write_times(rows: Sequence[dict[str, Any]] | Any) -> None:
    """Writes the table, sorted by name."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in sorted(rows, key=lambda row: row["name"]):
        cells = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
        writer.writerow(cells)
    write_text_atomically(TIMES, text.getvalue())


if __name__ == "__main__":
    sys.exit(main())
