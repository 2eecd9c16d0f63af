"""Passes and rules of another version of the project, for the time of a test."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hlograph.transforms.registry import Named, Pass, passes
from hlograph.transforms.rules import Rule, rules

RARE = "sine-of-sum"
"""Rule for time that applies to no small program."""


def enlarge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds a pass and rules before all others and after them: real ones, by further names."""
    first, last = passes["dce"], passes["algsimp"]
    change(monkeypatch, passes, [_named(first, "new first"), *passes, _named(last, "new last")])
    new = [_named(rules["algebraic"], "new first"), _named(rules[RARE], "new for time")]
    change(monkeypatch, rules, [*new, *rules, _named(rules["merge"], "new last")])


def reverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers all passes and rules from the end."""
    change(monkeypatch, passes, passes[::-1])
    change(monkeypatch, rules, rules[::-1])


def remove(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Removes passes and rules of these names."""
    for registry in (passes, rules):
        change(monkeypatch, registry, [entry for entry in registry if entry.name not in names])


def change(
    monkeypatch: pytest.MonkeyPatch, registry: Named, entries: Sequence[Pass | Rule]
) -> None:
    """Gives a registry other entries, whose numbers are their places."""
    assert passes.acts_on.shape[1] == len(passes)  # is cached, and comes back after the test
    numbered = [replace(entry, index=number) for number, entry in enumerate(entries)]
    monkeypatch.setattr(registry, "_entries", tuple(numbered))
    monkeypatch.setattr(registry, "_by_name", {entry.name: entry for entry in numbered})
    monkeypatch.delitem(vars(registry), "acts_on", raising=False)


def _named(entry: Pass | Rule, name: str) -> Pass | Rule:
    return replace(entry, name=name)
