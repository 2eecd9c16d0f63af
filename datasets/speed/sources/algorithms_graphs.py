"""Graphs: ranks, shortest paths, components, walks, triangles, over edges or matrices."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import sparse
from recipe import Recipe, array, key
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "graph-algorithm"


def page_rank(ranks: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
    """Returns PageRank after 20 rounds over edges."""
    count = len(ranks)
    ones = jnp.ones(len(senders))
    degree = jnp.maximum(jax.ops.segment_sum(ones, senders, count), 1.0)

    def step(_: int, ranks: jax.Array) -> jax.Array:
        sent = (ranks / degree)[senders]
        return 0.15 / count + 0.85 * jax.ops.segment_sum(sent, receivers, count)

    return jax.lax.fori_loop(0, 20, step, jax.nn.softmax(ranks))


def page_rank_dense(scores: jax.Array) -> Any:
    """Returns PageRank after 50 rounds over a dense matrix of links."""
    links = (scores > 0.05).astype(scores.dtype)
    moves = links / jnp.maximum(links.sum(axis=1, keepdims=True), 1.0)

    def step(ranks: jax.Array, _: None) -> Any:
        new = 0.15 / len(moves) + 0.85 * ranks @ moves
        return new, jnp.abs(new - ranks).sum()

    return jax.lax.scan(step, jnp.full(len(moves), 1 / len(moves)), length=50)


def bellman_ford(costs: jax.Array, lengths: jax.Array, senders: Any, receivers: Any) -> jax.Array:
    """Returns distances from the first node after 32 rounds over edges."""
    lengths = jax.nn.softplus(lengths)
    start = jnp.full(len(costs), 1e6).at[0].set(0.0)

    def step(_: int, distance: jax.Array) -> jax.Array:
        return distance.at[receivers].min(distance[senders] + lengths)

    return jax.lax.fori_loop(0, 32, step, start) + 0.0 * costs


def floyd_warshall(lengths: jax.Array) -> jax.Array:
    """Returns the distances of all pairs of nodes, through one node after another."""

    def step(index: int, distance: jax.Array) -> jax.Array:
        return jnp.minimum(distance, distance[:, index, None] + distance[index])

    return jax.lax.fori_loop(0, len(lengths), step, jax.nn.softplus(lengths))


def squared_paths(lengths: jax.Array) -> jax.Array:
    """Returns the distances of all pairs of nodes by products of minima and sums."""
    distance = jax.nn.softplus(lengths)

    def row(one: jax.Array, distance: jax.Array) -> jax.Array:
        return jnp.min(one[:, None] + distance, axis=0)

    def step(_: int, distance: jax.Array) -> jax.Array:
        return jax.vmap(row, (0, None))(distance, distance)

    return jax.lax.fori_loop(0, 7, step, distance)


def components(nodes: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
    """Returns the components of a graph by 20 rounds of the least label and pointer jumps."""
    labels = jnp.arange(len(nodes))

    def step(_: int, labels: jax.Array) -> jax.Array:
        least = jnp.minimum(labels[senders], labels[receivers])
        labels = labels.at[senders].min(least).at[receivers].min(least)
        return jnp.minimum(labels, labels[labels])

    return jnp.where(nodes > 0, jax.lax.fori_loop(0, 20, step, labels), -1)


def spread_labels(labels: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
    """Spreads soft labels of nodes over edges for 10 rounds, normalised by degrees."""
    count = len(labels)
    degree = 1.0 + jax.ops.segment_sum(jnp.ones(len(senders)), receivers, count)
    scale = jax.lax.rsqrt(degree)
    soft = jax.nn.softmax(labels, axis=1)

    def step(now: jax.Array, _: None) -> Any:
        sent = (now * scale[:, None])[senders]
        mixed = jax.ops.segment_sum(sent, receivers, count) * scale[:, None]
        return 0.9 * mixed + 0.1 * soft, None

    return jax.lax.scan(step, soft, length=10)[0].argmax(axis=1)


def walks(neighbours: jax.Array, rng: jax.Array) -> jax.Array:
    """Returns random walks of 40 steps from 2048 nodes, over tables of 16 neighbours."""
    count, width = neighbours.shape

    def step(nodes: jax.Array, rng: jax.Array) -> Any:
        nodes = neighbours[nodes, jax.random.randint(rng, nodes.shape, 0, width)] % count
        return nodes, nodes

    start = jnp.arange(2048) % count
    return jax.lax.scan(step, start, jax.random.split(rng, 40))[1]


def triangles(scores: jax.Array) -> Any:
    """Returns clustering coefficients of nodes, and similarities of their neighbourhoods."""
    links = ((scores + scores.T) > 0.1).astype(scores.dtype) * (1 - jnp.eye(len(scores)))
    paths = links @ links
    degree = links.sum(axis=1)
    closed = jnp.sum(paths * links, axis=1)
    common = paths / jnp.maximum(degree[:, None] + degree - paths, 1.0)
    return closed / jnp.maximum(degree * (degree - 1), 1.0), common.max(axis=1)


def assignment(costs: jax.Array) -> jax.Array:
    """Returns an assignment by 100 rounds of bids (Bertsekas' auction)."""
    count = len(costs)

    def bid(_: int, carry: Any) -> Any:
        prices, owner = carry
        values = -costs - prices
        best, places = jax.lax.top_k(values, 2)
        place = places[:, 0]
        free = ~jnp.any(owner[None] == jnp.arange(count)[:, None], axis=1)
        offers = jnp.where(free, best[:, 0] - best[:, 1] + 0.05, -1.0)
        table = jnp.where(place[:, None] == jnp.arange(count), offers[:, None], -1.0)
        highest, winner = table.max(axis=0), table.argmax(axis=0)
        sold = highest > 0
        return jnp.where(sold, prices + highest, prices), jnp.where(sold, winner, owner)

    start = (jnp.zeros(count), jnp.full(count, -1))
    return jax.lax.fori_loop(0, 100, bid, start)[1]


def products(values: jax.Array, indices: jax.Array, features: jax.Array) -> jax.Array:
    """Returns three products of a sparse matrix with features, in jax's BCOO format."""
    size = len(features)
    matrix = sparse.BCOO((values, indices), shape=(size, size))
    for _ in range(3):
        features = jnp.tanh(matrix @ features)
    return features


def product_gradient(values: jax.Array, indices: jax.Array, features: jax.Array) -> Any:
    """Returns the gradient of a sparse product for its values and the features."""
    size = len(features)

    def total(values: jax.Array, features: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(sparse.BCOO((values, indices), shape=(size, size)) @ features))

    return jax.grad(total, (0, 1))(values, features)


def recipes() -> Iterator[Recipe]:
    """Yields the algorithms on graphs."""

    def edges(count: int) -> tuple[Any, Any]:
        return array(count, dtype=jnp.int32), array(count, dtype=jnp.int32)

    pairs = array(32768, 2, dtype=jnp.int32)
    programs = (
        ("page-rank/n4096-e65536", page_rank, (array(4096), *edges(65536))),
        ("page-rank-dense/n1024-t50", page_rank_dense, (array(1024, 1024),)),
        (
            "bellman-ford/n4096-e32768",
            bellman_ford,
            (array(4096), array(32768), *edges(32768)),
        ),
        ("floyd-warshall/n256", floyd_warshall, (array(256, 256),)),
        ("squared-paths/n128", squared_paths, (array(128, 128),)),
        ("components/n8192-e32768", components, (array(8192), *edges(32768))),
        ("spread-labels/n4096-e32768-c16", spread_labels, (array(4096, 16), *edges(32768))),
        ("walks/n4096-t40", walks, (array(4096, 16, dtype=jnp.int32), key())),
        ("triangles/n512", triangles, (array(512, 512),)),
        ("assignment/n128-t100", assignment, (array(128, 128),)),
        ("sparse-products/n4096-e32768-d32", products, (array(32768), pairs, array(4096, 32))),
        (
            "sparse-products/grad-n4096-e32768-d32",
            product_gradient,
            (array(32768), pairs, array(4096, 32)),
        ),
    )
    for name, function, arguments in programs:
        words = f"{name.split('/')[0]} of a graph"
        yield from program_recipes(
            LIBRARY, [Program(f"{FAMILY}/{name}", words, function, arguments)]
        )
