"""Ordinary differential equations, and their solution by diffrax with explicit methods."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from recipe import Recipe, array

LIBRARY = "diffrax"
FINAL = 4.0

Field = Callable[[Any, jax.Array, Any], jax.Array]
Programs = list[tuple[str, str, dict[str, Any]]]
"""Solver, equation and options of `lower_ode`."""


def lotka_volterra(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change of prey and predators."""
    prey, predators = state
    first, second, third, fourth = rates
    both = prey * predators
    return jnp.stack([first * prey - second * both, third * both - fourth * predators])


def lorenz(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change of a chaotic convection."""
    x, y, z = state
    return jnp.stack([rates[0] * (y - x), x * (rates[1] - z) - y, x * y - rates[2] * z])


def pendulum(time: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change of a pendulum, damped and driven."""
    angle, speed = state
    drive = rates[0] * jnp.cos(rates[1] * time)
    return jnp.stack([speed, drive - jnp.sin(angle) - rates[2] * speed])


def robertson(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change by three chemical reactions, stiff."""
    x, y, z = state
    first = -rates[0] * x + rates[1] * y * z
    third = rates[2] * y**2
    return jnp.stack([first, -first - third, third])


def van_der_pol(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change of an oscillator with relaxation, stiff for large rates."""
    x, y = state
    return jnp.stack([y, rates[0] * (1 - x**2) * y - x])


def burgers(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change by Burgers' equation, by the method of lines, periodic."""
    left, right = jnp.roll(state, 1), jnp.roll(state, -1)
    return rates[0] * (left - 2 * state + right) - state * (right - left) / 2


def reaction(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the change by reaction and diffusion on a line (Allen-Cahn)."""
    padded = jnp.pad(state, 1, mode="edge")
    spread = padded[:-2] - 2 * state + padded[2:]
    return rates[0] * spread + state - state**3


FIELDS: dict[str, tuple[Field, int, int]] = {
    "lotka-volterra": (lotka_volterra, 2, 4),
    "lorenz": (lorenz, 3, 3),
    "pendulum": (pendulum, 2, 3),
    "robertson": (robertson, 3, 3),
    "van-der-pol": (van_der_pol, 2, 1),
    "burgers": (burgers, 32, 1),
    "reaction": (reaction, 16, 1),
}
"""Right-hand side, size of the state and number of rates, by name."""

ADJOINTS: dict[str, Callable[[], diffrax.AbstractAdjoint]] = {
    "checkpoint": diffrax.RecursiveCheckpointAdjoint,
    "direct": diffrax.DirectAdjoint,
    "backsolve": diffrax.BacksolveAdjoint,
    "forward": diffrax.ForwardMode,
}


def lower_ode(
    equation: str,
    solver: diffrax.AbstractSolver,
    *,
    steps: str = "pid",
    adjoint: str = "checkpoint",
    saved: str = "end",
    gradient: bool = False,
    batch: int = 0,
    event: bool = False,
) -> jax.stages.Lowered:
    """Lowers the solution of an ordinary differential equation.

    Args:
        equation: A key of `FIELDS`.
        solver: Method of integration.
        steps: `pid` (adaptive), `clip` (adaptive, with jumps at given times) or `constant`.
        adjoint: A key of `ADJOINTS`.
        saved: `end`; `times` (16 times); `steps` (every step); `dense` (interpolated at a time).
        gradient: Gradient of the final state's square with respect to state and rates.
        batch: Solutions side by side under `vmap`; zero means a single one.
        event: End where the first number of the state changes its sign.
    """
    field, size, rates = FIELDS[equation]
    adaptive = diffrax.PIDController(rtol=1e-4, atol=1e-6)
    jumps = jnp.array([1.0, 2.0])
    controllers: dict[str, diffrax.AbstractStepSizeController] = {
        "pid": adaptive,
        "clip": diffrax.ClipStepSizeController(adaptive, step_ts=jumps, jump_ts=jumps[:1]),
        "constant": diffrax.ConstantStepSize(),
    }
    saves = {"end": {"t1": True}, "steps": {"steps": True}, "dense": {"dense": True}}
    crossing = diffrax.Event(lambda t, y, args, **_: y[0]) if event else None

    def solve(state: jax.Array, rates: jax.Array, final: jax.Array) -> Any:
        wanted = saves.get(saved, {"ts": jnp.linspace(0.0, final, 16)})
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver,
            t0=0.0,
            t1=final,
            dt0=0.05,
            y0=state,
            args=rates,
            saveat=diffrax.SaveAt(**wanted),
            stepsize_controller=controllers[steps],
            adjoint=ADJOINTS[adjoint](),
            max_steps=256,
            event=crossing,
            throw=False,
        )
        return solution.evaluate(rates[0]) if saved == "dense" else solution.ys

    def loss(state: jax.Array, rates: jax.Array, final: jax.Array) -> jax.Array:
        return jnp.sum(solve(state, rates, final) ** 2)

    function = solve
    if gradient:
        function = jax.jacfwd(loss) if adjoint == "forward" else jax.grad(loss, argnums=(0, 1))
    arguments = (array(size), array(rates), array())
    if batch:
        function = jax.vmap(function, (0, None, None))
        arguments = (array(batch, size), *arguments[1:])
    return jax.jit(function).lower(*arguments)


def ode_recipes(family: str, programs: Programs) -> Iterator[Recipe]:
    """Yields solutions of ordinary differential equations: solver, equation and options."""
    for solver, equation, options in programs:
        words = [options.get("steps", "pid"), options.get("saved", "end")]
        words += [f"grad-{options.get('adjoint', 'checkpoint')}"] if "gradient" in options else []
        words += [f"b{options['batch']}"] if "batch" in options else []
        words += ["event"] if "event" in options else []
        yield Recipe(
            name=f"{family}/{solver.lower()}-{equation}/{'-'.join(words)}",
            family=family,
            library=LIBRARY,
            recipe=f"diffrax.{solver} on {equation}; {', '.join(words)}",
            lower=partial(lower_ode, equation, getattr(diffrax, solver)(), **options),
            scope="algorithm",
        )


def recipes() -> Iterator[Recipe]:
    """Yields explicit methods."""
    programs: Programs = [
        ("Euler", "pendulum", {"steps": "constant"}),
        ("Heun", "lotka-volterra", {}),
        ("Midpoint", "lorenz", {"saved": "times"}),
        ("Ralston", "van-der-pol", {"gradient": True}),
        ("Bosh3", "lotka-volterra", {"saved": "dense"}),
        ("Bosh3", "pendulum", {"event": True}),
        ("Tsit5", "lorenz", {}),
        ("Tsit5", "lotka-volterra", {"saved": "times", "batch": 8}),
        ("Tsit5", "pendulum", {"steps": "clip", "saved": "steps"}),
        ("Tsit5", "lotka-volterra", {"gradient": True}),
        ("Tsit5", "lotka-volterra", {"gradient": True, "adjoint": "backsolve"}),
        ("Tsit5", "lotka-volterra", {"gradient": True, "adjoint": "forward"}),
        ("Tsit5", "lotka-volterra", {"gradient": True, "adjoint": "direct", "steps": "constant"}),
        ("Dopri5", "burgers", {"saved": "times"}),
        ("Dopri5", "lorenz", {"gradient": True, "batch": 4}),
        ("Dopri5", "lorenz", {"saved": "dense", "steps": "constant"}),
        ("Dopri8", "burgers", {}),
        ("Dopri8", "pendulum", {"gradient": True}),
        ("LeapfrogMidpoint", "pendulum", {"steps": "constant", "saved": "steps"}),
        ("ReversibleHeun", "lotka-volterra", {"steps": "constant", "gradient": True}),
    ]
    yield from ode_recipes("ode-solver", programs)
