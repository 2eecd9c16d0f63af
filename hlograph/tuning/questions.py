"""Questions to the worker process of a space."""

from __future__ import annotations

from collections.abc import Mapping
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


class HeavyPlacesAt(NamedTuple):
    """A request: the heavy places of the program when it is compiled as a point says."""

    point: Point


class CutTimeOf(NamedTuple):
    """A request: the speed of a place cut out of such a program, with values of its knobs."""

    point: Point
    kind: str
    values: Mapping[str, str]


Question = KnobsAt | PlanOf | RecipeOf | PlanBy | KernelsOf | HeavyPlacesAt | CutTimeOf
