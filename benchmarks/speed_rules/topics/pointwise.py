"""Rules about elementwise work, and about its values that are stored before they are used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program, s32


def pull(weights: jax.Array, squares: jax.Array) -> jax.Array:
    """Returns weights over distances cubed."""
    return weights / (squares * squares + 0.01) ** 1.5


def power_of_square(x: jax.Array, *, exponent: float, least: float = 0.0) -> jax.Array:
    """Returns a power of positive numbers."""
    return (x * x + least if least else x * x) ** exponent


def coupled(phases: jax.Array) -> jax.Array:
    """Returns how oscillators of these phases pull each other."""
    return jnp.mean(jnp.sin(phases[None] - phases[:, None]), axis=1)


def waves(points: jax.Array) -> jax.Array:
    """Returns coordinates with their sines and cosines at five frequencies."""
    angles = points[..., None, :] * 2.0 ** jnp.arange(5)[:, None]
    angles = angles.reshape(*points.shape[:-1], -1)
    return jnp.concatenate([points, jnp.sin(angles), jnp.cos(angles)], axis=-1)


def displacement(places: jax.Array, side: jax.Array) -> jax.Array:
    """Returns displacements of all pairs in a periodic box."""
    apart = jnp.tanh(places)[:, None] - jnp.tanh(places)[None]
    side = 2.0 + side * side
    return jnp.mod(apart + 0.5 * side, side) - 0.5 * side


def modulo_eight(x: jax.Array) -> jax.Array:
    """Returns remainders of a division by eight."""
    return jnp.mod(x, 8.0)


def sector(y: jax.Array, x: jax.Array) -> jax.Array:
    """Returns the quarter turn that a slope points to."""
    return jnp.round(jnp.arctan2(y, x) / (jnp.pi / 4)).astype(jnp.int32) % 4


def powers(rng: Random) -> str:
    """Draws powers of positive numbers."""
    # JAX writes a constant of one element as an array, which the rule does not take for a scalar.
    sizes = [rng.randint(2, 9) for _ in range(rng.randint(0, 3))]
    exponent = rng.choice([-2.5, -1.5, -0.75, -0.5, -0.25, 0.25, 0.75, 1.5, 3.5])
    return lowered(partial(power_of_square, exponent=exponent, least=0.1), array(*sizes))


def sines_of_sums(rng: Random) -> str:
    """Draws sines or cosines of all sums or differences of two sets of angles."""
    function = rng.choice([jnp.sin, jnp.cos])
    sign = rng.choice([-1, 1])
    first, second = rng.randint(4, 9), rng.randint(4, 9)

    def of_sums(x: jax.Array, y: jax.Array) -> jax.Array:
        return function(x[:, None] + y if sign > 0 else x[:, None] - y)

    return lowered(of_sums, array(first), array(second))


def sines(rng: Random) -> str:
    """Draws sines or cosines of small and of large angles."""
    function = rng.choice([jnp.sin, jnp.cos])
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    scale = rng.choice([1.0, 100.0, 1e6])
    return lowered(lambda x: function(scale * x), array(*sizes))


def remainders(rng: Random) -> str:
    """Draws remainders of divisors of each element, or of one."""
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    kind = rng.choice(["float32", "float64"])
    least = rng.choice([0.01, 10.0])
    x, y = array(*sizes, dtype=kind), array(*(sizes if rng.random() < 0.5 else ()), dtype=kind)
    return lowered(lambda x, y: lax.rem(x, jnp.broadcast_to(least + y * y, x.shape)), x, y)


def angles(rng: Random) -> str:
    """Draws angles of points."""
    sizes = rng.choice([(512,), (600,), (32, 17), (8, 8, 9)])
    return lowered(lambda x, y: 0.5 * jnp.arctan2(x, y), array(*sizes), array(*sizes))


def times_sines(x: jax.Array, angles: jax.Array, *, more: int = 0) -> jax.Array:
    """Returns rows times the sines of one row of angles."""
    return x * jnp.sin(angles) + more if more else x * jnp.sin(angles)


def gathered_tangents(features: jax.Array, senders: jax.Array) -> jax.Array:
    """Returns rows of a table of hyperbolic tangents."""
    return jnp.tanh(features)[senders]


def messages(features: jax.Array, senders: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns the weighted features of the senders of edges."""
    rows = jnp.take(jnp.tanh(features), senders, axis=0, mode="fill", fill_value=0)
    return weights[:, None] * rows


def turned(angles: jax.Array, heads: jax.Array) -> jax.Array:
    """Returns heads of attention turned by the angles of their positions."""
    low, high = jnp.split(heads, 2, axis=-1)
    sine, cosine = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    return jnp.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=-1)


def heads(tokens: jax.Array, scale: jax.Array) -> jax.Array:
    """Returns transposed heads times the cosines of their positions."""
    parts = tokens.reshape(4, 512, 8, 32).transpose(0, 2, 3, 1)
    return parts * jnp.cos(0.01 * jnp.arange(512)) + scale * parts[:, :, ::-1]


def bitonic(values: jax.Array) -> jax.Array:
    """Returns rows after a bitonic sort."""
    size = values.shape[1]
    index = jnp.arange(size)
    block = 2
    while block <= size:
        step = block // 2
        while step:
            other = values[:, index ^ step]
            smaller = ((index & block) == 0) == ((index & step) == 0)
            values = jnp.where(smaller, jnp.minimum(values, other), jnp.maximum(values, other))
            step //= 2
        block *= 2
    return values


