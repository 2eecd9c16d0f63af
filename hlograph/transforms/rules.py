"""The rewrite rules: XLA's own code, and identities of linear algebra, for one place of a module.

``hlograph.rules`` is the registry of rules; docs/rewrite-rules.md explains them::

    >>> import hlograph
    >>> print(hlograph.rules)  # the whole table
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlograph._native import native
from hlograph.transforms.registry import Named

if TYPE_CHECKING:
    from hlograph import _xla


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite rule.

    Attributes:
        name: Name in ``hlograph.rules``. A rule that runs a registry pass at one instruction has
            the name of that pass.
        description: Its effect, in one line.
        xla_code: The class or function in namespace ``xla`` that implements it; empty if the rule
            is not XLA's.
        equation: The identity that a rule of hlograph's own applies, with the pattern on the left
            side; empty for XLA's rules.
        index: Position among the rules.
        for_target: True if the rule is for modules that XLA:CPU has lowered
            (``xla_cpu.before_fusion``); other rules are for modules as users write them.
        for_time: True if the rule gives a computation another form, which may be faster or slower,
            whatever its op count.
        kernel: Target of the custom calls that the rule puts into a module, to a native kernel,
            which jaxlib alone can run; empty for other rules.
        exact: True if every bit of the results stays as it is; other rules may round differently.
    """

    name: str
    description: str
    xla_code: str
    equation: str
    index: int
    for_target: bool
    for_time: bool
    kernel: str
    exact: bool
    _native: _xla.Rule = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.description} [{self.xla_code or self.equation}]"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # The native handle cannot leave its process; the name identifies the rule in another.
        return _entry, (self.name,)


class Rules(Named[Rule]):
    """Registry of all rules, by position and by name."""

    @property
    def general(self) -> tuple[Rule, ...]:
        """All rules that simplify: neither for the target nor for time, and without a kernel."""
        return tuple(rule for rule in self if not (rule.for_target or rule.for_time or rule.kernel))

    @property
    def for_time(self) -> tuple[Rule, ...]:
        """All rules that give a computation another form (``Rule.for_time``)."""
        return tuple(rule for rule in self if rule.for_time)

    @property
    def of_kernels(self) -> tuple[Rule, ...]:
        """All rules that put a native kernel in the place of instructions (``Rule.kernel``)."""
        return tuple(rule for rule in self if rule.kernel)

    def names_for_time(self, *, exact: bool) -> tuple[str, ...]:
        """Returns the names of the rules for time, or of those that keep every bit of the results.

        Args:
            exact: True leaves out rules that round differently.
        """
        return tuple(rule.name for rule in self.for_time if rule.exact or not exact)

    def __repr__(self) -> str:
        return f"<{len(self)} rules: {', '.join(self.names[:4])}, ...>"


def _entry(name: str) -> Rule:
    return rules[name]


def _load() -> Iterator[Rule]:
    for index, entry in enumerate(native().rules()):
        yield Rule(
            name=entry.name,
            description=entry.description,
            xla_code=entry.xla_code,
            equation=entry.equation,
            index=index,
            for_target=entry.for_target,
            for_time=entry.for_time,
            kernel=entry.kernel,
            exact=entry.exact,
            _native=entry,
        )


rules = Rules("rule", _load)
"""The rules of the linked XLA, followed by hlograph's own."""
