"""Stochastic differential equations solved by diffrax."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.diffrax_solvers import ADJOINTS, FINAL, LIBRARY


def lower_sde(
    noise: str,
    solver: diffrax.AbstractSolver,
    *,
    area: Any = diffrax.BrownianIncrement,
    adaptive: bool = False,
    gradient: bool = False,
    paths: int = 0,
    path: str = "tree",
) -> jax.stages.Lowered:
    """Lowers the solution of a stochastic differential equation.

    Args:
        noise: `additive`, `diagonal` or `general`.
        solver: Method of integration.
        area: What the method needs to know of Brownian motion.
        adaptive: Adaptive steps.
        gradient: Gradient of the final state's mean square with respect to the rates.
        paths: Solutions side by side under `vmap`; zero means a single one.
        path: `tree` (a virtual Brownian tree) or `unsafe` (independent increments).
    """
    size, wide = 3, 2

    def drift(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
        return rates * state * (1 - state**2)

    def diffusion(_: Any, state: jax.Array, rates: jax.Array) -> Any:
        if noise == "additive":
            return jnp.outer(rates, jnp.arange(1.0, wide + 1))
        if noise == "diagonal":
            return 0.1 * rates * jnp.sin(state)
        return jnp.outer(rates * state, jnp.ones(wide))

    def solve(state: jax.Array, rates: jax.Array, rng: jax.Array) -> jax.Array:
        shape = (size,) if noise == "diagonal" else (wide,)
        if path == "tree":
            motion: Any = diffrax.VirtualBrownianTree(0.0, FINAL, 1e-2, shape, rng, area)
        else:
            motion = diffrax.UnsafeBrownianPath(shape, rng, area)
        control = diffrax.WeaklyDiagonalControlTerm if noise == "diagonal" else diffrax.ControlTerm
        terms = diffrax.MultiTerm(diffrax.ODETerm(drift), control(diffusion, motion))
        controller: Any = diffrax.ConstantStepSize()
        if adaptive:
            controller = diffrax.PIDController(rtol=1e-2, atol=1e-2, dtmin=1e-2)
        return diffrax.diffeqsolve(
            terms,
            solver,
            0.0,
            FINAL,
            0.05,
            state,
            rates,
            saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=controller,
            max_steps=256,
            throw=False,
            # A path without memory cannot be walked twice.
            adjoint=ADJOINTS["direct" if path == "unsafe" else "checkpoint"](),
        ).ys

    function: Any = solve
    arguments: tuple[Any, ...] = (array(size), array(size), key())
    if paths:
        function = jax.vmap(solve, (None, None, 0))
        keys = jax.eval_shape(lambda rng: jax.random.split(rng, paths), key())
        arguments = (array(size), array(size), keys)
    if gradient:
        whole = function
        function = jax.grad(lambda *given: jnp.mean(whole(*given) ** 2), argnums=1)
    return jax.jit(function).lower(*arguments)


def lower_langevin(solver: diffrax.AbstractSolver, area: Any) -> jax.stages.Lowered:
    """Lowers underdamped Langevin diffusion in a well of fourth degree."""

    def solve(state: Any, friction: jax.Array, temperature: jax.Array, rng: jax.Array) -> Any:
        motion = diffrax.VirtualBrownianTree(0.0, FINAL, 1e-2, (4,), rng, area)
        drift = diffrax.UnderdampedLangevinDriftTerm(friction, temperature, lambda x, _: x**3 - x)
        noise = diffrax.UnderdampedLangevinDiffusionTerm(friction, temperature, motion)
        terms = diffrax.MultiTerm(drift, noise)
        save = diffrax.SaveAt(ts=jnp.linspace(0.0, FINAL, 8))
        return diffrax.diffeqsolve(terms, solver, 0.0, FINAL, 0.05, state, saveat=save).ys

    state = (array(4), array(4))
    return jax.jit(solve).lower(state, array(4), array(4), key())


def recipes() -> Iterator[Recipe]:
    """Yields stochastic methods."""
    levy, time_levy = diffrax.SpaceTimeLevyArea, diffrax.SpaceTimeTimeLevyArea
    programs: list[tuple[str, str, dict[str, Any]]] = [
        ("Euler", "general", {}),
        ("Euler", "diagonal", {"path": "unsafe", "paths": 8}),
        ("EulerHeun", "general", {"gradient": True}),
        ("Heun", "diagonal", {"adaptive": True}),
        ("ItoMilstein", "diagonal", {}),
        ("StratonovichMilstein", "diagonal", {"gradient": True}),
        ("ReversibleHeun", "general", {"paths": 4}),
        ("SEA", "additive", {"area": levy}),
        ("SRA1", "additive", {"area": levy, "adaptive": True}),
        ("ShARK", "additive", {"area": levy, "gradient": True}),
        ("GeneralShARK", "general", {"area": levy}),
        ("SPaRK", "general", {"area": levy, "adaptive": True}),
        ("SlowRK", "diagonal", {"area": levy, "paths": 4}),
    ]
    for solver, noise, options in programs:
        words = [noise, "pid" if "adaptive" in options else "constant", options.get("path", "tree")]
        words += ["grad"] if "gradient" in options else []
        words += [f"b{options['paths']}"] if "paths" in options else []
        yield Recipe(
            name=f"sde-solver/{solver.lower()}/{'-'.join(words)}",
            family="sde-solver",
            library=LIBRARY,
            recipe=f"diffrax.{solver} on a double well; {', '.join(words)} noise",
            lower=lambda solver=solver, noise=noise, options=options: lower_sde(
                noise, getattr(diffrax, solver)(), **options
            ),
            scope="algorithm",
        )
    for solver, area, argument in (
        ("ALIGN", levy, 0.1),
        ("ShOULD", time_levy, 0.1),
        ("QUICSORT", time_levy, 0.1),
    ):
        yield Recipe(
            name=f"sde-solver/{solver.lower()}/langevin-constant-tree",
            family="sde-solver",
            library=LIBRARY,
            recipe=f"diffrax.{solver}, underdamped Langevin diffusion, constant steps",
            lower=lambda solver=solver, area=area, argument=argument: lower_langevin(
                getattr(diffrax, solver)(argument), area
            ),
            scope="algorithm",
        )
