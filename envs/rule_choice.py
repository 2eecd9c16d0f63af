"""Chooses the rules of an environment, and the passes that run before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from envs.settings import listed
from hlograph.errors import UnknownNameError
from hlograph.transforms.rules import Rule, rules
from hlograph.transforms.sweeping import PREPARATION

RuleChoice = Rule | str
"""A rule; or a name, a pattern such as ``"sort-*"``, ``"general"`` or ``"for-time"``."""


def chosen_rules(chosen: Sequence[RuleChoice] | str | None) -> tuple[Rule, ...]:
    """Returns the rules that a user names, each once and in the order in which they are named.

    Args:
        chosen: One name or pattern, or several of them or of rules. ``"general"`` and
            ``"for-time"`` stand for ``hlograph.rules.general`` and ``hlograph.rules.for_time``;
            None is ``"general"``.

    Raises:
        UnknownNameError: No rule has the name or matches the pattern.
    """
    if chosen is None:
        return rules.general
    several = listed(chosen)
    return tuple(dict.fromkeys(rule for one in several for rule in _named(one)))


def preparation(chosen: Iterable[Rule]) -> tuple[str, ...]:
    """Returns the names of the passes that rules need to run first.

    These are ``hlograph.transforms.sweeping.PREPARATION`` if a rule is for time, and none
    otherwise.
    """
    return PREPARATION if any(rule.for_time for rule in chosen) else ()


def _named(name: RuleChoice) -> Sequence[Rule]:
    if isinstance(name, Rule):
        return (name,)
    groups = {"general": rules.general, "for-time": rules.for_time}
    if name in groups:
        return groups[name]
    found = [rule for rule in rules if fnmatchcase(rule.name, name)]
    if not found:
        raise UnknownNameError.of("rule", name, (*groups, *rules.names))
    return found
