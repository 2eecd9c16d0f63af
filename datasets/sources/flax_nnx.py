"""Models written with flax.nnx: a variational autoencoder, a graph network, an actor-critic."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from recipe import Recipe, array, key
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "flax"


class Autoencoder(nnx.Module):
    """Convolutional variational autoencoder."""

    def __init__(self, width: int, latent: int, size: int, rngs: nnx.Rngs) -> None:
        self.shape = (size // 4, size // 4, 2 * width)
        flat = self.shape[0] * self.shape[1] * self.shape[2]
        strided = {"kernel_size": (3, 3), "strides": (2, 2), "rngs": rngs}
        self.down = nnx.List([nnx.Conv(1, width, **strided), nnx.Conv(width, 2 * width, **strided)])
        self.encode = nnx.Linear(flat, 2 * latent, rngs=rngs)
        self.decode = nnx.Linear(latent, flat, rngs=rngs)
        self.up = nnx.List(
            [
                nnx.ConvTranspose(2 * width, width, **strided),
                nnx.ConvTranspose(width, 1, **strided),
            ]
        )

    def __call__(self, images: jax.Array, rng: jax.Array) -> tuple[jax.Array, ...]:
        hidden = images
        for layer in self.down:
            hidden = nnx.relu(layer(hidden))
        mean, log_variance = jnp.split(self.encode(hidden.reshape(images.shape[0], -1)), 2, axis=-1)
        sample = mean + jnp.exp(log_variance / 2) * jax.random.normal(rng, mean.shape)
        hidden = nnx.relu(self.decode(sample)).reshape(-1, *self.shape)
        return self.up[1](nnx.relu(self.up[0](hidden))), mean, log_variance


class GraphNetwork(nnx.Module):
    """Message passing over an edge list: gather at the senders, segment sums at the receivers."""

    def __init__(self, layers: int, hidden: int, attention: bool, rngs: nnx.Rngs) -> None:
        linear = partial(nnx.Linear, rngs=rngs)
        self.attention = attention
        self.embed = linear(8, hidden)
        self.messages = nnx.List([linear(hidden, hidden) for _ in range(layers)])
        self.scores = nnx.List([linear(2 * hidden, 1) for _ in range(layers)])
        self.norms = nnx.List([nnx.LayerNorm(hidden, rngs=rngs) for _ in range(layers)])
        self.head = linear(hidden, 4)

    def __call__(self, nodes: jax.Array, senders: jax.Array, receivers: jax.Array) -> jax.Array:
        count = nodes.shape[0]
        hidden = self.embed(nodes)
        for message, score, norm in zip(self.messages, self.scores, self.norms, strict=True):
            sent = message(hidden)
            if self.attention:
                pairs = jnp.concatenate([sent[senders], sent[receivers]], axis=-1)
                logits = nnx.leaky_relu(score(pairs))[:, 0]
                highest = jax.ops.segment_max(logits, receivers, count)
                weights = jnp.exp(logits - highest[receivers])
                total = jax.ops.segment_sum(weights, receivers, count)
                weights = weights / (total[receivers] + 1e-6)
            else:
                degree = jnp.maximum(jnp.bincount(receivers, length=count), 1)
                weights = jax.lax.rsqrt(degree[senders] * degree[receivers] * 1.0)
            collected = jax.ops.segment_sum(weights[:, None] * sent[senders], receivers, count)
            hidden = norm(hidden + nnx.relu(collected))
        return self.head(hidden)


class ActorCritic(nnx.Module):
    """Policy and value heads over a shared trunk."""

    def __init__(self, observation: int, hidden: int, actions: int, rngs: nnx.Rngs) -> None:
        self.trunk = nnx.List(
            [
                nnx.Linear(observation, hidden, rngs=rngs),
                nnx.Linear(hidden, hidden, rngs=rngs),
            ]
        )
        self.policy = nnx.Linear(hidden, actions, rngs=rngs)
        self.value = nnx.Linear(hidden, 1, rngs=rngs)

    def __call__(self, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
        hidden = observations
        for layer in self.trunk:
            hidden = nnx.tanh(layer(hidden))
        return self.policy(hidden), self.value(hidden)[..., 0]


def split(build: Callable[[nnx.Rngs], nnx.Module]) -> tuple[Any, Any]:
    """Returns a model's graph definition and its abstract parameters."""
    graph, params = nnx.split(nnx.eval_shape(lambda: build(nnx.Rngs(0))))
    return graph, nnx.to_pure_dict(params)


def merge(graph: Any, params: Any) -> Any:
    """Returns the model with these parameters."""
    return nnx.merge(graph, nnx.State(params))


def autoencoder_task(width: int, latent: int, *, batch: int, size: int, random: str) -> Task:
    """Returns image generation by a variational autoencoder.

    Args:
        width: Channels of the first convolution.
        latent: Width of the code.
        batch: Images in a batch.
        size: Height and width of an image.
        random: Implementation of the random key that the code is drawn with.
    """
    graph, params = split(lambda rngs: Autoencoder(width, latent, size, rngs))

    def loss(params: Any, state: Any, images: jax.Array, rng: jax.Array) -> Any:
        decoded, mean, log_variance = merge(graph, params)(images, rng)
        likelihood = -jnp.sum(
            images * jax.nn.log_sigmoid(decoded) + (1 - images) * jax.nn.log_sigmoid(-decoded)
        )
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance))
        return (likelihood + divergence) / batch, state

    return Task(
        params=params,
        state={},
        batch=(array(batch, size, size, 1), key(random)),
        forward=lambda params, state, images, rng: merge(graph, params)(images, rng),
        loss=loss,
    )


