"""Searches for plans of programs of the set `speed`, and keeps them."""

from __future__ import annotations

from benchmarks.beside_torch.settings import Settings
from experiments.speed.trials import Rules, plan_file, raced
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
    folder = settings.out.with_suffix("")
    subject = corpus.load("speed")[name]
    path = plan_file(folder, subject)
    if not path.exists():
        result = raced(subject, Rules(settings.search, seed=settings.seed), folder)
        if result.error:
            raise HloError(f"no plan of {name}: {result.error}")
    return Plan.load(path)
