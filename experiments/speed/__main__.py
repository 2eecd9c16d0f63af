"""Measures how much faster programs of the speed set become.

    python -m experiments.speed --split test --budget 60

Each program is searched for the budget. When all are done, each winner is measured a second time,
in a process of its own. A run that was interrupted goes on with --out FOLDER.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from experiments.speed.command import run_in_folder, save_provenance
from experiments.speed.programs import Split, chosen_programs
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from experiments.speed.results import SpeedResult


@dataclass(frozen=True)
class SpeedConfig:
    """Settings of the experiment."""

    split: Split = "test"
    """Split of the speed set."""
    benchmarks: tuple[str, ...] = ("*",)
    """Names or globs that select programs of the split."""
    per_family: int | None = 2
    """Programs of each family, from the least and the largest inwards; None takes all."""
    budget: float = 60.0
    """Seconds of search for each program."""
    numerics: Literal["exact", "close", "fast"] = "close"
    """Class that results must belong to."""
    methods: tuple[str, ...] | None = None
    """Methods that propose plans; None takes those of hlograph."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""


def run(config: SpeedConfig, folder: Path) -> "list[SpeedResult]":
    """Runs the experiment, and returns the results in the order of the programs.

    Raises:
        HloError: No program is selected, or the corpus is not there.
        DamagedFileError: The folder has a result of another version.
    """
    from tqdm import tqdm

    from experiments.speed.results import SpeedResult
    from experiments.speed.trials import Rules, measured_again, raced

    programs = chosen_programs(config.split, config.benchmarks, config.per_family)
    rules = Rules(config.budget, config.numerics, config.methods)
    results: dict[str, SpeedResult] = {}
    with tqdm(programs, unit="program", desc="search", disable=None) as bar:
        for benchmark in bar:
            result = SpeedResult.load(folder, benchmark.name)
            if result is None:
                bar.set_postfix_str(benchmark.name)
                result = raced(benchmark, rules, folder)
                result.save(folder)
            results[benchmark.name] = result
    again = [name for name, result in results.items() if not result.is_final]
    for name in tqdm(again, unit="program", desc="measure again", disable=None):
        result = measured_again(results[name], programs[name], rules, folder)
        result.save(folder)
        results[name] = result
    return list(results.values())


def _save(config: SpeedConfig, results: "Sequence[SpeedResult]", folder: Path) -> list[str]:
    """Writes the tables, and returns the findings."""
    from experiments.speed.results import summary, table, to_csv

    save_provenance(config, folder)
    write_text_atomically(folder / "speed.csv", to_csv(results))
    findings = summary(results)
    write_text_atomically(folder / "speed.md", "\n".join([*findings, "", table(results), ""]))
    return findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the experiment that a command line asks for, and prints what came of it.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.speed"
    config = tyro.cli(SpeedConfig, args=arguments, prog=prog, description=__doc__)

    def work(folder: Path) -> list[str]:
        return _save(config, run(config, folder), folder)

    return run_in_folder("speed", config.out, work)


if __name__ == "__main__":
    sys.exit(main())
