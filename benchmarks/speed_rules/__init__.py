"""Rules for time, measured in the installed jaxlib on shapes of real programs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.timing import tracked
from hlograph.execution.bootstrap import Interval

TITLE = "Rules for time"
_COLUMN = "default / form"
_PAYS = Aim(1.2, at_most=False)


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures each case, and leaves out those whose outputs differ from the default's."""
    from benchmarks.speed_rules.catalogue import chosen
    from benchmarks.speed_rules.measuring import measured
    from hlograph.measuring.trial import FINAL, SCREEN

    effort = FINAL if settings.preset == "full" else SCREEN
    for case in tracked(chosen(settings.rules)):
        outcome = measured(case, effort).outcome
        if outcome is None or outcome.measured is None:
            continue
        speed = outcome.measured
        ratio = Interval(speed.ratio, speed.low, speed.high)
        yield Figure.of(case.name, _COLUMN, ratio, "x", _PAYS if case.pays else None)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the column: how the default and the rules are compared."""
    del settings
    return {_COLUMN: "time of jaxlib's default over the time after the rules, in turns"}
