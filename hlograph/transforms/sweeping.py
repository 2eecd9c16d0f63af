"""Sweeps: one rule, applied at all places of a module where it applies now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlograph.errors import RewriteError
from hlograph.transforms.rewriting import EVERYWHERE, FEWER, Place, Rewrite

if TYPE_CHECKING:
    from hlograph.module import Module

PREPARATION = ("call-inliner",)
"""Passes that come before rules for time, whose patterns do not reach into calls."""

# Greedy sweeps by predicted seconds: the rules that are tried in each round, those that promise
# most, the least share of the time that a round must save, and the number of rounds.
_TRIED, _LEAST_SAVED, _ROUNDS = 6, 0.01, 12


@dataclass(frozen=True, slots=True)
class Sweep(Place):
    """A rule at all places where it applies now, or leaves fewer instructions, as one step.

    The changes are those of its rewrites, added up. Each was counted by itself, so where one takes
    the place of another, the sweep changes less.

    Attributes:
        rewrites: Its rewrites, in the order of the module.
    """

    rewrites: tuple[Rewrite, ...]

    @property
    def added(self) -> int:
        """Number of instructions added."""
        return sum(rewrite.added for rewrite in self.rewrites)

    @property
    def removed(self) -> int:
        """Number of instructions removed."""
        return sum(rewrite.removed for rewrite in self.rewrites)

    @property
    def flops(self) -> float:
        """Change of the number of floating-point operations."""
        return sum(rewrite.flops for rewrite in self.rewrites)

    @property
    def bytes_accessed(self) -> float:
        """Change of the number of bytes read and written."""
        return sum(rewrite.bytes_accessed for rewrite in self.rewrites)

    @property
    def seconds(self) -> float:
        """Predicted change of the time of one run, in seconds."""
        return sum(rewrite.seconds for rewrite in self.rewrites)

    @property
    def op_count(self) -> int:
        """Change of the module's op count."""
        return self.added - self.removed

    def __str__(self) -> str:
        return f"{self.place} {self.op_count:+d}"


def sweeps_of(rewrites: Sequence[Rewrite]) -> list[Sweep]:
    """Returns the sweeps of two places or more, those of a rule one behind the other.

    Args:
        rewrites: Rewrites, as ``Module.rewrites`` lists them.
    """
    by_rule: dict[str, list[Rewrite]] = {}
    for rewrite in rewrites:
        by_rule.setdefault(rewrite.rule, []).append(rewrite)
    sweeps = []
    for rule, several in by_rule.items():
        fewer = [match for match in several if match.op_count < 0]
        sweeps.append(Sweep(rule, EVERYWHERE, None, tuple(several)))
        if len(fewer) < len(several):
            sweeps.append(Sweep(rule, FEWER, None, tuple(fewer)))
    return [sweep for sweep in sweeps if len(sweep.rewrites) > 1]


def sweep(
    module: Module, rule: str, accepts: Callable[[Rewrite], bool] = lambda rewrite: True
) -> tuple[str, ...]:
    """Applies a rule at the places where it applies now, one after the other.

    ``Module.sweep`` leads to the same module much faster, but a plan that is to be applied to
    changed programs needs the places. Names of new instructions may differ between the two.

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
        ranked = sorted((rule for rule in saved if saved[rule] > 0), key=lambda name: -saved[name])
        tried = []
        for rule in ranked[:_TRIED]:
            copy = module.clone()
            steps = sweep(copy, rule, lambda rewrite: rewrite.seconds < 0)
            tried.append((copy.seconds(), steps))
        seconds, steps = min(tried, key=lambda attempt: attempt[0], default=(float("inf"), ()))
        if not seconds < (1 - _LEAST_SAVED) * module.seconds():
            return
        for step in steps:
            module.apply(step)
        yield from steps
