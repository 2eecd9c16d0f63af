"""Searches for plans of programs of the set `speed`, and keeps them."""

from __future__ import annotations

from benchmarks.beside_torch.settings import Settings
from experiments.tune.races import TuningRace, raced
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.plans import Plan


def plan_of(name: str, settings: Settings) -> Plan:
    """Returns the plan of a program: of an earlier run, or that of a search now.

    Args:
        name: Name of the program.
        settings: Settings of the run.

    Raises:
        HloError: The search failed.
    """
    program = corpus.load("speed")[name]
    race = TuningRace(program, settings.out.with_suffix(""), settings.search, seed=settings.seed)
    result = race.result()
    if result is None:
        result = raced(race)
        result.save(race.folder)
    if result.plan is None:
        raise HloError(f"no plan of {name}: {result.error}")
    return result.plan
