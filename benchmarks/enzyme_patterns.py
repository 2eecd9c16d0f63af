"""Measures which patterns of Enzyme-JAX pay on this CPU, and which hurt: a table of programs.

    pip install enzyme-ad==0.0.16
    python -m benchmarks.enzyme_patterns --split train --budget 120 --out runs/enzyme
    python -m benchmarks.enzyme_patterns --npbench npbench --only 'npbench/g*' --minutes 20

Each program has a race of the method "enzyme" of `hlograph.optimize`, as with `python -m
experiments.tune --methods enzyme`: whole pipelines, the best of them without groups of patterns and
without single ones, and groups and single patterns alone. Each is measured beside jaxlib's default
and compared with its outputs. What was measured is saved at once: with --out FOLDER, a run that was
interrupted, or that --minutes or --only have cut short, goes on, and the tables have all that the
folder has measured of the chosen programs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tyro

from benchmarks.peers.programs import ProgramChoice
from experiments.evaluate.run_folder import run_in_folder, save_provenance

if TYPE_CHECKING:
    from benchmarks.peers.pattern_effects import PatternEffect
    from experiments.tune.races import TuningRace
    from experiments.tune.results import RaceResult


@dataclass(frozen=True)
class PatternsConfig(ProgramChoice):
    """Settings of a run."""

    budget: float = 120.0
    """Seconds of each program."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""
    page: Path | None = None
    """Page whose part between `<!-- begin: enzyme -->` and `<!-- end -->` is replaced."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and returns the exit status."""
    prog = "python -m benchmarks.enzyme_patterns"
    config = tyro.cli(PatternsConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("enzyme", config.out, lambda folder: run(config, folder))


def run(config: PatternsConfig, folder: Path) -> list[str]:
    """Measures patterns on the programs that the folder has no result of, and writes the tables.

    Returns:
        The findings.

    Raises:
        HloError: There is no program, or Enzyme-JAX is not installed.
    """
    from benchmarks.peers.runs import within
    from experiments.tune.races import TuningRace, raced
    from hlograph.plans.enzyme import pattern_names

    pattern_names("full")
    save_provenance(config, folder)
    programs = config.chosen()
    races = {
        program.name: TuningRace(program, folder, config.budget, competitor="enzyme")
        for program in programs
    }
    measured = {name: Measured.of(race) for name, race in races.items()}
    missing = [
        program
        for program in programs
        if config.measures(program) and measured[program.name].result is None
    ]
    for program in within(config.minutes, missing, "enzyme"):
        race = races[program.name]
        raced(race).save(race.folder)
        measured[program.name] = Measured.of(race)
        write(measured, config, folder)
    return write(measured, config, folder)


class Measured(NamedTuple):
    """Holds what the folder has of a program.

    Attributes:
        result: Result of its race; None before its end.
        effects: Effects that were measured so far.
    """

    result: RaceResult | None
    effects: list[PatternEffect]

    @classmethod
    def of(cls, race: TuningRace) -> Measured:
        """Reads what a race has measured."""
        from benchmarks.peers.pattern_effects import effects_of

        return cls(race.result(), effects_of(race.program.name, race.outcomes()))


def write(measured: Mapping[str, Measured], config: PatternsConfig, folder: Path) -> list[str]:
    """Writes the tables of all programs, by name, and returns the findings."""
    from benchmarks.machine import machine
    from benchmarks.peers.pattern_effects import findings, tables
    from benchmarks.peers.runs import left_over
    from hlograph.storage.atomic_write import write_text_atomically

    results = {name: each.result for name, each in measured.items() if each.result is not None}
    errors = {name: result.error for name, result in results.items() if result.error}
    effects = [effect for each in measured.values() for effect in each.effects]
    text = tables(effects, errors, machine(), config.budget)
    write_text_atomically(folder / "patterns.md", text)
    if config.page is not None:
        from benchmarks.tables import write_parts

        write_parts({"enzyme": text}, config.page)
    return [*findings(effects), *left_over(measured, results)]


if __name__ == "__main__":
    sys.exit(main())