def residual(inputs: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns the gradient of normalised layers that add to their input, by their weights."""

    def normalised(state: jax.Array) -> jax.Array:
        centred = state - state.mean(-1, keepdims=True)
        variance = jnp.square(centred).mean(-1, keepdims=True)
        return centred * lax.rsqrt(variance + 1e-5)

    def loss(weights: jax.Array) -> jax.Array:
        state = inputs
        for first, second, third in weights * weights.shape[-1] ** -0.5:
            inside = normalised(state)
            state = state + jnp.tanh(inside @ first) * (inside @ second)
            state = state + jnp.tanh(normalised(state) @ third)
        return jnp.square(state).mean()

    return jax.grad(loss)(weights)


def _pointwise(rng: Random) -> Callable[[jax.Array], jax.Array]:
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.tanh,
        lambda x: jnp.exp(x - x[:1] * 0.5),
        lambda x: 1.0 / (1.0 + x * x),
        lambda x: jnp.where(x > 0, jnp.exp(-x), 1.0) + 3.0,
    ]
    return rng.choice(functions)


def gathered_values(rng: Random) -> str:
    """Draws rows that are gathered from a table of computed values."""
    function = _pointwise(rng)
    rows, width = rng.randint(64, 80), rng.randint(16, 20)
    mode = rng.choice(["fill", "clip"])
    return lowered(
        lambda x, i: jnp.take(function(x), i, axis=0, mode=mode),
        array(rows, width),
        s32(rng.randint(1, 100)),
    )


def repeated_values(rng: Random) -> str:
    """Draws sines that are repeated along other dimensions."""
    functions: list[Callable[[jax.Array], jax.Array]] = [
        jnp.sin,
        jnp.cos,
        lambda x: 1.5 * jnp.cos(x) + 0.5,
    ]
    function = rng.choice(functions)
    length, axis = rng.randint(8, 40), rng.randint(0, 2)
    sizes = [rng.randint(12, 16) for _ in range(2)]
    sizes.insert(axis, length)
    rank_one = [length if i == axis else 1 for i in range(3)]
    return lowered(lambda x, y: function(x).reshape(rank_one) * y, array(length), array(*sizes))


def shared_sums(rng: Random) -> str:
    """Draws a sum of many arrays for several users."""
    number, shape = rng.randint(12, 15), (rng.randint(32, 48), rng.randint(32, 48))
    join = rng.choice([jnp.add, jnp.subtract, jnp.multiply, jnp.maximum])

    def function(*arrays: jax.Array) -> list[jax.Array]:
        total = 0.5 * arrays[0]
        for other in arrays[1:]:
            total = join(total, other)
        return [jnp.tanh(total), total.sum(1), jnp.maximum(total, 0.0).sum(0)]

    return lowered(function, *(array(*shape) for _ in range(number)))


def _used_twice(*arrays: jax.Array) -> jax.Array:
    total = sum(arrays[1:], arrays[0])
    return jnp.tanh(total) * total.sum()


PROGRAMS: Programs = {
    "sine-by-polynomial": sines,
    "remainder-by-subtraction": remainders,
    "arctangent-by-polynomial": angles,
    "power-as-roots": powers,
    "sine-of-sum": sines_of_sums,
    "stored-gather-table": gathered_values,
    "stored-repeated-sine": repeated_values,
    "stored-shared-sum": shared_sums,
}


REFUSED: Refused = {
    "power-as-roots": {
        "an exponent that is no multiple of a quarter": program(lambda x: x**2.3, "16x16"),
        "an exponent that is an array": program(lambda x, y: x**y, "16x16 16x16"),
    },
    "sine-of-sum": {
        "an angle for each element": program(lambda x, y: jnp.sin(x + y), "16x16 16"),
        "a tangent": program(lambda x: jnp.tan(x[:, None] - x), "16"),
    },
    "sine-by-polynomial": {
        "sines of few elements": program(jnp.sin, "100"),
        "sines of half precision": program(jnp.sin, "bf16:32x32"),
    },
    "remainder-by-subtraction": {
        "remainders of few elements": program(lax.rem, "100 100"),
        "remainders of integers": program(lax.rem, "s32:32x32 s32:32x32"),
    },
    "arctangent-by-polynomial": {
        "angles of few points": program(jnp.arctan2, "100 100"),
        "angles of half precision": program(jnp.arctan2, "bf16:32x32 bf16:32x32"),
    },
    "stored-gather-table": {
        "a table that is given": program(lambda x, i: x[i], "64x32 s32:16"),
        "computed indices": program(lambda x, i: x[2 * i], "64x32 s32:2048"),
        "a small table": program(lambda x, i: jnp.tanh(x)[i], "8x4 s32:16"),
    },
    "stored-repeated-sine": {
        "a cheap function, repeated": program(lambda x, y: (x + 1) * y, "32 64x32"),
        "exponentials, repeated": program(lambda x, y: jnp.exp(x) * y, "32 64x32"),
        "repeated before the function": program(lambda x, y: jnp.sin(x + y), "32 64x32"),
        "few repetitions": program(lambda x, y: jnp.sin(x) * y, "1024 3x1024"),
    },
    "stored-shared-sum": {
        "eleven arrays": program(_used_twice, "32x32 " * 11),
        "one user": program(lambda *arrays: jnp.tanh(sum(arrays)), "32x32 " * 12),
        "repeated rows": program(_used_twice, "32x32 " * 11 + "32"),
        "few elements": program(_used_twice, "8x8 " * 12),
        "integers": program(
            lambda *arrays: (sum(arrays) % 7) * (sum(arrays) % 5), "s32:32x32 " * 12
        ),
        "a costly operation": program(
            lambda *arrays: jnp.exp(sum(arrays)) * jnp.exp(sum(arrays)).sum(), "32x32 " * 12
        ),
    },
}
