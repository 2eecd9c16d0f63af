"""How an agent's op counts compare with a reference pipeline's, over many benchmarks.

Both measures are of DESIGN.md, section 7.
"""

import math
from collections.abc import Sequence
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
    """Geometric mean of values that are not negative; nan of none."""
    if not values:
        return math.nan
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def count_ratio(reference: Sequence[int], agent: Sequence[int]) -> float:
    """Geometric mean of reference op count / agent op count; above 1 the agent is better."""
    return geometric_mean([r / a for r, a in zip(reference, agent, strict=True)])


def reduction_ratio(
    names: Sequence[str], start: Sequence[int], reference: Sequence[int], agent: Sequence[int]
) -> Reduction:
    """The paper's measure: how much of the reference's reduction the agent reaches.

    Args:
        names: Benchmarks.
        start: Op count of each before any pass.
        reference: Op count of each after the reference pipeline.
        agent: Op count of each after the agent.
    """
    ratios: list[float] = []
    reference_fails, agent_fails = [], []
    for name, s, r, a in zip(names, start, reference, agent, strict=True):
        if r >= s:
            reference_fails.append(name)
            continue
        if a >= s:
            agent_fails.append(name)
        ratios.append(max(s - a, 0) / (s - r))
    return Reduction(
        geometric_mean(ratios), len(ratios), tuple(reference_fails), tuple(agent_fails)
    )
