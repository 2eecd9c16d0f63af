"""Equations solved by diffrax with methods for stiff or split right-hand sides.

Implicit, implicit-explicit and symplectic methods.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from recipe import Recipe, array
from sources.diffrax_solvers import FINAL, LIBRARY, Programs, lower_ode, ode_recipes


def lower_split(solver: diffrax.AbstractSolver, gradient: bool) -> jax.stages.Lowered:
    """Lowers reaction (explicit) and diffusion (implicit) by an implicit-explicit method."""

    def explicit(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
        return state - state**3

    def implicit(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
        padded = jnp.pad(state, 1, mode="edge")
        return rates[0] * (padded[:-2] - 2 * state + padded[2:])

    def solve(state: jax.Array, rates: jax.Array, final: jax.Array) -> jax.Array:
        terms = diffrax.MultiTerm(diffrax.ODETerm(explicit), diffrax.ODETerm(implicit))
        controller = diffrax.PIDController(rtol=1e-4, atol=1e-6)
        options = {"stepsize_controller": controller, "args": rates, "max_steps": 256}
        solution = diffrax.diffeqsolve(
            terms, solver, 0.0, final, 0.05, state, throw=False, **options
        )
        return solution.ys

    function = jax.grad(lambda *arguments: jnp.sum(solve(*arguments) ** 2)) if gradient else solve
    return jax.jit(function).lower(array(16), array(1), array())


def lower_symplectic() -> jax.stages.Lowered:
    """Lowers planets around a sun by the semi-implicit Euler method."""

    def force(_: Any, position: jax.Array, mass: jax.Array) -> jax.Array:
        apart = position[:, None] - position
        distance = jnp.sqrt(jnp.sum(apart**2, axis=-1, keepdims=True) + 1e-2)
        return -jnp.sum(mass[:, None] * apart / distance**3, axis=1)

    def solve(position: jax.Array, velocity: jax.Array, mass: jax.Array) -> Any:
        terms = (diffrax.ODETerm(lambda t, v, args: v), diffrax.ODETerm(force))
        save = diffrax.SaveAt(ts=jnp.linspace(0.0, FINAL, 8))
        solver = diffrax.SemiImplicitEuler()
        return diffrax.diffeqsolve(
            terms, solver, 0.0, FINAL, 0.05, (position, velocity), mass, saveat=save
        ).ys

    return jax.jit(solve).lower(array(5, 3), array(5, 3), array(5))


def recipes() -> Iterator[Recipe]:
    """Yields implicit, implicit-explicit and symplectic methods."""
    programs: Programs = [
        ("ImplicitEuler", "reaction", {}),
        ("Kvaerno3", "robertson", {}),
        ("Kvaerno3", "van-der-pol", {"gradient": True}),
        ("Kvaerno4", "van-der-pol", {"saved": "times"}),
        ("Kvaerno4", "robertson", {"batch": 4}),
        ("Kvaerno5", "robertson", {"saved": "times"}),
        ("Kvaerno5", "reaction", {}),
        ("Kvaerno5", "robertson", {"gradient": True, "adjoint": "backsolve"}),
        ("Kvaerno5", "van-der-pol", {"saved": "dense", "steps": "clip"}),
    ]
    yield from ode_recipes("implicit-ode", programs)
    chord = diffrax.VeryChord(rtol=1e-3, atol=1e-6)
    solver = diffrax.ImplicitEuler(root_finder=chord)
    yield Recipe(
        name="implicit-ode/impliciteuler-van-der-pol/constant-end",
        family="implicit-ode",
        library=LIBRARY,
        recipe="diffrax.ImplicitEuler with VeryChord on van-der-pol; constant, end",
        lower=partial(lower_ode, "van-der-pol", solver, steps="constant"),
        scope="algorithm",
    )
    for name, kind in (
        ("KenCarp3", "grad"),
        ("KenCarp4", "solve"),
        ("KenCarp5", "solve"),
        ("Sil3", "solve"),
    ):
        yield Recipe(
            name=f"implicit-ode/{name.lower()}-split-reaction/pid-{kind}",
            family="implicit-ode",
            library=LIBRARY,
            recipe=f"diffrax.{name}, reaction explicit, diffusion implicit, adaptive; {kind}",
            lower=partial(lower_split, getattr(diffrax, name)(), gradient=kind == "grad"),
            scope="algorithm",
        )
    yield Recipe(
        name="ode-solver/semiimpliciteuler-planets/constant-times",
        family="ode-solver",
        library=LIBRARY,
        recipe="diffrax.SemiImplicitEuler, five bodies, constant steps, saved at 8 times",
        lower=lower_symplectic,
        scope="algorithm",
    )
