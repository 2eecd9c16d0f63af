"""Builds the corpus: `python datasets/build_corpus.py`.

Every file in `sources/` is run in a process of its own, with a time limit. Graphs whose recipe and
library version are those of the manifest are kept as they are; `--force` makes them again.
`--manifest-only` makes nothing and measures the files that are there, for a changed engine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasheet import update_datasheet
from manifest import (
    MANIFEST,
    ROOT,
    Omission,
    Row,
    read_manifest,
    read_omissions,
    split_of,
    write_manifest,
    write_omissions,
)
from tqdm import tqdm

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "jax",
    "PYTHONHASHSEED": "0",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "USE_TF": "0",
    "USE_TORCH": "0",
}
"""Keeps sources deterministic and offline, and keeps transformers from importing TensorFlow."""


class SourceRun:
    """One source, run to its end.

    A process that dies in the middle of a graph (XLA's checks abort) is started again without that
    graph, as long as the time limit of the source allows.
    """

    def __init__(
        self, source: str, known: dict[str, list[str]], options: argparse.Namespace
    ) -> None:
        self.source = source
        self.names: list[str] | None = None
        self.rows: list[Row] = []
        self.omissions: list[Omission] = []
        self.error: str | None = None
        self._known = known
        self._options = options
        self._finished: set[str] = set()
        self._current: str | None = None
        self._done = False

    def events(self) -> Iterator[str]:
        """Runs the source; yields the name of each graph as it is finished."""
        timed_out = threading.Event()
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "log"
            process: subprocess.Popen[str] | None = None

            def stop() -> None:
                timed_out.set()
                if process is not None:
                    process.kill()

            timer = threading.Timer(self._options.time_limit, stop)
            timer.start()
            try:
                while not self._done and self.error is None:
                    process = self._start(log, scratch)
                    if timed_out.is_set():
                        process.kill()
                    yield from self._follow(process)
                    process.wait()
                    yield from self._bury(process.returncode, timed_out.is_set(), log)
            finally:
                timer.cancel()
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()

    def _start(self, log: Path, scratch: str) -> subprocess.Popen[str]:
        """Starts the source's process and sends the request."""
        with log.open("a", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, str(ROOT / "lower_source.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if self._options.verbose else errors,
                text=True,
                env={**os.environ, **ENVIRONMENT, "KERAS_HOME": scratch},
            )
        request = {
            "source": self.source,
            "families": self._options.only,
            "known": self._known,
            "skip": sorted(self._finished),
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.close()
        return process

    def _follow(self, process: subprocess.Popen[str]) -> Iterator[str]:
        """Takes in the events of a process until it closes its output."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                event: dict[str, Any] = json.loads(line)
                kind = event.pop("event")
                if kind == "names":
                    self.names = event["names"]
                elif kind == "start":
                    self._current = event["name"]
                elif kind == "done":
                    self._done = True
                else:
                    if kind == "made":
                        self.rows.append(Row(*event["row"]))
                    elif kind == "failed":
                        self.omissions.append(Omission(event["name"], event["reason"]))
                    yield self._finish()

    def _bury(self, status: int, timed_out: bool, log: Path) -> Iterator[str]:
        """Settles what a process left behind that ended without saying that it was done."""
        if self._done:
            return
        lines = (
            log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
        )
        last = next((line for line in reversed(lines) if line.strip()), "no message")
        reason = "time limit" if timed_out else f"the process ended with {status}: {last[:300]}"
        if timed_out or self._current is None:
            self.error = reason
        if self._current is not None:
            self.omissions.append(Omission(self._current, reason))
            yield self._finish()

    def _finish(self) -> str:
        """Notes that the current graph needs no more attention, and returns its name."""
        name, self._current = self._current, None
        assert name is not None
        self._finished.add(name)
        return name


def main() -> int:
    """Builds the corpus; the exit status says whether every source ran to its end."""
    options = parse_arguments()
    if options.manifest_only:
        return remeasure()
    rows = {row.name: row for row in read_manifest()}
    known = {
        name: [row.recipe, row.library_version]
        for name, row in rows.items()
        if not options.force and (ROOT / row.path).exists()
    }
    runs = run_sources(options, known)
    omissions = merge(rows, runs, options.only, complete=options.source == sources())
    write_manifest(rows.values())
    write_omissions(omissions)
    update_datasheet()
    return summarise(rows, runs, omissions)


def parse_arguments() -> argparse.Namespace:
    """Returns the command line's options."""
    parser = argparse.ArgumentParser(description="Build the HLO corpus under datasets/.")
    parser.add_argument("--only", nargs="+", default=[], metavar="FAMILY", help="families to build")
    parser.add_argument(
        "--source", nargs="+", default=sources(), choices=sources(), help="sources to run"
    )
    parser.add_argument("--force", action="store_true", help="make graphs again that are there")
    parser.add_argument(
        "--time-limit", type=float, default=900, metavar="SECONDS", help="for one source"
    )
    parser.add_argument(
        "--manifest-only",
        action="store_true",
        help="measure the modules that are there again (op count, fingerprint, split), make none",
    )
    parser.add_argument("--verbose", action="store_true", help="show what the sources print")
    return parser.parse_args()


def remeasure() -> int:
    """Brings op counts, fingerprints and splits of the manifest in line with the files."""
    from hlograph.module import Module  # The engine alone; no library that lowers is needed here.

    old = read_manifest()
    rows: dict[str, Row] = {}
    for row in tqdm(old, unit="graph", disable=None):
        module = Module.load(ROOT / row.path)
        measured = {"op_count": module.op_count, "fingerprint": module.fingerprint()}
        rows[row.name] = row._replace(**measured, split=split_of(row.family))
    repeated = duplicates(rows)
    write_manifest(rows.values())
    update_datasheet()
    changed = sum(row != rows[row.name] for row in old)
    print(f"{len(rows)} graphs measured, {changed} rows changed")
    for name, original in repeated.items():
        print(f"  {name} is the same graph as {original}")
    return 1 if repeated else 0


def sources() -> list[str]:
    """Returns the names of all sources."""
    return sorted(path.stem for path in (ROOT / "sources").glob("*.py"))


def run_sources(options: argparse.Namespace, known: dict[str, list[str]]) -> list[SourceRun]:
    """Runs the sources one after another, with a progress bar over their graphs."""
    runs = [SourceRun(source, known, options) for source in options.source]
    with tqdm(total=0, unit="graph", disable=None) as progress:
        for run in runs:
            progress.set_description(run.source)
            counted = False
            for name in run.events():
                if not counted and run.names is not None:
                    progress.total += len(run.names)
                    counted = True
                progress.set_postfix_str(name, refresh=False)
                progress.update()
            if run.error:
                progress.write(f"{run.source}: {run.error}", file=sys.stderr)
    return runs


def merge(
    rows: dict[str, Row], runs: list[SourceRun], families: list[str], *, complete: bool
) -> list[Omission]:
    """Brings the manifest's rows up to date with what the sources made.

    Args:
        rows: Rows by name; changed in place.
        runs: The sources' results.
        families: Families that were built; none means all.
        complete: Every source was run, so that what no source offers any more can go.

    Returns:
        Everything that was left out, from now or from before.
    """
    offered = {name for run in runs for name in run.names or []}
    omissions = {old.name: old for old in read_omissions() if old.name not in offered}
    for run in runs:
        for row in run.rows:
            rows[row.name] = row
        for omission in run.omissions:
            omissions[omission.name] = omission
            remove(rows, omission.name)
    if complete and all(run.names is not None for run in runs):
        for name in [name for name in rows if name not in offered]:
            if not families or rows[name].family in families:
                remove(rows, name)
        omissions = {name: omission for name, omission in omissions.items() if name in offered}
    for name, original in duplicates(rows).items():
        omissions[name] = Omission(name, f"the same graph as {original}")
        remove(rows, name)
    return list(omissions.values())


def duplicates(rows: dict[str, Row]) -> dict[str, str]:
    """Returns the names of graphs that repeat another one, with the first name of that graph."""
    first: dict[str, str] = {}
    for name in sorted(rows):
        first.setdefault(rows[name].fingerprint, name)
    originals = {name: first[row.fingerprint] for name, row in rows.items()}
    return {name: original for name, original in originals.items() if name != original}


def remove(rows: dict[str, Row], name: str) -> None:
    """Takes a benchmark out of the rows, and its file from the disk."""
    if name in rows:
        (ROOT / rows.pop(name).path).unlink(missing_ok=True)


def summarise(rows: dict[str, Row], runs: list[SourceRun], omissions: list[Omission]) -> int:
    """Prints what was done and returns the exit status."""
    made = sum(len(run.rows) for run in runs)
    print(f"{made} graphs made, {len(rows)} in {MANIFEST.name}, {len(omissions)} left out")
    for omission in sorted(omissions):
        print(f"  left out: {omission.name}: {omission.reason}")
    failed = [run for run in runs if run.error]
    for run in failed:
        print(f"  source {run.source} did not finish: {run.error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
