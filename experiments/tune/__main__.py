"""Tunes programs in one or several ways, at equal budgets, and compares what comes of it.

    python -m experiments.tune --split test --budget 60
    python -m experiments.tune 'n-body/*' step.hlo --methods joint flags,greedy --seeds 0 1 2
    python -m experiments.tune --split validation --per-family 1 --budget 20 --repeats 3

Programs are names or globs of the speed set, or files. A competitor is one or more methods with
commas between them: those of hlograph, and knobs-NAME for a searcher over knobs (random,
coordinate, evolution, one-plus-one of nevergrad, or tpe of optuna). Each race has its own
measurements, so that competitors do not learn from each other. When all are done, each winner is
measured a second time, in a process of its own. With --out FOLDER, a run that was interrupted goes
on. With --workers ray, the nodes of a Ray cluster have a race each at a time. TensorBoard shows the
races: tensorboard --logdir FOLDER.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from experiments.evaluate.run_folder import run_in_folder, save_provenance
from experiments.evaluate.speed_programs import Split
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from experiments.tune.races import TuningRace


@dataclass(frozen=True)
class TuneConfig:
    """Settings of a run."""

    programs: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names or globs of programs of the speed set, and paths of files; none takes a split."""
    split: Split | None = None
    """Split of the speed set; None takes programs of all splits by name."""
    per_family: int | None = None
    """Programs of each family, from the least and the largest inwards. None takes all that names
    match; without names, two of the split."""
    methods: tuple[str, ...] = ()
    """Competitors: names of methods with commas between them, or package.module:function. Without
    any, the methods of hlograph.optimize are one competitor."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of the methods that take one; each is a race of its own."""
    repeats: int = 1
    """Races of each competitor, program and seed. With several, the page says how often a second
    search comes to the same plan and the same ratio."""
    budget: float = 60.0
    """Seconds of each race."""
    numerics: Literal["exact", "close", "fast"] = "close"
    """Class that results must belong to."""
    workers: Literal["processes", "ray"] = "processes"
    """Place of the races: one at a time in processes of this machine, or one on each node of a Ray
    cluster."""
    ray_address: str | None = None
    """Ray cluster to join: host:port, or auto for this machine's; None starts one of its own."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""


def races(config: TuneConfig, folder: Path) -> "list[TuningRace]":
    """Returns the races of a run.

    The competitors take turns on each program, so that what changes on the machine within hours
    changes for all of them.

    Raises:
        HloError: No program is selected, or the corpus is not there.
    """
    from experiments.tune.programs import programs_of
    from experiments.tune.races import DEFAULT_COMPETITOR, TuningRace

    programs = programs_of(config.programs, config.split, config.per_family)
    return [
        TuningRace(program, folder, config.budget, config.numerics, competitor, seed, repeat)
        for repeat in range(config.repeats)
        for seed in config.seeds
        for program in programs
        for competitor in config.methods or (DEFAULT_COMPETITOR,)
    ]


def save(config: TuneConfig, run: "Sequence[TuningRace]", folder: Path) -> list[str]:
    """Writes the tables and pictures of the results so far, and returns the findings.

    Machines of several models have pages of their own, in folders of their own.
    """
    from experiments.tune.curves import agreement
    from experiments.tune.page import page, summary
    from experiments.tune.pictures import write_pictures
    from experiments.tune.repeats import repeatability
    from experiments.tune.results import by_machine, to_csv
    from experiments.tune.scores import Scores
    from experiments.tune.spaces import spaces_table

    results = [result for race in run if (result := race.result()) is not None]
    save_provenance(config, folder)
    write_text_atomically(folder / "tune.csv", to_csv(results))
    spaces = spaces_table((race.program.name for race in run), folder)
    findings = []
    for machine, of_machine in by_machine(results).items():
        scores = Scores.of(of_machine)
        place = folder if machine is None else folder / "machines" / machine.key
        place.mkdir(parents=True, exist_ok=True)
        pictures = write_pictures(scores, config.budget, place)
        write_text_atomically(place / "tune.md", page(scores, config.budget, pictures, spaces))
        findings += [] if machine is None else [f"{machine}, in {place}:"]
        findings += [*summary(scores), *repeatability(scores.results)]
    return [*findings, agreement(race.outcomes() for race in run)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and prints what came of it.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.tune"
    config = tyro.cli(TuneConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("tune", config.out, lambda folder: _run(config, folder))


def _run(config: TuneConfig, folder: Path) -> list[str]:
    from experiments.tune.spaces import measure_spaces

    run = races(config, folder)
    try:
        if config.workers == "ray":
            from experiments.tune.on_cluster import run_on_cluster

            run_on_cluster(run, config.ray_address)
        else:
            from experiments.tune.races import run_all

            run_all(run)
        measure_spaces([race.program for race in run], config.numerics, folder)
    finally:  # whatever ends a run, what was done can be read
        findings = save(config, run, folder)
    return findings


if __name__ == "__main__":
    sys.exit(main())
