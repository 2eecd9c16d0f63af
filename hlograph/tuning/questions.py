"""Questions to the worker process of a space."""

from __future__ import annotations

from typing import NamedTuple

from hlograph.plans import Plan
from hlograph.tuning.knobs import Point
from hlograph.tuning.recipe import Recipe


class KnobsAt(NamedTuple):
    """A request: the knobs of the program when it is compiled as a point says."""

    point: Point


class PlanOf(NamedTuple):
    """A request: the plan of a point."""

    point: Point


class RecipeOf(NamedTuple):
    """A request: the recipe of a plan."""

    plan: Plan


class PlanBy(NamedTuple):
    """A request: the plan by a recipe."""

    recipe: Recipe


class KernelsOf(NamedTuple):
    """A request: the kernels of the program when it is compiled as a point says."""

    point: Point


Question = KnobsAt | PlanOf | RecipeOf | PlanBy | KernelsOf
