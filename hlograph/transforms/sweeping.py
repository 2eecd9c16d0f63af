"""Sweeps: one rule, applied at all places of a module where it applies now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from hlograph.errors import RewriteError

if TYPE_CHECKING:
    from hlograph.module import Module
    from hlograph.transforms.rewriting import Rewrite

PREPARATION = ("call-inliner",)
"""Passes that come before rules for time, whose patterns do not reach into calls."""


# Greedy sweeps by predicted seconds: the rules that are tried in each round, those that promise
# most, the least share of the time that a round must save, and the number of rounds.
_TRIED, _LEAST_SAVED, _ROUNDS = 6, 0.01, 12


def sweep(
    module: Module, rule: str, accepts: Callable[[Rewrite], bool] = lambda rewrite: True
) -> tuple[str, ...]:
    """Applies a rule at the places where it applies now, in the order of the module.

    Places that a rewrite makes are left alone, so a sweep ends also if a rule applies to its own
    results.

    Args:
        module: The module; it is changed.
        rule: Name of the rule.
        accepts: Function that returns True for rewrites to apply.

    Returns:
        The places, which are steps of a plan.

    Raises:
        UnknownNameError: No rule has this name.
    """
    applied: list[str] = []
    for rewrite in module.rewrites([rule]):
        if not accepts(rewrite):
            continue
        try:
            module.apply(rewrite)
        except RewriteError:  # an earlier one of the sweep took its place
            continue
        applied.append(rewrite.place)
    return tuple(applied)


def greedy_sweeps(module: Module, rules: Sequence[str]) -> Iterator[str]:
    """Sweeps the rule that is predicted to save most, again and again, and yields the places.

    It is applied at the places where it is predicted to save time. The end is reached when no rule
    saves more than a hundredth of the time.

    Args:
        module: The module; it is changed.
        rules: Names of the rules.
    """
    for _ in range(_ROUNDS):
        saved: dict[str, float] = {}
        for rewrite in module.rewrites(rules):
            saved[rewrite.rule] = saved.get(rewrite.rule, 0.0) + max(-rewrite.seconds, 0.0)
        ranked = sorted((rule for rule in saved if saved[rule] > 0), key=lambda one: -saved[one])
        tried = []
        for rule in ranked[:_TRIED]:
            copy = module.clone()
            steps = sweep(copy, rule, lambda found: found.seconds < 0)
            tried.append((copy.seconds(), steps))
        seconds, steps = min(tried, key=lambda one: one[0], default=(float("inf"), ()))
        if not seconds < (1 - _LEAST_SAVED) * module.seconds():
            return
        for step in steps:
            module.apply(step)
        yield from steps
