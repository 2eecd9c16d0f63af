"""Measures that compare an agent's op counts with a reference's, over many benchmarks.

Every mean is geometric unless its name says otherwise; a mean of nothing is nan; what has no ratio
is named.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reduction:
    """The paper's reduction ratio, and the benchmarks that it says nothing about."""

    ratio: float
    """Geometric mean of (start - agent) / (start - reference); nan where none counts."""
    counted: int
    """Benchmarks in the mean: those that the reference reduces."""
    not_reduced_by_reference: tuple[str, ...]
    """Left out of the mean: no ratio is defined for them."""
    not_reduced_by_agent: tuple[str, ...]
    """In the mean, with a ratio of 0, which makes the mean 0."""


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of values that are not negative; nan of none."""
    if not values:
        return math.nan
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def ratios(reference: Sequence[int], agent: Sequence[int]) -> list[float]:
    """Returns reference op count / agent op count of each benchmark; above 1 is better."""
    return [r / a for r, a in zip(reference, agent, strict=True)]


def count_ratio(reference: Sequence[int], agent: Sequence[int]) -> float:
    """Returns the geometric mean of reference op count / agent op count; above 1 is better."""
    return geometric_mean(ratios(reference, agent))


def better_of(after: Mapping[str, int], pipelines: Sequence[str]) -> int | None:
    """Returns the least op count after any of some reference pipelines.

    Args:
        after: Op count after each pipeline, by its name.
        pipelines: The pipelines; None is returned if one of them is not in ``after``, since the
            least of the others would be an easier reference.
    """
    if not pipelines or any(name not in after for name in pipelines):
        return None
    return min(after[name] for name in pipelines)


def worst(values: Sequence[float]) -> float:
    """Returns the least ratio; nan of none."""
    return min(values, default=math.nan)


def share(values: Sequence[float], at_least: float) -> float:
    """Returns the share, from 0 to 1, of values that are no less than a bound; nan of none."""
    if not values:
        return math.nan
    return sum(value >= at_least for value in values) / len(values)


def share_within(best: Sequence[int], agent: Sequence[int], tolerance: float) -> float:
    """Returns the share, from 0 to 1, of op counts that are at most (1 + tolerance) * best."""
    if not best:
        return math.nan
    within = [a <= b * (1 + tolerance) for b, a in zip(best, agent, strict=True)]
    return sum(within) / len(within)


def reduction_ratio(
    names: Sequence[str], start: Sequence[int], reference: Sequence[int], agent: Sequence[int]
) -> Reduction:
    """Returns the paper's measure: the agent's reduction relative to the reference's.

    Args:
        names: Benchmarks.
        start: Op count of each before any pass.
        reference: Op count of each after the reference pipeline.
        agent: Op count of each after the agent.
    """
    shares: list[float] = []
    reference_fails, agent_fails = [], []
    for name, s, r, a in zip(names, start, reference, agent, strict=True):
        if r >= s:
            reference_fails.append(name)
            continue
        if a >= s:
            agent_fails.append(name)
        shares.append(max(s - a, 0) / (s - r))
    return Reduction(
        geometric_mean(shares), len(shares), tuple(reference_fails), tuple(agent_fails)
    )
