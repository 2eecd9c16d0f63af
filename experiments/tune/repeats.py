"""Compares searches of one program with equal settings: their plans and their ratios."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.evaluate.results import markdown_table
from experiments.tune.results import RaceResult, decisions_of
from hlograph.plans import Plan

SAME = 1.05
"""Ratios that differ by less than this factor count as the same."""


@dataclass(frozen=True)
class RepeatedSearch:
    """Searches of a competitor for the plan of one program, with a seed."""

    results: Sequence[RaceResult]

    @property
    def ratios(self) -> list[float]:
        """The ratio of each search, in the second measurement of its plan."""
        return [result.ratio for result in self.results]

    @property
    def same_plans(self) -> list[bool]:
        """True for each pair of searches that came to the same plan."""
        return self._pairs(lambda a, b: _plan(a).digest == _plan(b).digest)

    @property
    def same_kinds(self) -> list[bool]:
        """True for each pair whose plans decide the same, perhaps about other instructions."""
        return self._pairs(lambda a, b: decisions_of(_plan(a)) == decisions_of(_plan(b)))

    @property
    def same_ratios(self) -> list[bool]:
        """True for each pair whose ratios count as the same."""
        return self._pairs(lambda a, b: max(a.ratio, b.ratio) < SAME * min(a.ratio, b.ratio))

    @property
    def spread(self) -> float:
        """Largest ratio over the least."""
        return max(self.ratios) / min(self.ratios)

    def _pairs(self, same: Callable[[RaceResult, RaceResult], bool]) -> list[bool]:
        return [same(a, b) for a, b in itertools.combinations(self.results, 2)]


def repeated(results: Sequence[RaceResult]) -> list[RepeatedSearch]:
    """Returns the groups of results that differ in the number of their search alone.

    Args:
        results: Results, all of which have been measured a second time.
    """
    groups: dict[tuple[str, str, int], list[RaceResult]] = {}
    for result in results:
        key = result.competitor, result.program, result.seed
        groups.setdefault(key, []).append(result)
    return [RepeatedSearch(group) for group in groups.values() if len(group) > 1]


def repeats_table(groups: Sequence[RepeatedSearch]) -> str:
    """Returns the table of repeated searches, a row for each program."""
    several = len({group.results[0].competitor for group in groups}) > 1
    heads = ("program", "searches", "same plan", "same decisions", "same ratio", "ratios")
    rows = []
    for group in groups:
        first = group.results[0]
        pairs = (group.same_plans, group.same_kinds, group.same_ratios)
        rows.append(
            (
                f"{first.program}, {first.competitor}" if several else first.program,
                str(len(group.results)),
                *(f"{sum(same)} of {len(same)}" for same in pairs),
                f"{min(group.ratios):.3f} to {max(group.ratios):.3f}",
            )
        )
    return markdown_table(heads, rows)


def repeatability(results: Sequence[RaceResult]) -> list[str]:
    """Returns a sentence for each competitor about how far its repeated searches agree."""
    groups: dict[str, list[RepeatedSearch]] = {}
    for group in repeated(results):
        groups.setdefault(group.results[0].competitor, []).append(group)
    return [_sentence(competitor, of_name) for competitor, of_name in groups.items()]


def _sentence(competitor: str, groups: Sequence[RepeatedSearch]) -> str:
    plans, kinds, ratios = (
        [same for group in groups for same in getattr(group, name)]
        for name in ("same_plans", "same_kinds", "same_ratios")
    )
    spreads = [group.spread for group in groups]
    return (
        f"{competitor}: of {len(plans)} pairs of searches on {len(groups)} programs, "
        f"{sum(plans)} came to the same plan, {sum(kinds)} to the same decisions, and "
        f"{sum(ratios)} to ratios within {SAME - 1:.0%}; the largest ratio is "
        f"{np.median(spreads):.3f} times the least in the median, at most {max(spreads):.3f} times"
    )


def _plan(result: RaceResult) -> Plan:
    return result.plan or Plan()
