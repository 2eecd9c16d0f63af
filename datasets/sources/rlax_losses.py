"""Reinforcement learning: agents whose losses are rlax's, here those that learn action values.

The other files of rlax's losses take their agents and networks from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import rlax
from recipe import Recipe, array, key
from tasks import Task, task_recipes

LIBRARY = "rlax"
ACTIONS, BATCH, FEATURES, ATOMS = 4, 8, 6, 11

TRANSITIONS = (
    array(BATCH, FEATURES),
    array(BATCH, dtype=jnp.int32),
    array(BATCH),
    array(BATCH),
    array(BATCH, FEATURES),
)
"""Observation, action, reward, discount and next observation."""


def mlp(outputs: int, widths: tuple[int, ...] = (32, 32), inputs: int = FEATURES) -> Any:
    """Returns an MLP of haiku and an example of its input."""
    net = hk.transform(lambda values: hk.nets.MLP([*widths, outputs])(values))
    return hk.without_apply_rng(net), array(1, inputs)


def convolutional(outputs: int) -> Any:
    """Returns the convolutional network of DQN, on small images, and an example of its input."""

    def forward(flat: jax.Array) -> jax.Array:
        images = flat.reshape(*flat.shape[:-1], 12, 12, 1)
        hidden = jax.nn.relu(hk.Conv2D(8, 3, stride=2)(images))
        hidden = jax.nn.relu(hk.Conv2D(16, 3)(hidden))
        return hk.nets.MLP([32, outputs])(hidden.reshape(hidden.shape[0], -1))

    return hk.without_apply_rng(hk.transform(forward)), array(1, 144)


def agent(
    nets: dict[str, Any], loss: Callable[..., jax.Array], batch: tuple[Any, ...], **extra: Any
) -> Task:
    """Returns the task of an agent.

    Args:
        nets: Networks by name, each with an example of its input.
        loss: `loss(apply, params, target, *batch)`, where `apply(name, params, inputs)` runs a
            network and `target` are the slowly moving parameters.
        batch: Abstract transitions.
        extra: Abstract parameters that belong to no network.
    """
    params = {name: jax.eval_shape(net.init, key(), inputs) for name, (net, inputs) in nets.items()}

    def apply(name: str, params: Any, inputs: jax.Array) -> jax.Array:
        return nets[name][0].apply(params[name], inputs)

    def tracked(params: Any, target: Any, *batch: Any) -> Any:
        value = loss(apply, params, target, *batch)
        # The target network follows the learned one, as in rlax's examples.
        moved = jax.tree.map(lambda old, new: old + 0.01 * (new - old), target, params)
        return value, moved

    params |= extra
    return Task(
        params=params,
        state=params,
        batch=batch,
        forward=lambda params, target, *batch: loss(apply, params, target, *batch),
        loss=tracked,
    )


def agent_recipes(
    family: str, model: str, task: Callable[[], Task], kinds: str
) -> Iterator[Recipe]:
    """Yields one recipe for each kind of program of an agent, with blanks between the kinds."""
    text = f"Update of agent {model} with losses of rlax, batch {BATCH}"
    yield from task_recipes(
        family, LIBRARY, model, text, task, {kind: kind for kind in kinds.split()}
    )


def q_loss(kind: str) -> Callable[..., jax.Array]:
    """Returns a loss of action values on transitions, by rlax's name of it."""

    def loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
        seen, action, reward, discount, after = batch
        values, following = apply("q", params, seen), apply("q", target, after)
        chosen = apply("q", params, after)
        if kind == "q":
            errors = jax.vmap(rlax.q_learning)(values, action, reward, discount, following)
        elif kind == "double-q":
            learn = jax.vmap(rlax.double_q_learning)
            errors = learn(values, action, reward, discount, following, chosen)
        elif kind == "persistent-q":
            learn = jax.vmap(partial(rlax.persistent_q_learning, action_gap_scale=0.5))
            errors = learn(values, action, reward, discount, following)
        elif kind == "expected-sarsa":
            learn = jax.vmap(rlax.expected_sarsa)
            policy = jax.nn.softmax(chosen)
            errors = learn(values, action, reward, discount, following, policy)
        else:
            learn = jax.vmap(rlax.sarsa)
            errors = learn(values, action, reward, discount, following, chosen.argmax(axis=-1))
        return jnp.mean(rlax.huber_loss(errors, 1.0))

    return loss


