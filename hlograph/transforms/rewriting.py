"""Rewrites: XLA's own code, and identities of linear algebra, applied at one place.

``hlograph.rules`` are the rules, docs/rewrite-rules.md explains them; ``Module.rewrites()`` lists
where they apply now, ``Module.apply(rewrite)`` applies one::

    >>> import hlograph
    >>> print(hlograph.rules)  # the whole table
    >>> best = min(module.rewrites(), key=lambda rewrite: rewrite.op_count)
    >>> module.apply(best)

Where a rule applies is found by trying it, on copies of the module: for rules that are XLA's the
same code decides that runs in its pass, and what a rewrite would change is counted, not estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlograph._native import native
from hlograph.errors import PassError, RewriteError
from hlograph.transforms.named import Named

if TYPE_CHECKING:
    from hlograph import _xla

# Names of instructions have neither commas nor brackets nor spaces.
_PLACE = re.compile(r"([^(),\s]+)\(([^(),\s]+)(?:, ([^(),\s]+))?\)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of rewriting.

    Attributes:
        name: Of a rule that is a registry pass at one instruction, the name of that pass.
        description: What it does, in one line.
        xla_code: The class or function of namespace ``xla`` that does it; empty where none does.
        equation: What a rule of our own rests on, left side the pattern; empty of XLA's.
        index: Position among the rules.
        for_target: Whether it is for modules that are about to become code, which
            ``hlograph.fusion`` makes; the others are for modules as they come.
    """

    name: str
    description: str
    xla_code: str
    equation: str
    index: int
    for_target: bool
    _native: _xla.Rule = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.description} [{self.xla_code or self.equation}]"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # The native handle stays in its process; the name finds it again.
        return _entry, (self.name,)


@dataclass(frozen=True, slots=True)
class Place:
    """A rule at a place of a module.

    Attributes:
        rule: Name of the rule.
        instruction: Name of the instruction that it is applied at.
        other: Name of the second instruction of a pair; None where the rule is about one.
    """

    rule: str
    instruction: str
    other: str | None

    @property
    def place(self) -> str:
        """As text, such as ``algebraic(add.1)``, of which ``Module.apply`` knows it again."""
        where = self.instruction if self.other is None else f"{self.instruction}, {self.other}"
        return f"{self.rule}({where})"

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True, slots=True)
class Rewrite(Place):
    """A rule at a place of a module, and what it would change there.

    Attributes:
        added: Instructions that it adds, those of new computations among them.
        removed: Instructions that it removes, those of computations that nobody calls any more
            among them.
        flops: Floating-point operations of the new instructions less those of the old ones, as
            XLA counts them; each computation counts once, however often it runs.
        bytes_accessed: The same of bytes read and written.
        gone: Names of the instructions that it removes.
    """

    added: int
    removed: int
    flops: float
    bytes_accessed: float
    gone: tuple[str, ...]

    @property
    def op_count(self) -> int:
        """By how much the module's op count would change."""
        return self.added - self.removed

    def __str__(self) -> str:
        return f"{self.place} {self.op_count:+d}"


class Rules(Named[Rule]):
    """All rules, in the order of their numbers; also found by name."""

    @property
    def general(self) -> tuple[Rule, ...]:
        """Those for modules as they come: all but those for the target."""
        return tuple(rule for rule in self if not rule.for_target)

    def __repr__(self) -> str:
        return f"<{len(self)} rules: {', '.join(self.names[:4])}, ...>"


def _entry(name: str) -> Rule:
    return rules[name]


rules = Rules(
    "rule",
    [
        Rule(
            name=entry.name,
            description=entry.description,
            xla_code=entry.xla_code,
            equation=entry.equation,
            index=index,
            for_target=entry.for_target,
            _native=entry,
        )
        for index, entry in enumerate(native().rules())
    ],
)
"""The rules of the linked XLA, and after them our own."""


def find_rewrites(
    module: _xla.Module,
    chosen: Iterable[Rule | str] | None,
    *,
    anew: bool = False,
    alone: bool = False,
) -> list[Rewrite]:
    """What ``Module.rewrites`` returns.

    Args:
        module: The module.
        chosen: Rules or their names; None is all but those for the target.
        anew: Tries all, whatever is known of the module or of what it was before a rewrite.
        alone: The same, each on a copy of its own, which is slow and there to be compared with.

    Raises:
        UnknownNameError: No rule has one of the names.
    """
    if anew or alone:
        found = native().rewrites_anew(module, _pick(chosen), alone)
    else:
        found = native().rewrites(module, _pick(chosen))
    return [
        Rewrite(
            rule=one.rule,
            instruction=one.instruction,
            other=one.other or None,
            added=one.added,
            removed=one.removed,
            flops=one.flops,
            bytes_accessed=one.bytes,
            gone=tuple(one.gone),
        )
        for one in found
    ]


def find_places(module: _xla.Module, chosen: Iterable[Rule | str]) -> list[Place]:
    """What ``find_rewrites`` would try, untried, which takes a small part of the time.

    Args:
        module: The module.
        chosen: Rules or their names. Of rules for the target, each place is one where the rule
            applies; of others it may be.

    Raises:
        UnknownNameError: No rule has one of the names.
    """
    return [
        Place(one.rule, one.instruction, one.other or None)
        for one in native().propose(module, _pick(chosen))
    ]


def _pick(chosen: Iterable[Rule | str] | None) -> list[_xla.Rule]:
    if chosen is None:
        return [rule._native for rule in rules.general]
    return [(rules[rule] if isinstance(rule, str) else rule)._native for rule in chosen]


def apply_rewrite(module: _xla.Module, rewrite: Place | str) -> None:
    """What ``Module.apply`` does.

    Args:
        module: The module.
        rewrite: What to apply, or its place as text.

    Raises:
        RewriteError: It does not apply, or XLA returned an error; the module is as before.
        UnknownNameError: No rule has its name.
        ValueError: The string is no place.
    """
    place = rewrite if isinstance(rewrite, str) else rewrite.place
    name, instruction, other = _parts(place)
    try:
        applied = native().apply(module, rules[name]._native, instruction, other)
    except PassError as error:
        raise RewriteError(f"{place} failed: {error}") from error
    if not applied:
        raise RewriteError(
            f"{place} does not apply to this module now; ask for its rewrites() again"
        )


def _parts(place: str) -> tuple[str, str, str]:
    """Rule, instruction and other instruction (or nothing) of a place."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise ValueError(f"expected a place such as algebraic(add.1), got {place!r}")
    rule, instruction, other = match.groups(default="")
    return rule, instruction, other
