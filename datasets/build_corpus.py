"""Builds the corpus: `python datasets/build_corpus.py`.

Every file in `sources/` is run in a process of its own, with a time limit, several side by side.
Graphs whose recipe and library version are those of the manifest are kept as they are; `--force`
makes them again. `--manifest-only` makes nothing and measures the files that are there, for a
changed engine; `--splits-only` assigns sets and splits again, for changed rules. `--set speed`
builds the set of programs of realistic size, whose sources, manifest and modules are in `speed/`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from build_options import parse_arguments
from builds import SMALL, SPEED, Build
from manifest import (
    LEFT_OUT,
    MANIFEST,
    ROOT,
    Omission,
    Row,
    path_of,
    read_manifest,
    read_omissions,
    write_manifest,
    write_omissions,
)
from shipping import read_not_shipped
from source_run import Options, SourceRun
from tqdm import tqdm

SECONDS_BETWEEN_SAVES = 30


def main() -> int:
    """Builds the corpus; the exit status says whether every source ran to its end."""
    arguments = parse_arguments()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        return build_in(folder, arguments)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other build works in a folder: each would remove what the other made."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def build_in(folder: Path, arguments: argparse.Namespace) -> int:
    """Builds in a folder; returns the exit status."""
    build: Build = arguments.build
    old = read_manifest(folder / MANIFEST.name)
    build.assign(old)  # What it refuses is better known before the work than after it.
    runs: list[SourceRun] = []
    rows = {row.name: row for row in old}
    if not arguments.all and build is SMALL:
        for name in read_not_shipped():
            remove(rows, name, folder)
    if arguments.manifest_only:
        rows = remeasured(rows.values(), folder, arguments.jobs, build.smallest)
    elif not arguments.splits_only:
        runs = run_sources(arguments, rows)
    complete = arguments.source == build.sources()
    omissions = save(rows, runs, folder, arguments.only, build, complete=complete)
    sweep(rows, folder)
    if folder == ROOT:
        from datasheet import update_datasheet  # It draws, which nothing else here needs.

        update_datasheet()
    elif folder == SPEED.folder:
        from speed_datasheet import update_section

        update_section()
    return summarise(old, rows, runs, omissions)


def remeasured(old: Iterable[Row], folder: Path, jobs: int, smallest: int) -> dict[str, Row]:
    """Returns rows with their measurements taken again."""
    from measure import measure  # The engine alone; no library that lowers is needed here.

    from hlograph.module import Module

    def again(row: Row) -> Row:
        measured = measure(Module.load(folder / path_of(row.name)), smallest)
        return row._replace(**measured._asdict())

    old = list(old)
    with ThreadPoolExecutor(jobs) as pool:
        rows = tqdm(pool.map(again, old), total=len(old), unit="graph", disable=None)
        return {row.name: row for row in rows}


def run_sources(arguments: argparse.Namespace, rows: dict[str, Row]) -> list[SourceRun]:
    """Runs the sources, several side by side, with a progress bar over their graphs."""
    known = {
        name: [row.recipe, row.version, row.scope]
        for name, row in rows.items()
        if not arguments.force and (arguments.folder / path_of(name)).exists()
    }
    options = Options(
        folder=arguments.folder,
        only=tuple(arguments.only),
        not_shipped=() if arguments.all else tuple(read_not_shipped()),
        set=arguments.set,
        time_limit=arguments.time_limit,
        verbose=arguments.verbose,
    )
    runs = [SourceRun(source, known, options) for source in arguments.source]
    saved, saving = time.monotonic(), threading.Lock()
    with tqdm(total=0, unit="graph", disable=None) as progress:

        def follow(run: SourceRun) -> None:
            nonlocal saved
            counted = False
            for name in run.events():
                with saving:  # A build that is interrupted keeps what it made.
                    if time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                        only, build = arguments.only, arguments.build
                        save(rows, runs, arguments.folder, only, build, complete=False)
                        saved = time.monotonic()
                if not counted and run.names is not None:
                    progress.total += len(run.names)
                    counted = True
                progress.set_postfix_str(name, refresh=False)
                progress.update()
            if run.error:
                progress.write(f"{run.source}: {run.error}", file=sys.stderr)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(follow, runs))
    return runs


def save(
    rows: dict[str, Row],
    runs: list[SourceRun],
    folder: Path,
    families: Iterable[str],
    build: Build,
    *,
    complete: bool,
) -> list[Omission]:
    """Merges what the sources made so far, and writes the manifest and what was left out."""
    omissions = merge(rows, runs, folder, families, complete=complete)
    write_manifest(build.assign(rows.values()), folder / MANIFEST.name)
    write_omissions(omissions, folder / LEFT_OUT.name)
    return omissions


def merge(
    rows: dict[str, Row],
    runs: list[SourceRun],
    folder: Path,
    families: Iterable[str],
    *,
    complete: bool,
) -> list[Omission]:
    """Brings the manifest's rows up to date with what the sources made.

    Args:
        rows: Rows by name; changed in place.
        runs: The sources' results.
        folder: The corpus; files of graphs that go are removed.
        families: Families that were built; none means all.
        complete: Every source was run, so that what no source offers any more can go.

    Returns:
        Everything that was left out, from now or from before.
    """
    offered = {name for run in runs for name in run.names or []}
    before = read_omissions(folder / LEFT_OUT.name)
    omissions = {old.name: old for old in before if old.name not in offered}
    for run in runs:
        for row in list(run.rows):  # It grows meanwhile where another source saves.
            rows[row.name] = row
        for omission in list(run.omissions):
            omissions[omission.name] = omission
            remove(rows, omission.name, folder)
    if runs and complete and all(run.names is not None for run in runs):
        for name in [name for name in rows if name not in offered]:
            if not families or rows[name].family in families:
                remove(rows, name, folder)
        omissions = {
            name: omission
            for name, omission in omissions.items()
            if name in offered or (families and name.split("/")[0] not in families)
        }
    for name, original in duplicates(rows).items():
        omissions[name] = Omission(name, f"the same graph as {original}")
        remove(rows, name, folder)
    return list(omissions.values())


def duplicates(rows: dict[str, Row]) -> dict[str, str]:
    """Returns the names of graphs that repeat another one, with the first name of that graph."""
    first: dict[str, str] = {}
    for name in sorted(rows):
        first.setdefault(rows[name].fingerprint, name)
    originals = {name: first[row.fingerprint] for name, row in rows.items()}
    return {name: original for name, original in originals.items() if name != original}


def remove(rows: dict[str, Row], name: str, folder: Path) -> None:
    """Takes a benchmark out of the rows, and its file from the disk."""
    if rows.pop(name, None):
        (folder / path_of(name)).unlink(missing_ok=True)


def sweep(rows: dict[str, Row], folder: Path) -> None:
    """Removes what interrupted builds left: files that no row names, and empty folders."""
    named = {folder / path_of(name) for name in rows}
    for path in sorted((folder / "hlo").rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in named:
            path.unlink()


def summarise(
    old: list[Row], rows: dict[str, Row], runs: list[SourceRun], omissions: list[Omission]
) -> int:
    """Prints what was done and returns the exit status."""
    made = sum(len(run.rows) for run in runs)
    gone = sum(row.name not in rows for row in old)
    print(f"{made} graphs made, {gone} dropped, {len(rows)} in all, {len(omissions)} left out")
    offered = {name for run in runs for name in run.names or []}
    for omission in sorted(omissions):
        if omission.name in offered:
            print(f"  left out: {omission.name}: {omission.reason}")
    failed = [run for run in runs if run.error]
    for run in failed:
        print(f"  source {run.source} did not finish: {run.error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