def distribution_loss(kind: str) -> Callable[..., jax.Array]:
    """Returns a loss of distributions of returns: `categorical`, `quantile` and kin."""

    def loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
        seen, action, reward, discount, after = batch
        atoms = jnp.linspace(-5.0, 5.0, ATOMS)

        def shaped(weights: Any, inputs: jax.Array) -> jax.Array:
            return apply("q", weights, inputs).reshape(-1, ACTIONS, ATOMS)

        now, following, chosen = shaped(params, seen), shaped(target, after), shaped(params, after)
        if kind == "categorical":
            learn = jax.vmap(rlax.categorical_q_learning, (None, 0, 0, 0, 0, None, 0))
            return learn(atoms, now, action, reward, discount, atoms, following).mean()
        means = jnp.sum(jax.nn.softmax(chosen) * atoms, axis=-1)
        if kind == "categorical-double":
            learn = jax.vmap(rlax.categorical_double_q_learning, (None, 0, 0, 0, 0, None, 0, 0))
            return learn(atoms, now, action, reward, discount, atoms, following, means).mean()
        levels = (jnp.arange(ATOMS) + 0.5) / ATOMS
        now, following, chosen = (jnp.swapaxes(leaf, 1, 2) for leaf in (now, following, chosen))
        if kind == "quantile":
            learn = partial(rlax.quantile_q_learning, huber_param=1.0)
            learn = jax.vmap(learn, (0, None, 0, 0, 0, 0, 0))
            return learn(now, levels, action, reward, discount, chosen, following).mean()
        policy = jax.nn.softmax(chosen.mean(axis=1))
        learn = jax.vmap(rlax.quantile_expected_sarsa, (0, None, 0, 0, 0, 0, 0))
        return learn(now, levels, action, reward, discount, following, policy).mean()

    return loss


def intrinsic_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns Q learning with episodic curiosity (never give up) added to the rewards."""
    seen, action, reward, discount, after = batch
    embedded = apply("embedding", params, after)
    curious = rlax.episodic_memory_intrinsic_rewards(embedded, 3, 0.1, max_memory_size=32)
    values, following = apply("q", params, seen), apply("q", target, after)
    rewards = reward + jax.lax.stop_gradient(curious[0])
    errors = jax.vmap(rlax.q_learning)(values, action, rewards, discount, following)
    return jnp.mean(rlax.l2_loss(errors))


def q_agent(loss: Callable[..., jax.Array]) -> Task:
    """Returns a learner of action values."""
    return agent({"q": mlp(ACTIONS)}, loss, TRANSITIONS)


def distributional_agent(loss: Callable[..., jax.Array], layers: int) -> Task:
    """Returns a learner of distributions of returns, by a network of some layers."""
    return agent({"q": mlp(ACTIONS * ATOMS, (32,) * layers)}, loss, TRANSITIONS)


def curious_agent() -> Task:
    """Returns Q learning with intrinsic rewards."""
    return agent({"q": mlp(ACTIONS), "embedding": mlp(8)}, intrinsic_loss, TRANSITIONS)


def agent_of_images(loss: Callable[..., jax.Array]) -> Task:
    """Returns a learner of action values that sees images."""
    images = (array(BATCH, 144), *TRANSITIONS[1:4], array(BATCH, 144))
    return agent({"q": convolutional(ACTIONS)}, loss, images)


def recipes() -> Iterator[Recipe]:
    """Yields the agents that learn action values, or their distributions, from transitions."""
    programs = {
        "q": "train-adam grad",
        "double-q": "train-adamw-clip",
        "persistent-q": "train-rmsprop grad",
        "expected-sarsa": "loop-adam grad",
        "sarsa": "train-adam-clip grad",
    }
    for kind, kinds in programs.items():
        yield from agent_recipes("dqn", f"{kind}-mlp", partial(q_agent, q_loss(kind)), kinds)
    images = partial(agent_of_images, q_loss("double-q"))
    yield from agent_recipes("dqn", "double-q-cnn", images, "train-rmsprop grad loop-adam")
    yield from agent_recipes("dqn", "curious-mlp", curious_agent, "train-adam")
    distributions = ("categorical", "categorical-double", "quantile", "quantile-sarsa")
    for layers, kind in enumerate(distributions, start=1):
        task = partial(distributional_agent, distribution_loss(kind), layers)
        yield from agent_recipes("distributional-dqn", f"{kind}-mlp", task, "train-adam grad")
