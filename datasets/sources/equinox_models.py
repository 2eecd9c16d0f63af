"""Small models of equinox's modules that no other library's source has.

A hypernetwork, capsules and neural processes; and the task of any equinox model, for equinox's
other files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from recipe import Recipe, array
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "equinox"

Row = tuple[str, str, Callable[[], Task], str]
"""Family, model, its task, and kinds of programs."""


class Hypernetwork(eqx.Module):
    """A net that writes the weights of another from a description of the task."""

    writer: eqx.nn.MLP
    sizes: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, code: int, sizes: tuple[int, ...], hidden: int, rng: jax.Array) -> None:
        count = sum(a * b + b for a, b in itertools.pairwise(sizes))
        self.writer = eqx.nn.MLP(code, count, hidden, 2, jax.nn.gelu, key=rng)
        self.sizes = sizes

    def __call__(self, code: jax.Array, inputs: jax.Array) -> jax.Array:
        written, start = self.writer(code), 0
        for inner, outer in itertools.pairwise(self.sizes):
            weights = written[start : start + inner * outer].reshape(outer, inner)
            start += inner * outer
            inputs = jnp.tanh(weights @ inputs + written[start : start + outer])
            start += outer
        return inputs


class Capsules(eqx.Module):
    """Capsule net: vectors that vote for vectors, by iterations of routing."""

    first: eqx.nn.Conv2d
    primary: eqx.nn.Conv2d
    votes: jax.Array
    turns: int = eqx.field(static=True)

    def __init__(self, turns: int, rng: jax.Array) -> None:
        one, two, three = jax.random.split(rng, 3)
        self.first = eqx.nn.Conv2d(1, 8, 5, key=one)
        self.primary = eqx.nn.Conv2d(8, 16, 5, stride=2, key=two)
        self.votes = jax.random.normal(three, (64, 10, 8, 4))
        self.turns = turns

    def __call__(self, image: jax.Array) -> jax.Array:
        hidden = self.primary(jax.nn.relu(self.first(image)))
        capsules = squash(hidden.reshape(-1, 4))[: self.votes.shape[0]]
        votes = jnp.einsum("iovc,ic->iov", self.votes[: capsules.shape[0]], capsules)
        logits = jnp.zeros(votes.shape[:2])
        for _ in range(self.turns):
            weights = jax.nn.softmax(logits, axis=1)
            outputs = squash(jnp.einsum("io,iov->ov", weights, votes))
            logits = logits + jnp.einsum("iov,ov->io", votes, outputs)
        return jnp.linalg.norm(outputs + 1e-6, axis=-1)


def squash(vectors: jax.Array) -> jax.Array:
    """Returns vectors with lengths between 0 and 1."""
    square = jnp.sum(vectors**2, axis=-1, keepdims=True)
    return vectors * square / (1 + square) / jnp.sqrt(square + 1e-6)


class Process(eqx.Module):
    """Neural process: functions from a few points, by the mean or by attention."""

    encode: eqx.nn.MLP
    attend: eqx.nn.MultiheadAttention | None
    query: eqx.nn.Linear
    decode: eqx.nn.MLP

    def __init__(self, width: int, attention: bool, rng: jax.Array) -> None:
        one, two, three, four = jax.random.split(rng, 4)
        self.encode = eqx.nn.MLP(2, width, width, 2, key=one)
        self.attend = eqx.nn.MultiheadAttention(4, width, key=two) if attention else None
        self.query = eqx.nn.Linear(1, width, key=three)
        self.decode = eqx.nn.MLP(width + 1, 2, width, 2, key=four)

    def __call__(self, context: jax.Array, places: jax.Array) -> tuple[jax.Array, jax.Array]:
        points = jax.vmap(self.encode)(context)
        if self.attend is None:
            codes = jnp.broadcast_to(points.mean(axis=0), (places.shape[0], points.shape[1]))
        else:
            codes = self.attend(jax.vmap(self.query)(places), points, points)
        outputs = jax.vmap(self.decode)(jnp.concatenate([codes, places], axis=-1))
        return outputs[:, 0], 0.1 + 0.9 * jax.nn.softplus(outputs[:, 1])


def split(build: Callable[[jax.Array], eqx.Module]) -> tuple[Any, Any]:
    """Returns a model's abstract arrays and the rest of it."""
    model = eqx.filter_eval_shape(build, jax.random.key(0))
    return eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))


