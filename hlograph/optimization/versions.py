"""Recipes of earlier versions of a program: other shapes, one layer more, other names within.

A version that was never searched for begins with the recipe of the last one that has its name,
whatever machine that was on: a recipe is measured like any other plan.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import replace

from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization.store import Store
from hlograph.plans import Plan
from hlograph.storage.locations import Location, join, read_bytes, write_bytes
from hlograph.tuning.flag_knobs import values_of
from hlograph.tuning.knobs import Point
from hlograph.tuning.recipe import Recipe
from hlograph.tuning.space import ProgramSpace

METHOD = "earlier version"
"""Method of a plan by the recipe of an earlier version."""


def plans_of_earlier_version(store: Store, job: Job) -> Iterator[Plan]:
    """Yields the plan by the recipe of an earlier version, if there is one and it does anything."""
    try:
        recipe = Recipe.from_json(read_bytes(_file(store, job)))
    except (OSError, HloError):
        return
    try:
        with _space(job) as space:
            plan = space.plan_by(recipe)
    except HloError:
        return
    if not plan.is_empty:
        yield replace(plan, method=METHOD)


def put_recipe(store: Store, job: Job, plan: Plan) -> None:
    """Stores the recipe of a program's plan, for later versions of the program.

    Raises:
        OSError: The file cannot be written.
    """
    try:
        recipe = recipe_of(job, plan)
    except HloError:  # what cannot be said in general holds for this version alone
        return
    write_bytes(_file(store, job), recipe.to_json().encode())


def recipe_of(job: Job, plan: Plan) -> Recipe:
    """Returns the recipe of a plan of a program.

    Raises:
        HloError: The program does not compile with the plan.
    """
    if not (plan.placements or plan.layouts):
        return Recipe.of(plan.steps, Point.of(values_of(plan.flags)))
    with _space(job) as space:
        return space.recipe_of(plan)


@contextlib.contextmanager
def _space(job: Job) -> Iterator[ProgramSpace]:
    space = ProgramSpace(job.program, job.numerics)
    try:
        yield space
    finally:
        space.close()


def _file(store: Store, job: Job) -> Location:
    named = f"{job.program.name} {job.numerics}"
    return join(store.location, f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.recipe.json")
