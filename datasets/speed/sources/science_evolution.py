"""Evolution by evosax: populations of hundreds on test functions and on networks."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from recipe import Recipe, array, key
from sources.evosax_algorithms import (
    Fitness,
    bbob_fitness,
    lower_generations,
    made,
)

LIBRARY = "evosax"
FAMILY = "evolution"


def network_fitness(width: int = 32, rows: int = 64) -> Fitness:
    """Returns the mean squared error of a network of two layers, its weights the solution."""
    solution = {"first": jnp.zeros((8, width)), "second": jnp.zeros((width, 4))}

    def evaluate(rng: jax.Array, solutions: Any, data: Any) -> jax.Array:
        def error(weights: Any) -> jax.Array:
            hidden = jnp.tanh(data[0] @ weights["first"])
            return jnp.mean((hidden @ weights["second"] - data[1]) ** 2)

        return jax.vmap(error)(solutions)

    return Fitness(solution, evaluate, (array(rows, 8), array(rows, 4)))


def pole_fitness(steps: int = 200) -> Fitness:
    """Returns how far linear policies let a pole fall, over a scan of its motion."""
    solution = jnp.zeros(4)

    def evaluate(rng: jax.Array, solutions: jax.Array, data: Any) -> jax.Array:
        def episode(weights: jax.Array) -> jax.Array:
            def step(state: Any, _: None) -> Any:
                place, speed, angle, turn = state
                force = 10.0 * jnp.tanh(weights @ jnp.stack(state))
                sine, cosine = jnp.sin(angle), jnp.cos(angle)
                inner = (force + 0.05 * turn**2 * sine) / 1.1
                pull = (9.8 * sine - cosine * inner) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
                push = inner - 0.05 * pull * cosine / 1.1
                place, speed = place + 0.02 * speed, speed + 0.02 * push
                angle, turn = angle + 0.02 * turn, turn + 0.02 * pull
                new = (place, speed, jnp.clip(angle, -2.0, 2.0), jnp.clip(turn, -10.0, 10.0))
                return new, jnp.abs(angle)

            start = tuple(0.05 * jnp.tanh(data))
            return jnp.mean(jax.lax.scan(step, start, length=steps)[1])

        return jax.vmap(episode)(solutions)

    return Fitness(solution, evaluate, array(4))


def tour(places: jax.Array, rng: jax.Array) -> jax.Array:
    """Shortens 64 tours by turning random stretches round, kept if shorter (2-opt)."""
    count = len(places)

    def length(order: jax.Array) -> jax.Array:
        path = places[order]
        return jnp.sum(jnp.sqrt(jnp.sum((path - jnp.roll(path, 1, axis=0)) ** 2, axis=1)))

    def improve(order: jax.Array, rng: jax.Array) -> Any:
        first, last = jnp.sort(jax.random.randint(rng, (2,), 0, count))
        index = jnp.arange(count)
        turned = order[jnp.where((index >= first) & (index <= last), first + last - index, index)]
        order = jnp.where(length(turned) < length(order), turned, order)
        return order, length(order)

    def search(rng: jax.Array) -> jax.Array:
        order = jax.random.permutation(rng, count)
        return jax.lax.scan(improve, order, jax.random.split(rng, 200))[1][-1]

    return jax.vmap(search)(jax.random.split(rng, 64))


def programs() -> Iterator[tuple[str, str, Callable[[], Fitness], int, int]]:
    """Yields name, class of evosax, fitness, population size and generations."""

    def bbob(function: str, dims: int) -> Callable[[], Fitness]:
        return partial(bbob_fitness, function, "noiseless", dims)

    yield "cma-es/p32-d16-t20", "CMA_ES", bbob("rosenbrock", 16), 32, 20
    yield "sep-cma-es/p128-d64-t20", "Sep_CMA_ES", bbob("ellipsoidal", 64), 128, 20
    yield "open-es/network-p256-t20", "Open_ES", network_fitness, 256, 20
    yield "pgpe/network-p128-t30", "PGPE", network_fitness, 128, 30
    yield "snes/p256-d64-t50", "SNES", bbob("rastrigin", 64), 256, 50
    yield "ars/pole-p256-t5", "ARS", pole_fitness, 256, 5
    yield "simple-ga/pole-p128-t5", "SimpleGA", pole_fitness, 128, 5
    yield (
        "differential-evolution/p256-d32-t20",
        "DifferentialEvolution",
        bbob("weierstrass", 32),
        256,
        20,
    )
    yield "pso/p512-d32-t50", "PSO", bbob("griewank_rosenbrock", 32), 512, 50


def recipes() -> Iterator[Recipe]:
    """Yields the algorithms of evolution."""
    for name, algorithm, fitness, population, generations in programs():
        yield Recipe(
            name=f"{FAMILY}/{name}",
            family=FAMILY,
            library=LIBRARY,
            recipe=f"evosax {algorithm}, population {population}, {generations} generations",
            lower=partial(lower_generations, made(algorithm), fitness, population, generations, 0),
            scope="algorithm",
        )
    yield Recipe(
        name=f"{FAMILY}/two-opt/b64-n128-t200",
        family=FAMILY,
        library="jax",
        recipe="tours of 128 places, 64 searches by 2-opt",
        lower=lambda: jax.jit(tour).lower(array(128, 2), key()),
        scope="algorithm",
    )
