"""Differential equations: small systems over hundreds of steps, by diffrax and by jax."""

# pyright: reportMissingImports=false
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

# Otherwise a check of the inputs calls back to Python, which a stored module cannot.
os.environ["EQX_ON_ERROR"] = "nan"

import diffrax
import jax
import jax.numpy as jnp
import lineax as lx
from jax.experimental.ode import odeint
from recipe import Recipe, array, key
from sources.diffrax_solvers import lorenz, pendulum
from speed.programs import Program, program_recipes

LIBRARY = "diffrax"

Field = Callable[[Any, Any, Any], Any]


def convection(time: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the field of Lorenz's equations with positive rates."""
    return lorenz(time, state, jax.nn.softplus(rates))


def network(_: Any, state: jax.Array, weights: Any) -> jax.Array:
    """Returns the field of a small neural network."""
    first, second = weights
    return jnp.tanh(state @ first) @ second - 0.1 * state


def oscillators(_: Any, phases: jax.Array, natural: jax.Array) -> jax.Array:
    """Returns the speeds of oscillators that are coupled all to all (Kuramoto)."""
    return natural + jnp.mean(jnp.sin(phases[None] - phases[:, None]), axis=1)


def membrane(_: Any, state: jax.Array, drive: jax.Array) -> jax.Array:
    """Returns the field of neurons of FitzHugh and Nagumo, coupled on a ring."""
    voltage, recovery = state
    spread = jnp.roll(voltage, 1) - 2 * voltage + jnp.roll(voltage, -1)
    return jnp.stack(
        [
            voltage - voltage**3 / 3 - recovery + spread + 0.1 * drive,
            0.08 * (voltage + 0.7 - 0.8 * recovery),
        ]
    )


def chemistry(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns the field of three stiff reactions (Robertson), with moderate rates."""
    x, y, z = state
    speeds = jax.nn.sigmoid(rates)
    first = -speeds[0] * x + 10.0 * speeds[1] * y * z
    third = 30.0 * speeds[2] * jnp.tanh(y) * y
    return jnp.stack([first, -first - third, third])


def diffusion(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
    """Returns reaction and diffusion on a line (Allen and Cahn), stiff."""
    padded = jnp.pad(state, 1, mode="edge")
    spread = padded[:-2] - 2 * state + padded[2:]
    return 20.0 * jax.nn.softplus(rates[0]) * spread + state - state**3


def stepped(
    field: Field, solver: diffrax.AbstractSolver, steps: int, size: float = 0.01, saved: int = 0
) -> Callable[..., Any]:
    """Returns a solution by a fixed number of equal steps; `saved` times are returned."""

    def solve(state: Any, rates: Any) -> Any:
        final = steps * size
        times = {"ts": jnp.linspace(0.0, final, saved)} if saved else {"t1": True}
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver,
            t0=0.0,
            t1=final,
            dt0=size,
            y0=state,
            args=rates,
            saveat=diffrax.SaveAt(**times),
            stepsize_controller=diffrax.ConstantStepSize(),
            max_steps=steps + 8,
            throw=False,
        ).ys

    return solve


def adaptive(field: Field, solver: diffrax.AbstractSolver, final: float) -> Callable[..., Any]:
    """Returns a solution by adaptive steps, at 64 times."""

    def solve(state: Any, rates: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver,
            t0=0.0,
            t1=final,
            dt0=0.01,
            y0=state,
            args=rates,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, final, 64)),
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5),
            max_steps=1024,
            throw=False,
        ).ys

    return solve


def sloped(solve: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the gradient of the square of a solution for state and rates."""
    return jax.grad(lambda *given: jnp.sum(solve(*given) ** 2), argnums=(0, 1))


def integrated(state: jax.Array, times: jax.Array, weights: Any) -> jax.Array:
    """Returns the trajectory of a network by jax's `odeint`."""
    times = jnp.cumsum(jax.nn.softplus(times)) * 0.1
    return odeint(lambda y, t, w: network(t, y, w), state, times, weights)


def random_paths(kind: str, steps: int) -> Callable[..., Any]:
    """Returns paths of stochastic equations: Langevin's in two wells, or a volatility's."""

    def drift(_: Any, state: jax.Array, rates: jax.Array) -> jax.Array:
        return state - state**3 if kind == "wells" else rates * (1.0 - state)

    def diffusion(_: Any, state: jax.Array, rates: jax.Array) -> lx.DiagonalLinearOperator:
        size = 0.5 * jnp.ones_like(state) if kind == "wells" else 0.3 * jnp.tanh(state)
        return lx.DiagonalLinearOperator(size)

    def one(rng: jax.Array, state: jax.Array, rates: jax.Array) -> jax.Array:
        final = 0.01 * steps
        motion: Any = diffrax.UnsafeBrownianPath(state.shape, rng)
        solver: Any = diffrax.EulerHeun()
        if kind == "wells":
            motion = diffrax.VirtualBrownianTree(0.0, final, 1e-2, state.shape, rng)
            solver = diffrax.Heun()
        terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, motion))
        return diffrax.diffeqsolve(
            terms,
            solver,
            0.0,
            final,
            0.01,
            state,
            rates,
            adjoint=diffrax.DirectAdjoint(),
            max_steps=steps + 8,
            throw=False,
        ).ys

    def several(rng: jax.Array, states: jax.Array, rates: jax.Array) -> Any:
        rngs = jax.random.split(rng, len(states))
        ends = jax.vmap(one, (0, 0, None))(rngs, states, rates)
        return ends.mean(axis=0), ends.var(axis=0)

    return several


