"""Rewrites: rules of ``hlograph.rules`` applied at one place of a module.

``Module.rewrites()`` lists the rewrites that apply now, ``Module.apply(rewrite)`` applies one::

    >>> best = min(module.rewrites(), key=lambda rewrite: rewrite.op_count)
    >>> module.apply(best)

``Module.sweep(rule)`` applies a rule at all places where it applies now, or at those where that
leaves fewer instructions. As a step of a plan or a trajectory, a sweep is the place
``"algebraic(*)"`` or ``"algebraic(-)"``.

To find out where a rule applies, it is tried on copies of the module. So for XLA's rules the code
of XLA's pass itself decides, and the changes are counted, not estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlograph._native import native
from hlograph.errors import PassError, RewriteError
from hlograph.execution.rates import current_rates
from hlograph.transforms.rules import Rule, rules

if TYPE_CHECKING:
    from hlograph import _xla

EVERYWHERE = "*"
"""In the place of an instruction: all places where a rule applies."""

FEWER = "-"
"""In the place of an instruction: all places where a rule leaves fewer instructions."""

# Names of instructions contain no commas, brackets or spaces.
_PLACE = re.compile(r"([^(),\s]+)\(([^(),\s]+)(?:, ([^(),\s]+))?\)")


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a module at which a rule may apply.

    Attributes:
        rule: Name of the rule.
        instruction: Name of the instruction that the rule is applied at.
        other: Name of the second instruction; None for rules about one instruction.
    """

    rule: str
    instruction: str
    other: str | None

    @property
    def place(self) -> str:
        """The place as text that ``Module.apply`` takes, such as ``algebraic(add.1)``."""
        where = self.instruction if self.other is None else f"{self.instruction}, {self.other}"
        return f"{self.rule}({where})"

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True, slots=True)
class Rewrite(Place):
    """A place at which a rule applies, and the changes that it would make.

    Attributes:
        added: Number of instructions added, including those of new computations.
        removed: Number of instructions removed, including those of computations that are not
            called any more.
        flops: Change of the number of floating-point operations by XLA's cost model. Each
            computation counts once, however often it runs.
        bytes_accessed: Change of the number of bytes read and written, counted likewise.
        gone: Names of the removed instructions.
        work: Change of the work of one run: numbers of ``hlograph.execution.rates.features()``, and
            their amounts. A computation counts as often as it runs.
    """

    added: int
    removed: int
    flops: float
    bytes_accessed: float
    gone: tuple[str, ...]
    work: tuple[tuple[int, float], ...] = ()

    @property
    def seconds(self) -> float:
        """Predicted change of the time of one run by XLA:CPU in jaxlib, in seconds.

        See ``hlograph.Module.seconds`` for the rates. Values that XLA fuses cost no time to write
        and read here, and what XLA itself simplifies counts as if it did not.
        """
        return current_rates().predict(self.work)

    @property
    def op_count(self) -> int:
        """Change of the module's op count."""
        return self.added - self.removed

    def __str__(self) -> str:
        return f"{self.place} {self.op_count:+d}"


def find_rewrites(
    module: _xla.Module,
    chosen: Iterable[Rule | str] | Rule | str | None,
    *,
    reuse: bool = True,
    shared_copies: bool = True,
) -> list[Rewrite]:
    """Returns the rewrites that apply to a module; see ``Module.rewrites``.

    Args:
        module: The module.
        chosen: Rules or their names, or one; None means all except those for the target.
        reuse: False tries every place again, without the outcomes known from earlier listings.
        shared_copies: False tries every place again and each on a copy of its own. This is slow
            and serves as a reference for tests.

    Raises:
        UnknownNameError: No rule has one of the names.
    """
    if reuse and shared_copies:
        natives = native().rewrites(module, _pick(chosen))
    else:
        natives = native().rewrites_anew(module, _pick(chosen), not shared_copies)
    return [
        Rewrite(
            rule=rewrite.rule,
            instruction=rewrite.instruction,
            other=rewrite.other or None,
            added=rewrite.added,
            removed=rewrite.removed,
            flops=rewrite.flops,
            bytes_accessed=rewrite.bytes,
            gone=tuple(rewrite.gone),
            work=tuple(rewrite.work),
        )
        for rewrite in natives
    ]


def find_places(module: _xla.Module, chosen: Iterable[Rule | str] | Rule | str) -> list[Place]:
    """Returns the places that ``find_rewrites`` tries, without trying them.

    This takes a small fraction of the time.

    Args:
        module: The module.
        chosen: Rules or their names, or one. A rule for the target applies at each of its places;
            another rule may not apply.

    Raises:
        UnknownNameError: No rule has one of the names.
    """
    return [
        Place(place.rule, place.instruction, place.other or None)
        for place in native().propose(module, _pick(chosen))
    ]


def _pick(chosen: Iterable[Rule | str] | Rule | str | None) -> list[_xla.Rule]:
    if chosen is None:
        return [rule._native for rule in rules.general]
    if isinstance(chosen, Rule | str):
        chosen = [chosen]
    return [(rules[rule] if isinstance(rule, str) else rule)._native for rule in chosen]


def apply_rewrite(module: _xla.Module, rewrite: Place | str) -> None:
    """Applies one rewrite, or a sweep, to a module; see ``Module.apply``.

    Args:
        module: The module.
        rewrite: The rewrite, or its place as text.

    Raises:
        RewriteError: The rewrite does not apply, or XLA returned an error; the module is as before.
        UnknownNameError: No rule has its name.
        ValueError: The string is not a place.
    """
    place = rewrite if isinstance(rewrite, str) else rewrite.place
    name, instruction, other = _parts(place)
    if instruction in (EVERYWHERE, FEWER):
        if not sweep_module(module, name, fewer=instruction == FEWER):
            raise RewriteError(f"{place} applies nowhere in the module in its present state")
        return
    try:
        applied = native().apply(module, rules[name]._native, instruction, other)
    except PassError as error:
        raise RewriteError(f"{place} failed: {error}") from error
    if not applied:
        raise RewriteError(
            f"{place} does not apply to the module in its present state; call rewrites() again"
        )


def sweep_module(module: _xla.Module, rule: Rule | str, *, fewer: bool = False) -> int:
    """Applies a rule at all places of a module where it applies now; see ``Module.sweep``.

    Args:
        module: The module.
        rule: The rule, or its name.
        fewer: True for the places where that leaves fewer instructions.

    Returns:
        The number of places.

    Raises:
        RewriteError: XLA returned an error; the module is as before.
        UnknownNameError: No rule has this name.
    """
    (chosen,) = _pick([rule])
    try:
        return native().sweep(module, chosen, fewer)
    except PassError as error:
        where = FEWER if fewer else EVERYWHERE
        raise RewriteError(f"{chosen.name}({where}) failed: {error}") from error


def _parts(place: str) -> tuple[str, str, str]:
    """Returns the rule, the instruction and the other instruction (or "") of a place."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise ValueError(f"expected a place such as algebraic(add.1), got {place!r}")
    rule, instruction, other = match.groups(default="")
    return rule, instruction, other


def is_place(step: str) -> bool:
    """Returns True if the name of a step is the place of a rewrite, False if it is a pass."""
    # Every place of a rewrite contains brackets, and no pass name does.
    return "(" in step