def graph_task(layers: int, hidden: int, *, attention: bool, nodes: int, edges: int) -> Task:
    """Returns classification of the nodes of one graph.

    Args:
        layers: Rounds of message passing.
        hidden: Width of a node.
        attention: Weigh messages by attention in place of degrees.
        nodes: Nodes of the graph.
        edges: Edges of the graph.
    """
    graph, params = split(lambda rngs: GraphNetwork(layers, hidden, attention, rngs))

    def loss(params: Any, state: Any, *batch: Any) -> Any:
        return cross_entropy(merge(graph, params)(*batch[:-1]), batch[-1]), state

    ends = array(edges, dtype=jnp.int32)
    return Task(
        params=params,
        state={},
        batch=(array(nodes, 8), ends, ends, array(nodes, dtype=jnp.int32)),
        forward=lambda params, state, *batch: merge(graph, params)(*batch[:-1]),
        loss=loss,
    )


def policy_task(hidden: int, *, environments: int, steps: int) -> Task:
    """Returns the PPO loss over a rollout, with advantages from a reversed scan.

    Args:
        hidden: Width of the trunk.
        environments: Environments stepped side by side.
        steps: Steps of the rollout.
    """
    graph, params = split(lambda rngs: ActorCritic(6, hidden, 5, rngs))

    def advantages(values: jax.Array, rewards: jax.Array, ends: jax.Array) -> jax.Array:
        def back(carry: Any, step: Any) -> Any:
            following, advantage = carry
            value, reward, end = step
            error = reward + 0.99 * following * (1 - end) - value
            advantage = error + 0.99 * 0.95 * (1 - end) * advantage
            return (value, advantage), advantage

        start = (jnp.zeros_like(values[0]), jnp.zeros_like(values[0]))
        return jax.lax.scan(back, start, (values, rewards, ends), reverse=True)[1]

    def loss(params: Any, state: Any, seen: Any, actions: Any, old: Any, *outcome: Any) -> Any:
        logits, values = merge(graph, params)(seen)
        advantage = jax.lax.stop_gradient(advantages(values, *outcome))
        target = jax.lax.stop_gradient(values) + advantage
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        log_policy = jax.nn.log_softmax(logits)
        taken = jnp.take_along_axis(log_policy, actions[..., None], axis=-1)[..., 0]
        ratio = jnp.exp(taken - old)
        surrogate = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage)
        entropy = -jnp.sum(jnp.exp(log_policy) * log_policy, axis=-1)
        value_loss = jnp.mean((values - target) ** 2)
        return -surrogate.mean() + 0.5 * value_loss - 0.01 * entropy.mean(), state

    plane = (steps, environments)
    return Task(
        params=params,
        state={},
        batch=(array(*plane, 6), array(*plane, dtype=jnp.int32), *[array(*plane)] * 3),
        forward=lambda params, state, seen, *_: merge(graph, params)(seen),
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields every flax.nnx recipe."""
    models: list[tuple[str, str, str, Callable[[], Task], dict[str, str]]] = [
        (
            "vae",
            "w8-z8",
            "Convolutional VAE in flax.nnx, width 8, latent 8, 16 px, batch 4, threefry",
            partial(autoencoder_task, 8, 8, batch=4, size=16, random="threefry2x32"),
            {"train-adam-b4": "train-adam"},
        ),
        (
            "vae",
            "w16-z16-rbg",
            "Convolutional VAE in flax.nnx, width 16, latent 16, 28 px, batch 8, rbg",
            partial(autoencoder_task, 16, 16, batch=8, size=28, random="rbg"),
            {"loop-adam-b8": "loop-adam"},
        ),
        (
            "gnn",
            "gcn-l2-h32",
            "Graph convolutions in flax.nnx, 2 layers, h32, 40 nodes, 120 edges",
            partial(graph_task, 2, 32, attention=False, nodes=40, edges=120),
            {"forward-n40": "forward", "train-adam-n40": "train-adam"},
        ),
        (
            "gnn",
            "gat-l3-h32",
            "Graph attention in flax.nnx, 3 layers, h32, 64 nodes, 256 edges",
            partial(graph_task, 3, 32, attention=True, nodes=64, edges=256),
            {"forward-n64": "forward", "train-adamw-n64": "train-adamw"},
        ),
        (
            "actor-critic",
            "ppo-h32",
            "PPO loss of an actor-critic in flax.nnx, h32, 8 environments, 16 steps",
            partial(policy_task, 32, environments=8, steps=16),
            {"grad-e8-t16": "grad", "train-adam-clip-e8-t16": "train-adam-clip"},
        ),
    ]
    for family, model, description, task, kinds in models:
        yield from task_recipes(family, LIBRARY, model, description, task, kinds)
