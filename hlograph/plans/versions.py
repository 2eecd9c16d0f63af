"""Versions of one program: what each leaves open, and the plans of points."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property, lru_cache

from hlograph.errors import HloError
from hlograph.module import Module
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.instruction_knobs import LayoutKnobs, PlaceKnobs
from hlograph.plans.jaxlib_versions import rules_for_time
from hlograph.plans.knobs import DEFAULT, Point, Recipe, flags_of, values_of
from hlograph.plans.transforming import after_steps, apply_steps
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import sweep

STEPS = "steps program"
"""Name of the knob of passes and rewrites; its values are lists of steps, as JSON."""

# Versions that are kept with their knobs.
_KEPT = 8


class Versions:
    """Versions of one program, as XLA optimizes them in this process.

    What ends the process ends this object: ``hlograph.optimization.program_space`` has one that
    survives it.

    Args:
        program: The program.
        numerics: Class of the results.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        self.program = program
        self.numerics: Numerics = numerics
        self._layouts = lru_cache(_KEPT)(self._layout_knobs)
        self._places = lru_cache(_KEPT)(self._place_knobs)

    @cached_property
    def opcodes(self) -> list[str]:
        """The opcodes of the program."""
        return sorted(set(self.program.flow.opcodes))

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules for time to try in the class of results; none without the engine."""
        return rules_for_time(exact=self.numerics == "exact")

    def version(self, point: Point) -> Plan:
        """Returns the plan without placements that the placements of a point are about.

        Raises:
            HloError: A step of the point does not apply.
        """
        values, steps = point.at("layout"), steps_of(point)
        return Plan(
            self.program.name,
            self.program.fingerprint,
            steps,
            layouts=self.layouts(steps).layouts(values) if values else {},
            flags=flags_of(point.at("flags")),
            numerics=self.numerics,
        )

    def layouts(self, steps: tuple[str, ...]) -> LayoutKnobs:
        """Returns the knobs of layouts of the program after steps.

        Raises:
            HloError: A step does not apply.
        """
        return self._layouts(steps)

    def places(self, version: Plan) -> PlaceKnobs:
        """Returns the knobs of fusion and kernels of a version.

        Raises:
            HloError: The program does not compile so.
        """
        return self._places(version)

    def plan(self, point: Point) -> Plan:
        """Returns the plan of a point.

        Raises:
            HloError: The program does not compile so.
        """
        version, values = self.version(point), point.at("fusion", "kernel")
        if not values:
            return version
        knobs = self.places(version)
        placements = knobs.placements(values)
        placed = knobs.fingerprint if placements else ""
        return replace(version, placements=placements, placed=placed)

    def recipe(self, plan: Plan) -> Recipe:
        """Returns the recipe of a plan.

        Raises:
            HloError: The program does not compile so.
        """
        values = values_of(plan.flags)
        if plan.layouts:
            values |= self.layouts(plan.steps).values_of(plan.layouts)
        if plan.placements:
            base = replace(plan, placements=(), placed="")
            values |= self.places(base).values_of(plan.placements)
        return Recipe.of(plan.steps, Point.of(values))

    def steps_by(self, recipe: Recipe) -> str:
        """Returns the steps of a recipe as a value of the knob; what does not apply is left out."""
        if not recipe.steps:
            return DEFAULT
        module = self.program.module()
        steps: list[str] = []
        for name in recipe.steps:
            try:
                if name in rules:
                    steps += sweep(module, name)
                else:
                    apply_steps(module, (name,))
                    steps.append(name)
            except HloError:
                continue
        return json.dumps(steps) if steps else DEFAULT

    def after_steps(self, steps: tuple[str, ...]) -> Module:
        """Returns a new module of the program after steps.

        Raises:
            HloError: A step does not apply.
        """
        module = self.program.module()
        apply_steps(module, steps)
        return module

    def _layout_knobs(self, steps: tuple[str, ...]) -> LayoutKnobs:
        return LayoutKnobs(after_steps(self.program, steps))

    def _place_knobs(self, version: Plan) -> PlaceKnobs:
        return PlaceKnobs(optimized_module(self.program, version))


def steps_of(point: Point) -> tuple[str, ...]:
    """Returns the steps that a point sets."""
    steps = point.at("steps").get(STEPS)
    return tuple(json.loads(steps)) if steps else ()