def task_of(
    build: Callable[[jax.Array], eqx.Module],
    batch: tuple[Any, ...],
    forward: Callable[..., Any],
    score: Callable[..., jax.Array],
) -> Task:
    """Returns the task of an equinox model.

    Args:
        build: Makes the model from a random key.
        batch: The batch, abstract.
        forward: Takes the model and the batch.
        score: Takes the model and the batch, returns the loss.
    """
    params, static = split(build)

    def loss(params: Any, state: Any, *batch: Any) -> Any:
        return score(eqx.combine(params, static), *batch), state

    return Task(
        params=params,
        state={},
        batch=batch,
        forward=lambda params, state, *batch: forward(eqx.combine(params, static), *batch),
        loss=loss,
    )


def classified(build: Callable[[jax.Array], eqx.Module], inputs: Any, labels: Any) -> Task:
    """Returns the task of a model that gives logits for one example."""

    def forward(model: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return jax.vmap(model)(inputs)

    def score(model: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return cross_entropy(forward(model, inputs, labels), labels)

    return task_of(build, (inputs, labels), forward, score)


def capsule_task(turns: int) -> Task:
    """Returns classification with capsules."""
    images, labels = array(2, 1, 20, 20), array(2, dtype=jnp.int32)
    return classified(lambda rng: Capsules(turns, rng), images, labels)


def hyper_task(sizes: tuple[int, ...], hidden: int) -> Task:
    """Returns regression by a written net, one for each description."""

    def forward(model: Any, codes: jax.Array, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        inner = jax.vmap(model, in_axes=(None, 0))
        return jax.vmap(inner)(codes, inputs)

    def score(model: Any, *batch: Any) -> jax.Array:
        return jnp.mean((forward(model, *batch) - batch[-1]) ** 2)

    batch = (array(3, 5), array(3, 6, sizes[0]), array(3, 6, sizes[-1]))
    return task_of(lambda rng: Hypernetwork(5, sizes, hidden, rng), batch, forward, score)


def process_task(width: int, attention: bool) -> Task:
    """Returns regression of functions by a neural process."""

    def forward(model: Any, context: jax.Array, places: jax.Array, values: jax.Array) -> Any:
        return jax.vmap(model)(context, places)

    def score(model: Any, *batch: Any) -> jax.Array:
        mean, spread = forward(model, *batch)
        return jnp.mean(jnp.log(spread) + 0.5 * ((batch[-1] - mean) / spread) ** 2)

    batch = (array(4, 6, 2), array(4, 10, 1), array(4, 10))
    return task_of(lambda rng: Process(width, attention, rng), batch, forward, score)


def model_recipes(rows: Iterable[Row]) -> Iterator[Recipe]:
    """Yields the recipes of models whose variants have the names of their kinds."""
    for family, model, task, kinds in rows:
        words = f"{family} of equinox, {model}"
        variants = {kind: kind for kind in kinds.split()}
        yield from task_recipes(family, LIBRARY, model, words, task, variants)


def recipes() -> Iterator[Recipe]:
    """Yields the hypernetworks, capsules and neural processes."""
    rows: list[Row] = [
        ("hypernetwork", "d1", partial(hyper_task, (2, 8, 1), 16), "forward train-adam"),
        ("hypernetwork", "d3", partial(hyper_task, (3, 8, 8, 8, 2), 24), "grad loop-lion"),
        ("capsule", "t1", partial(capsule_task, 1), "forward train-adam"),
        ("capsule", "t3", partial(capsule_task, 3), "forward grad per-example-grad"),
        ("neural-process", "mean", partial(process_task, 24, False), "forward train-adam"),
        ("neural-process", "attentive", partial(process_task, 24, True), "grad train-lamb"),
    ]
    yield from model_recipes(rows)
