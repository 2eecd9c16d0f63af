"""The rule about searches for the places of numbers among edges."""

from __future__ import annotations

from random import Random

import jax
import jax.numpy as jnp

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program
from benchmarks.speed_rules.topics.sorting import by_total_order


def histogram(values: jax.Array, edges: jax.Array) -> jax.Array:
    """Returns how many values are between any two neighbouring edges."""
    return jnp.histogram(values, edges)[0]


def binned(values: jax.Array, *, bins: int) -> jax.Array:
    """Returns the histogram of values over their own range."""
    return jnp.histogram(values, bins)[0]


def interpolated(values: jax.Array, heights: jax.Array) -> jax.Array:
    """Returns a function that is known at equal distances from -2 to 2, elsewhere by lines."""
    return jnp.interp(values, jnp.linspace(-2, 2, len(heights)), heights)


def searches(rng: Random) -> str:
    """Draws a search among edges that are given, or at equal distances from given ends."""
    count = rng.randint(4, 40)
    shape = rng.choice([(50,), (6, 7)])
    side = rng.choice(["left", "right"])
    spaced, dtype = rng.random() < 0.7, rng.choice(["float32", "float32", "float64"])

    def function(values: jax.Array, edges: jax.Array) -> jax.Array:
        if spaced:
            first = jnp.minimum(edges[0], 0)
            edges = first + jnp.arange(count, dtype=edges.dtype) * (jnp.abs(edges[1]) + 0.25)
            values = jnp.concatenate(
                [values[..., 1:], jnp.resize(edges, values[..., :1].shape)], -1
            )
        return jnp.searchsorted(edges, values, side=side)

    return lowered(function, array(*shape, dtype=dtype), array(count, dtype=dtype))


PROGRAMS: Programs = {"search-by-arithmetic": searches}

REFUSED: Refused = {
    "search-by-arithmetic": {
        "three edges": program(jnp.searchsorted, "3 20"),
        "integers": program(jnp.searchsorted, "s32:9 s32:20"),
        "zeros of both signs told apart": by_total_order(jnp.searchsorted, "9 20"),
        "-0 for zeros": lambda: program(jnp.searchsorted, "9 20")().replace(
            "f32[] constant(0)", "f32[] constant(-0.0)"
        ),
        "half precision": program(jnp.searchsorted, "bf16:9 bf16:20"),
        "edges of each row": program(jax.vmap(jnp.searchsorted), "4x9 4x20"),
        "comparison with all edges": program(
            lambda edges, x: jnp.searchsorted(edges, x, method="compare_all"), "9 20"
        ),
        "a loop of another kind": program(
            lambda x, y: jax.lax.fori_loop(0, 5, lambda i, z: jnp.where(z < y, z, (x + z) / 2), x),
            "9 9",
        ),
    }
}
