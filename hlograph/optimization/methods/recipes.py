"""Recipes that come with the package: rules and flags that made programs of the train split faster.

``python -m experiments.tune.recipes`` writes their file, ``recipes.json``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import NamedTuple

from hlograph.decisions.plan_states import PREDICTED
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods import COLD, PlanSearch
from hlograph.optimization.methods.forms import RuleScope, Sweeps, shares_of
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.flags import FlagValue
from hlograph.plans.jaxlib_versions import rules_for_time
from hlograph.plans.knobs import flag_knobs, values_of

FILE = Path(__file__).with_name("recipes.json")


class ShippedRecipe(NamedTuple):
    """Rules and flags that together were the fastest plan of programs, or a part of it.

    Attributes:
        rules: Names of rules, each to be applied at all of its places, or
            ``predicted`` for those that are predicted to save time.
        flags: The flags.
        programs: Number of programs of the train split whose fastest plan has them all.
        gain: Sum of the logarithms of these programs' ratios, as far as no earlier recipe has them.
    """

    rules: tuple[str, ...]
    flags: Mapping[str, FlagValue]
    programs: int
    gain: float


@functools.cache
def shipped() -> tuple[ShippedRecipe, ...]:
    """Returns the recipes, those that gain most first."""
    return tuple(
        ShippedRecipe(tuple(each["rules"]), each["flags"], each["programs"], each["gain"])
        for each in json.loads(FILE.read_text())
    )


class Recipes(PlanSearch):
    """Proposes the recipes that fit a program: all of their rules have a place in it.

    Flags that cannot matter to the program are left out. So are recipes about instructions that
    take hardly any of the default's time, when that is known.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        self._program = program
        self._numerics: Numerics = numerics
        self._hot: Mapping[str, float] | None = None
        names = rules_for_time(exact=numerics == "exact")
        self._sweeps = Sweeps.shared(program, names) if names else None
        self._plans = self._fitting()

    @property
    def ready(self) -> bool:
        """False while the places of rules are listed."""
        return self._sweeps is None or self._sweeps.ready

    def _next(self) -> Plan | None:
        """Returns the plan of the next recipe, and waits for the first; None if there is none."""
        return next(self._plans, None)

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of where the default spends its time."""
        if result.hot is not None:
            self._hot = result.hot

    def close(self) -> None:
        """Ends the process that applies rules."""
        self._plans.close()
        if self._sweeps is not None:
            self._sweeps.close()

    def _fitting(self) -> Generator[Plan]:
        """Yields the plans of recipes that fit."""
        choices = self._sweeps.choices() if self._sweeps else []
        scopes = {choice.rule: choice for choice in choices if not choice.group}
        if scopes:
            scopes[PREDICTED] = RuleScope()
        for recipe in shipped():
            chosen = tuple(scopes[rule] for rule in recipe.rules if rule in scopes)
            flags = self._matching(recipe.flags)
            if len(chosen) < len(recipe.rules) or self._is_cold(chosen) or not (chosen or flags):
                continue
            steps = self._sweeps.steps(chosen) if self._sweeps and chosen else ()
            if bool(steps) == bool(chosen):
                yield self._plan(recipe, steps, flags)

    def _matching(self, flags: Mapping[str, FlagValue]) -> dict[str, FlagValue]:
        """Returns those flags that can matter to the program."""
        knobs = flag_knobs(self._program.flow.opcodes, self._hot, self._numerics)
        matter = {knob.name for knob in knobs if knob.share >= COLD}
        return {name: flags[name] for name in flags if values_of({name: 0}).keys() <= matter}

    def _is_cold(self, chosen: tuple[RuleScope, ...]) -> bool:
        """Returns True if a rule is about instructions that are known to take hardly any time."""
        hot = self._hot or {}
        return any(max(shares_of(scope, hot), default=1.0) < COLD for scope in chosen)

    def _plan(
        self, recipe: ShippedRecipe, steps: tuple[str, ...], flags: Mapping[str, FlagValue]
    ) -> Plan:
        words = (*recipe.rules, *(f"{name}={value}" for name, value in flags.items()))
        return Plan(
            self._program.name,
            self._program.fingerprint,
            steps,
            flags=flags,
            numerics=self._numerics,
            method=f"recipes: {', '.join(words)}",
        )
