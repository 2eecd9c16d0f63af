"""Dynamic programming: edit distances, alignments, time warping, knapsacks, parsing, folding."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import logsumexp
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "dynamic-programming"


def edit_distance(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns Levenshtein's distance of two texts, one row after another."""
    size = len(second)
    places = jnp.arange(size + 1)

    def row(above: jax.Array, letter: jax.Array) -> Any:
        changed = above[:-1] + (second != letter)
        best = jnp.concatenate([above[:1] + 1, jnp.minimum(changed, above[1:] + 1)])
        best = jax.lax.cummin(best - places) + places
        return best, None

    return jax.lax.scan(row, places, first)[0][-1]


def edit_distance_cells(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns Levenshtein's distance of two texts, one cell after another."""

    def row(above: jax.Array, letter: jax.Array) -> Any:
        def cell(left: jax.Array, column: Any) -> Any:
            up, corner, other = column
            best = jnp.minimum(jnp.minimum(left, up) + 1, corner + (letter != other))
            return best, best

        start = above[0] + 1
        _, rest = jax.lax.scan(cell, start, (above[1:], above[:-1], second))
        return jnp.concatenate([start[None], rest]), None

    return jax.lax.scan(row, jnp.arange(len(second) + 1), first)[0][-1]


def time_warping(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns time-warping distances of pairs of series, one diagonal after another."""
    size = first.shape[1]
    costs = (first[:, :, None] - second[:, None, :]) ** 2
    index = jnp.arange(size)

    def diagonal(carry: Any, step: jax.Array) -> Any:
        before, last = carry
        column = step - index
        inside = (column >= 0) & (column < size)
        cost = costs[:, index, jnp.clip(column, 0, size - 1)]
        up = jnp.pad(last, ((0, 0), (1, 0)), constant_values=1e9)[:, :-1]
        corner = jnp.pad(before, ((0, 0), (1, 0)), constant_values=1e9)[:, :-1]
        best = jnp.minimum(jnp.minimum(last, up), corner)
        best = jnp.where((step == 0) & (index == 0), 0.0, best)
        return (last, jnp.where(inside, cost + best, 1e9)), None

    start = jnp.full((len(first), size), 1e9)
    return jax.lax.scan(diagonal, (start, start), jnp.arange(2 * size - 1))[0][1][:, -1]


def soft_warping(first: jax.Array, second: jax.Array) -> Any:
    """Returns soft time-warping distances of pairs of series and their gradient."""

    def total(first: jax.Array) -> jax.Array:
        costs = (first[:, :, None] - second[:, None, :]) ** 2

        def row(above: jax.Array, cost: jax.Array) -> Any:
            corner = jnp.pad(above, ((0, 0), (1, 0)), constant_values=1e4)[:, :-1]

            def cell(left: jax.Array, column: Any) -> Any:
                options = -jnp.stack([left, column[0], column[1]])
                best = column[2] - logsumexp(options, axis=0)
                return best, best

            columns = (above.T, corner.T, cost.T)
            _, rest = jax.lax.scan(cell, jnp.full(len(above), 1e4), columns)
            return rest.T, None

        start = jnp.cumsum(costs[:, 0], axis=1)
        return jax.lax.scan(row, start, jnp.moveaxis(costs[:, 1:], 1, 0))[0][:, -1].sum()

    return jax.value_and_grad(total)(first)


def local_alignment(first: jax.Array, second: jax.Array, scores: jax.Array) -> jax.Array:
    """Returns the best local alignments of pairs of sequences (Smith and Waterman)."""
    places = jnp.arange(second.shape[1] + 1)

    def one(first: jax.Array, second: jax.Array) -> jax.Array:
        table = scores[first][:, second]

        def row(above: jax.Array, match: jax.Array) -> Any:
            best = jnp.maximum(above[:-1] + match, above[1:] - 0.5)
            best = jnp.maximum(jnp.concatenate([jnp.zeros(1), best]), 0.0)
            best = jax.lax.cummax(best + 0.5 * places) - 0.5 * places
            return best, best.max()

        return jax.lax.scan(row, jnp.zeros(len(places)), table)[1].max()

    return jax.vmap(one)(first, second)


def knapsack(values: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns the best values of sets of things for every weight up to 4096."""
    capacity = 4096
    places = jnp.arange(capacity + 1)
    weights = 16 + 8 * weights

    def take(best: jax.Array, thing: Any) -> Any:
        value, weight = thing
        taken = best[jnp.maximum(places - weight, 0)] + jnp.abs(value)
        return jnp.where(places >= weight, jnp.maximum(best, taken), best), None

    return jax.lax.scan(take, jnp.zeros(capacity + 1), (values, weights))[0]


def seam(image: jax.Array) -> jax.Array:
    """Returns the seam of least energy through an image, and the path back."""
    energy = sum(jnp.abs(slope) for slope in jnp.gradient(image))
    size = image.shape[1]

    def row(above: jax.Array, energy: jax.Array) -> Any:
        wide = jnp.pad(above, 1, constant_values=1e9)
        options = jnp.stack([wide[:-2], wide[1:-1], wide[2:]])
        return energy + options.min(axis=0), options.argmin(axis=0) - 1

    total, moves = jax.lax.scan(row, energy[0], energy[1:])

    def back(place: jax.Array, move: jax.Array) -> Any:
        place = jnp.clip(place + move[place], 0, size - 1)
        return place, place

    return jax.lax.scan(back, total.argmin(), moves, reverse=True)[1]


def chain_products(sizes: jax.Array) -> jax.Array:
    """Returns the least cost of a chain of matrix products, by length of the stretch."""
    count = sizes.shape[0] - 1
    sizes = 1.0 + jnp.abs(sizes)
    first = jnp.arange(count)

    def stretch(length: jax.Array, best: jax.Array) -> jax.Array:
        last = jnp.minimum(first + length, count - 1)

        def cost(start: jax.Array, end: jax.Array) -> jax.Array:
            split = jnp.arange(count)
            after = jnp.minimum(split + 1, count - 1)
            price = sizes[start] * sizes[after] * sizes[end + 1]
            total = best[start] + best[after, end] + price
            return jnp.min(jnp.where((split >= start) & (split < end), total, jnp.inf))

        found = jax.vmap(cost)(first, last)
        return best.at[first, last].set(jnp.where(first + length < count, found, best[first, last]))

    return jax.lax.fori_loop(1, count, stretch, jnp.zeros((count, count)))[0, -1]


def value_iteration(moves: jax.Array, rewards: jax.Array) -> Any:
    """Returns values and choices of a decision process after 50 rounds."""
    chances = jax.nn.softmax(moves, axis=-1)

    def step(values: jax.Array, _: None) -> Any:
        options = rewards + 0.95 * jnp.einsum("ast,t->as", chances, values)
        return options.max(axis=0), None

    values = jax.lax.scan(step, jnp.zeros(moves.shape[1]), length=50)[0]
    return values, jnp.argmax(rewards + 0.95 * chances @ values, axis=0)


def temporal_classification(logits: jax.Array, labels: jax.Array) -> Any:
    """Returns optax's CTC loss of a batch and its gradient."""
    batch, time, _ = logits.shape
    padding = jnp.zeros((batch, time)), jnp.zeros(labels.shape)

    def loss(logits: jax.Array) -> jax.Array:
        return optax.ctc_loss(logits, padding[0], labels, padding[1]).mean()

    return jax.value_and_grad(loss)(logits)


def recipes() -> Iterator[Recipe]:
    """Yields the programs of dynamic programming."""
    text, texts = array(512, dtype=jnp.int32), array(16, 128, dtype=jnp.int32)
    programs = (
        ("edit-distance/n512", edit_distance, (text, text)),
        ("edit-distance/cells-n512", edit_distance_cells, (text, text)),
        ("time-warping/b16-n256", time_warping, (array(16, 256), array(16, 256))),
        ("soft-warping/b16-n64", soft_warping, (array(16, 64), array(16, 64))),
        ("local-alignment/b16-n128", local_alignment, (texts, texts, array(20, 20))),
        ("knapsack/n1024", knapsack, (array(1024), array(1024, dtype=jnp.int32))),
        ("seam/n1024", seam, (array(1024, 1024),)),
        ("chain-products/n160", chain_products, (array(161),)),
        ("value-iteration/s256-a8", value_iteration, (array(8, 256, 256), array(8, 256))),
    )
    for name, function, arguments in programs:
        words = f"{name.split('/')[0]} by dynamic programming"
        yield from program_recipes(
            LIBRARY, [Program(f"{FAMILY}/{name}", words, function, arguments)]
        )
    ctc = Program(
        f"{FAMILY}/ctc/b16-t128-c32",
        "optax.ctc_loss and its gradient",
        temporal_classification,
        (array(16, 128, 32), array(16, 24, dtype=jnp.int32)),
    )
    yield from program_recipes("optax", [ctc])