def programs() -> Iterator[tuple[str, str, Any, tuple[Any, ...]]]:
    """Yields name, words, function and arguments."""
    weights = (array(16, 32), array(32, 16))
    tsit = diffrax.Tsit5()
    chord = diffrax.VeryChord(rtol=1e-3, atol=1e-5)
    third, fifth = (solver(root_finder=chord) for solver in (diffrax.Kvaerno3, diffrax.Kvaerno5))
    batch = jax.vmap(stepped(convection, tsit, 200), (0, None))
    yield (
        "ode/tsit5-lorenz/t8192",
        "Tsit5, saved at 512 times",
        stepped(convection, tsit, 8192, saved=512),
        (array(3), array(3)),
    )
    yield "ode/tsit5-lorenz/b256-t200", "Tsit5, a batch", batch, (array(256, 3), array(3))
    yield (
        "ode/dopri5-network/t200-d16",
        "Dopri5 of a network",
        stepped(network, diffrax.Dopri5(), 200, 0.02, 50),
        (array(16), weights),
    )
    yield (
        "ode/tsit5-network/grad-t100-d16",
        "gradient through Tsit5 of a network",
        sloped(stepped(network, tsit, 100, 0.02)),
        (array(16), weights),
    )
    yield (
        "ode/leapfrog-pendulum/b512-t500",
        "the leapfrog midpoint method, a batch",
        jax.vmap(stepped(pendulum, diffrax.LeapfrogMidpoint(), 500, saved=50), (0, None)),
        (array(512, 2), array(3)),
    )
    yield (
        "ode/heun-oscillators/t200-n128",
        "Heun's method of coupled oscillators",
        stepped(oscillators, diffrax.Heun(), 200, 0.05, 20),
        (array(128), array(128)),
    )
    yield (
        "ode/adaptive-membrane/n256",
        "Dopri8, adaptive, of neurons on a ring",
        adaptive(membrane, diffrax.Dopri8(), 60.0),
        (array(2, 256), array(256)),
    )
    yield (
        "ode/kvaerno3-chemistry/b32-t20",
        "Kvaerno3, implicit, of a batch",
        jax.vmap(stepped(chemistry, third, 20, 0.05), (0, None)),
        (array(32, 3), array(3)),
    )
    yield (
        "ode/kvaerno5-diffusion/n128-t50",
        "Kvaerno5, implicit, of a reaction with diffusion",
        stepped(diffusion, fifth, 50, 0.02),
        (array(128), array(1)),
    )
    paths = (key(), array(1024, 4), array(4))
    yield (
        "sde/wells/p256-t100",
        "Heun, 256 paths",
        random_paths("wells", 100),
        (
            key(),
            array(256, 4),
            array(4),
        ),
    )
    yield "sde/volatility/p1024-t100", "EulerHeun, 1024 paths", random_paths("v", 100), paths


def recipes() -> Iterator[Recipe]:
    """Yields the solutions."""
    for name, words, function, arguments in programs():
        yield from program_recipes(
            LIBRARY, [Program(name, f"diffrax, {words}", function, arguments)]
        )
    weights = (array(16, 32), array(32, 16))
    solve = Program(
        "ode/odeint-network/t512-d16", "odeint", integrated, (array(16), array(512), weights)
    )
    slope = Program(
        "ode/odeint-network/grad-t16-d16",
        "gradient through odeint",
        jax.grad(lambda *given: jnp.sum(integrated(*given) ** 2), argnums=(0, 2)),
        (array(16), array(16), weights),
    )
    yield from program_recipes("jax", [solve, slope])
