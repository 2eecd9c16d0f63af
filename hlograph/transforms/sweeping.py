"""Sweeps: one rule, applied at all places of a module where it applies now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hlograph.errors import RewriteError

if TYPE_CHECKING:
    from hlograph.module import Module
    from hlograph.transforms.rewriting import Rewrite

PREPARATION = ("call-inliner",)
"""Passes that come before rules for time, whose patterns do not reach into calls."""


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
