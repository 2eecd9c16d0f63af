"""Agents of brax that learn from recorded transitions: soft actor-critic, behavioural cloning.

What all agents share is here too: their networks' sizes, abstract data, and the recipes' form.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from brax.training import gradients, types
from brax.training.acme import running_statistics, specs
from brax.training.agents.bc import losses as bc_losses
from brax.training.agents.bc import networks as bc_networks
from brax.training.agents.sac import losses as sac_losses
from brax.training.agents.sac import networks as sac_networks
from recipe import Recipe, Scope, array
from sources.brax_environments import LIBRARY, raw_key

HIDDEN = (32, 32)
OBSERVATION, ACTION = 12, 3

Program = tuple[str, Callable[[], jax.stages.Lowered], Scope]
"""Description of a graph, its lowering and its scope."""


def normalizer(observation: int) -> Any:
    """Returns abstract running statistics of observations."""
    spec = specs.Array((observation,), jnp.dtype("float32"))
    return jax.eval_shape(lambda: running_statistics.init_state(spec))


def transitions(shape: tuple[int, ...], extras: dict[str, Any]) -> types.Transition:
    """Returns abstract transitions."""
    return types.Transition(
        observation=array(*shape, OBSERVATION),
        action=array(*shape, ACTION),
        reward=array(*shape),
        discount=array(*shape),
        next_observation=array(*shape, OBSERVATION),
        extras=extras,
    )


def lower_sac(updates: int, layer_norm: bool) -> jax.stages.Lowered:
    """Lowers soft actor-critic: temperature, critics, actor and target network.

    Args:
        updates: Updates, in a scan if more than one.
        layer_norm: Layer norms in the networks.
    """
    batch = 16
    network = sac_networks.make_sac_networks(
        OBSERVATION,
        ACTION,
        preprocess_observations_fn=running_statistics.normalize,
        hidden_layer_sizes=HIDDEN,
        policy_network_layer_norm=layer_norm,
        q_network_layer_norm=layer_norm,
    )
    losses = sac_losses.make_losses(network, 1.0, 0.99, ACTION)
    optimizer = optax.adam(3e-4)
    alpha_update, critic_update, actor_update = (
        gradients.gradient_update_fn(loss, optimizer, None) for loss in losses
    )

    def step(carry: Any, data: Any) -> Any:
        (alpha, policy, critic, target), moments, statistics, rng = carry
        rng, *rngs = jax.random.split(rng, 4)
        temperature = jnp.exp(alpha)
        losses, updated = [0.0] * 3, [None] * 3
        losses[0], new_alpha, updated[0] = alpha_update(
            alpha, policy, statistics, data, rngs[0], optimizer_state=moments[0]
        )
        losses[1], new_critic, updated[1] = critic_update(
            critic,
            policy,
            statistics,
            target,
            temperature,
            data,
            rngs[1],
            optimizer_state=moments[1],
        )
        losses[2], new_policy, updated[2] = actor_update(
            policy, statistics, critic, temperature, data, rngs[2], optimizer_state=moments[2]
        )
        target = optax.incremental_update(new_critic, target, 0.005)
        params = (new_alpha, new_policy, new_critic, target)
        return (params, updated, statistics, rng), losses

    def train(carry: Any, data: Any) -> Any:
        return step(carry, data) if updates == 1 else jax.lax.scan(step, carry, data)

    shape = (batch,) if updates == 1 else (updates, batch)
    extras = {"policy_extras": {}, "state_extras": {"truncation": array(*shape)}}
    policy = jax.eval_shape(network.policy_network.init, raw_key())
    critic = jax.eval_shape(network.q_network.init, raw_key())
    alpha = array()
    moments = [jax.eval_shape(optimizer.init, tree) for tree in (alpha, critic, policy)]
    carry = ((alpha, policy, critic, critic), moments, normalizer(OBSERVATION), raw_key())
    return jax.jit(train).lower(carry, transitions(shape, extras))


def lower_cloning() -> jax.stages.Lowered:
    """Lowers a step of behavioural cloning."""
    network = bc_networks.make_bc_networks(OBSERVATION, ACTION, policy_hidden_layer_sizes=HIDDEN)
    optimizer = optax.adam(1e-3)
    params = jax.eval_shape(network.policy_network.init, raw_key())
    make_policy = bc_networks.make_inference_fn(network)
    loss = partial(bc_losses.bc_loss, make_policy=make_policy)
    update = gradients.gradient_update_fn(loss, optimizer, None, has_aux=True)

    def train(params: Any, moments: Any, statistics: Any, data: Any) -> Any:
        return update(params, statistics, data, optimizer_state=moments)

    data = {
        "observations": array(16, OBSERVATION),
        "teacher_action_extras": {"loc": array(16, ACTION)},
    }
    moments = jax.eval_shape(optimizer.init, params)
    return jax.jit(train).lower(params, moments, normalizer(OBSERVATION), data)


def agent_recipes(programs: Mapping[str, Program]) -> Iterator[Recipe]:
    """Yields the recipes of agents' programs, given by name without family."""
    for name, (words, lower, scope) in programs.items():
        yield Recipe(
            name=f"brax-agents/{name}",
            family="brax-agents",
            library=LIBRARY,
            recipe=f"brax.training: {words}, hidden layers 32-32",
            lower=lower,
            scope=scope,
        )


def recipes() -> Iterator[Recipe]:
    """Yields soft actor-critic and behavioural cloning."""
    programs: dict[str, Program] = {
        "sac/train-b16": ("SAC update", partial(lower_sac, 1, False), "training-step"),
        "sac-layer-norm/loop4-b16": (
            "SAC updates in a scan over 4 batches, layer norms",
            partial(lower_sac, 4, True),
            "training-step",
        ),
        "bc/train-b16": ("Behavioural cloning update", lower_cloning, "training-step"),
    }
    yield from agent_recipes(programs)
