"""Measures hlograph and its alternatives; writes figures, tables and pictures.

    python -m benchmarks.run                                  # quick: a few minutes
    python -m benchmarks.run --groups steps graphs
    python -m benchmarks.run --groups speed-rules             # a quarter of an hour
    python -m benchmarks.run --preset full --out docs/performance.json \
        --page docs/performance-results.md
    python -m benchmarks.run --groups --out docs/performance.json --page docs/performance-results.md

Every ratio compares calls that took turns in one run, and is the median of several rounds. Each
group is printed and saved as soon as it ends. The last command measures nothing: it writes tables
and pictures from the saved figures.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import tyro
from tqdm import tqdm

from benchmarks.settings import GROUPS, PRESETS, Group, Settings
from hlograph.errors import HloError

if TYPE_CHECKING:
    from benchmarks.results import Figure, GroupResult, Results

FAILED, INTERRUPTED = 1, 130
"""Exit statuses: a group or the page failed; Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit status."""
    settings = parse(arguments)
    if settings.groups:
        from experiments.workers.startup import prepare_process

        prepare_process(settings.device)
    try:
        failed = run(settings)
        _finish(settings)
    except HloError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"\nInterrupted; groups that ended are in {settings.out}", file=sys.stderr)
        return INTERRUPTED
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return FAILED
    return 0


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Reads settings from the command line; the preset decides on what no flag names."""
    arguments = sys.argv[1:] if arguments is None else arguments
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--preset", choices=list(PRESETS), default="quick")
    given, _ = first.parse_known_args(arguments)
    return tyro.cli(
        Settings,
        default=PRESETS[given.preset],
        args=arguments,
        prog="python -m benchmarks.run",
        description=__doc__,
    )


def run(settings: Settings) -> list[Group]:
    """Measures groups, and prints and saves each as soon as it ends.

    A group that fails is reported with its traceback, keeps the figures of an earlier run, and
    does not stop the groups after it.

    Returns:
        The groups that failed.

    Raises:
        DamagedFileError: The file of results holds something else.
    """
    from benchmarks.results import load, save

    results = load(settings.out)
    failed: list[Group] = []
    with tqdm(total=len(settings.groups), unit="group", dynamic_ncols=True) as bar:
        for group in settings.groups:
            bar.set_description(group)
            try:
                results[group] = measure(group, settings, bar)
            except Exception:
                failed.append(group)
                bar.write(f"{group} failed:\n{traceback.format_exc()}", file=sys.stderr)
            else:
                results = _in_order(results)
                save(results, settings.out)
                _print_table(results[group])
            bar.update()
    return failed


def measure(group: Group, settings: Settings, bar: tqdm) -> GroupResult:
    """Measures one group, and shows each figure on the bar."""
    from benchmarks.machine import made_with
    from benchmarks.results import GroupResult

    module = importlib.import_module(f"benchmarks.{group.replace('-', '_')}")
    described = made_with(settings)
    start = time.perf_counter()
    figures = tuple(_shown(module.measure(settings), bar))
    seconds = time.perf_counter() - start
    return GroupResult(module.TITLE, figures, module.subjects(settings), seconds, described)


def _shown(figures: Iterable[Figure], bar: tqdm) -> Iterator[Figure]:
    """Passes figures on, after showing each on the bar."""
    from benchmarks.tables import number

    for figure in figures:
        # Without a terminal, each refresh would be a line of the log.
        text = f"{figure.row} at {figure.column}: {number(figure.value)}"
        bar.set_postfix_str(text, refresh=sys.stderr.isatty())
        yield figure


def _in_order(results: Results) -> Results:
    """Sorts results into the order in which groups are listed."""
    return {name: results[name] for name in GROUPS if name in results}


def _print_table(result: GroupResult) -> None:
    """Prints the table of one group."""
    from rich.console import Console

    from benchmarks.tables import terminal_table

    with tqdm.external_write_mode(sys.stdout):
        Console(width=None if sys.stdout.isatty() else 140).print(terminal_table(result))


def _finish(settings: Settings) -> None:
    """Writes the page and pictures, if asked for, from everything in the file of results."""
    print(f"figures: {settings.out}")
    if settings.page is None:
        return
    from benchmarks.pictures import draw
    from benchmarks.results import load
    from benchmarks.tables import write_page

    results = load(settings.out)
    write_page(results, settings.page)
    for path in (settings.page, *draw(results, settings.page.parent)):
        print(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main())
