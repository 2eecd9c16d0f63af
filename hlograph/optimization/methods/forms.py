"""Rules for time: other forms of what a program computes."""

from __future__ import annotations

from hlograph.measuring.trial import Outcome
from hlograph.optimization.methods.protocol import HELPS, Method
from hlograph.optimization.methods.sweeps import Choice, Sweeps
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.transforms.rules import rules

# Some rules pay only with others, as a library takes what one of them leaves: all rules are tried
# together that alone have at least these ratios.
_TOGETHER = (0.97, 0.5)
_MOST_GROUPS = 8


class Forms:
    """Proposes each rule for time wherever it applies, then those that helped together.

    A rule whose places differ in shape is also tried on the places of one shape. All rules that do
    not hurt much are tried together, and a rule is added to the fastest ones so far as long as this
    helps.

    Args:
        program: The program.
        numerics: ``exact`` leaves out rules that round differently.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        self._program = program
        names = [rule.name for rule in rules.for_time if rule.exact or numerics != "exact"]
        self._sweeps = Sweeps(program, tuple(names))
        self._alone: list[Choice] | None = None
        self._made: dict[str, tuple[Choice, ...]] = {}
        self._ratios: dict[tuple[Choice, ...], float] = {}
        self._tried: set[frozenset[Choice]] = set()
        self._bounds = list(_TOGETHER)

    def ask(self) -> Plan | None:
        """Returns the next rule alone, or added to the fastest ones; None if there is none now."""
        if self._alone is None:
            self._alone = _limited(self._sweeps.choices())
        while self._alone:
            choices = (self._alone.pop(0),)
            if steps := self._sweeps.steps(choices):
                return self._plan(choices, steps)
        return self._together() or self._joined()

    def tell(self, outcome: Outcome) -> None:
        """Takes note of the speed of a plan of this method."""
        if choices := self._made.get(outcome.plan.digest):
            self._ratios[choices] = outcome.ratio

    def _plan(self, choices: tuple[Choice, ...], steps: tuple[str, ...]) -> Plan:
        names = list(dict.fromkeys(choice.rule for choice in choices))
        exact = all(rules[name].exact for name in names)
        plan = Plan(
            self._program.name,
            self._program.fingerprint,
            steps,
            numerics="exact" if exact else "close",
            method=f"forms: {', '.join(names)}",
        )
        self._made[plan.digest] = choices
        return plan

    def _together(self) -> Plan | None:
        """Returns rules that alone did not hurt much, when each of them was measured."""
        while self._bounds and len(self._ratios) == len(self._made):
            bound = self._bounds.pop(0)
            choices = tuple(
                choices[0]
                for choices, ratio in self._ratios.items()
                if len(choices) == 1 and not choices[0].group and ratio >= bound
            )
            joint = frozenset(choices)
            if len(choices) > 1 and joint not in self._tried:
                self._tried.add(joint)
                if steps := self._sweeps.steps(choices):
                    return self._plan(choices, steps)
        return None

    def _joined(self) -> Plan | None:
        """Returns the fastest choices so far with one more that helped alone, the fastest first."""
        helpful = {choices: ratio for choices, ratio in self._ratios.items() if ratio >= HELPS}
        ranked = sorted(helpful, key=lambda choices: -helpful[choices])
        for other in ranked[1:]:
            best = ranked[0]
            joint = frozenset(best + other)
            if len(other) != 1 or _overlaps(best, other[0]) or joint in self._tried:
                continue
            self._tried.add(joint)
            # One rule may take the place of the other: then the other order may have both.
            for choices in (best + other, other + best):
                steps = self._sweeps.steps(choices)
                if all(_applies(choice, steps) for choice in choices):
                    return self._plan(choices, steps)
        return None


def forms(program: Program, numerics: Numerics) -> Method:
    """Returns the method that tries rules for time."""
    return Forms(program, numerics)


def _applies(choice: Choice, steps: tuple[str, ...]) -> bool:
    """Returns True if a step is of this rule."""
    return any(step.startswith(f"{choice.rule}(") for step in steps)


def _overlaps(choices: tuple[Choice, ...], other: Choice) -> bool:
    """Returns True if a choice is part of others, or they are of it."""
    return any(
        one.rule == other.rule and (not one.group or not other.group or one.group == other.group)
        for one in choices
    )


def _limited(choices: list[Choice]) -> list[Choice]:
    """Returns the choices, with the groups of rules that have few of them at the end."""
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        if choice.group:
            groups.setdefault(choice.rule, []).append(choice)
    few = [choice for parts in groups.values() for choice in parts[:_MOST_GROUPS]]
    return [choice for choice in choices if not choice.group] + few
