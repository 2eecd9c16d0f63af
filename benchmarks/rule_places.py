"""Lists in which programs of the speed set each rule for time applies.

    python -m benchmarks.rule_places --out docs/rule-places.csv
    python -m benchmarks.rule_places --rules 'sort-*' --benchmarks 'sorting/*'

The share is the part of the program's predicted time that the rule is predicted to save where it
is predicted to save any: see ``Rewrite.seconds``.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import tyro

import hlograph
from benchmarks.tables import csv_text
from benchmarks.timing import tracked
from hlograph import corpus
from hlograph.corpus import Benchmark
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.transforms.sweeping import PREPARATION


@dataclass(frozen=True)
class RulePlacesConfig:
    """Settings of the list."""

    rules: tuple[str, ...] = ("*",)
    """Globs that select rules for time by their names."""
    benchmarks: tuple[str, ...] = ("*",)
    """Globs that select programs of the speed set by their names."""
    out: Path | None = None
    """File of the list, as CSV."""


class Row(NamedTuple):
    """A rule, a program that it applies to, and the share of its time that it may save."""

    rule: str
    program: str
    split: str
    places: int
    share: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Lists, prints and saves; returns the exit status."""
    config = tyro.cli(
        RulePlacesConfig,
        args=arguments,
        prog="python -m benchmarks.rule_places",
        description=__doc__,
    )
    chosen = [rule.name for rule in hlograph.rules.for_time if _selected(rule.name, config.rules)]
    programs = [
        program for program in corpus.load("speed") if _selected(program.name, config.benchmarks)
    ]
    rows = [row for program in tracked(programs, "program") for row in _rows(program, chosen)]
    rows.sort(key=lambda row: (chosen.index(row.rule), row.program))
    print(_table(rows, chosen))
    if config.out:
        write_text_atomically(config.out, csv_text([Row._fields, *rows]))
    return 0


def _selected(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _rows(benchmark: Benchmark, chosen: Sequence[str]) -> Iterator[Row]:
    module = benchmark.load()
    for step in PREPARATION:
        module.run(step)
    places: Counter[str] = Counter()
    saved: dict[str, float] = defaultdict(float)
    for rewrite in module.rewrites(chosen):
        places[rewrite.rule] += 1
        saved[rewrite.rule] -= min(rewrite.seconds, 0.0)
    total = module.seconds()
    for rule, number in places.items():
        share = min(saved[rule] / total, 1.0)
        yield Row(rule, benchmark.name, benchmark.split, number, f"{share:.2g}")


def _table(rows: Sequence[Row], chosen: Sequence[str]) -> str:
    """Returns the number of programs of each split, and of all places, by rule."""
    splits = ("train", "validation", "test")
    lines = [f"{'rule':36}" + "".join(f"{name:>11}" for name in (*splits, "places"))]
    for rule in chosen:
        own = [row for row in rows if row.rule == rule]
        counts = [sum(row.split == split for row in own) for split in splits]
        counts.append(sum(row.places for row in own))
        lines.append(f"{rule:36}" + "".join(f"{count:11}" for count in counts))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
