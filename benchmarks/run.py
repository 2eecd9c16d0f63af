"""Measures hlograph against what one would use instead; figures, tables and pictures.

    python -m benchmarks.run                                  # quick: about three minutes
    python -m benchmarks.run --groups steps graphs
    python -m benchmarks.run --preset full --out docs/performance.json --page docs/performance.md
    python -m benchmarks.run --groups --out docs/performance.json --page docs/performance.md

Every ratio is of calls that took turns in one run, and the median of several rounds. The last
command measures nothing, and makes tables and pictures anew.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import tyro
from tqdm import tqdm

from benchmarks.settings import GROUPS, PRESETS, Group, Settings
from hlograph.errors import HloError

if TYPE_CHECKING:
    from benchmarks.results import Figure, GroupResult, Results


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Settings from the command line; the preset decides on what no flag names."""
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


def run(settings: Settings) -> Results:
    """Measures the groups asked for; each is written as soon as it is there.

    Returns:
        What is in the file then.
    """
    from benchmarks.results import load, save

    results = load(settings.out)
    with tqdm(total=len(settings.groups), unit="group", dynamic_ncols=True) as bar:
        for group in settings.groups:
            bar.set_description(group)
            results[group] = measure(group, settings, bar)
            results = {name: results[name] for name in GROUPS if name in results}
            save(results, settings.out)
            bar.update()
    return results


def measure(group: Group, settings: Settings, bar: tqdm) -> GroupResult:
    """Measures one group, and shows each figure as it comes."""
    from benchmarks.machine import made_with
    from benchmarks.results import GroupResult

    module = importlib.import_module(f"benchmarks.{group}")
    described = made_with(settings)
    start = time.perf_counter()
    figures = tuple(_shown(module.measure(settings), bar))
    seconds = time.perf_counter() - start
    return GroupResult(module.TITLE, figures, module.subjects(settings), seconds, described)


def _shown(figures: Iterable[Figure], bar: tqdm) -> Iterator[Figure]:
    from benchmarks.tables import number

    for figure in figures:
        # Where there is no terminal, each refresh would be a line of the log.
        text = f"{figure.what} at {figure.column}: {number(figure.value)}"
        bar.set_postfix_str(text, refresh=sys.stderr.isatty())
        yield figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    settings = parse(arguments)
    if settings.groups:
        from experiments.workers.startup import prepare_process

        prepare_process(settings.device)
    try:
        results = run(settings)
        _show(results, settings)
    except HloError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _show(results: Results, settings: Settings) -> None:
    """Prints what was measured, and writes page and pictures."""
    from rich.console import Console

    from benchmarks.pictures import draw
    from benchmarks.tables import terminal_table, write_page

    console = Console(width=None if sys.stdout.isatty() else 140)
    for group in settings.groups:
        console.print(terminal_table(results[group]))
    print(f"figures: {settings.out}")
    if settings.page is not None:
        write_page(results, settings.page)
        for path in (settings.page, *draw(results, settings.page.parent)):
            print(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main())
