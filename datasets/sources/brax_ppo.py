"""Policies of brax's PPO: updates, acting in an environment, gradients through the physics."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import optax
from brax import envs
from brax.training import acting, gradients
from brax.training.acme import running_statistics
from brax.training.agents.ppo import losses as ppo_losses
from brax.training.agents.ppo import networks as ppo_networks
from recipe import Recipe, array
from sources.brax_agents import (
    ACTION,
    HIDDEN,
    OBSERVATION,
    Program,
    agent_recipes,
    normalizer,
    transitions,
)
from sources.brax_environments import raw_key


def ppo(observation: int, action: int, **options: Any) -> ppo_networks.PPONetworks:
    """Returns small networks for proximal policy optimisation."""
    sizes = {"policy_hidden_layer_sizes": HIDDEN, "value_hidden_layer_sizes": HIDDEN}
    normalize = running_statistics.normalize
    return ppo_networks.make_ppo_networks(
        observation, action, preprocess_observations_fn=normalize, **sizes, **options
    )


def ppo_params(network: ppo_networks.PPONetworks) -> ppo_losses.PPONetworkParams:
    """Returns abstract parameters of policy and value."""
    return ppo_losses.PPONetworkParams(
        policy=jax.eval_shape(network.policy_network.init, raw_key()),
        value=jax.eval_shape(network.value_network.init, raw_key()),
    )


def lower_ppo(
    *, epochs: int = 1, loss: dict[str, Any] | None = None, **options: Any
) -> jax.stages.Lowered:
    """Lowers an update of proximal policy optimisation on transitions.

    Args:
        epochs: Updates, in a scan over mini-batches if more than one.
        loss: Options of `compute_ppo_loss`.
        **options: Options of the networks.
    """
    batch, length = 8, 5
    network = ppo(OBSERVATION, ACTION, **options)
    compute = partial(ppo_losses.compute_ppo_loss, ppo_network=network, **(loss or {}))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(3e-4))
    update = gradients.gradient_update_fn(compute, optimizer, None, has_aux=True)

    def step(carry: Any, data: Any, statistics: Any) -> Any:
        params, moments, rng = carry
        rng, loss_rng = jax.random.split(rng)
        (_, metrics), params, moments = update(
            params, statistics, data, loss_rng, optimizer_state=moments
        )
        return (params, moments, rng), metrics

    def train(carry: Any, data: Any, statistics: Any) -> Any:
        statistics = running_statistics.update(statistics, data.observation)
        if epochs == 1:
            return step(carry, data, statistics), statistics
        carry, metrics = jax.lax.scan(
            lambda carry, data: step(carry, data, statistics), carry, data
        )
        return carry, metrics, statistics

    shape = (batch, length) if epochs == 1 else (epochs, batch, length)
    params, statistics = ppo_params(network), normalizer(OBSERVATION)
    critic = {"use_distributional_critic": options.get("use_distributional_critic", False)}

    def act(params: Any, statistics: Any, observation: jax.Array, rng: jax.Array) -> Any:
        make_policy = ppo_networks.make_inference_fn(network, compute_value=True, **critic)
        return make_policy((statistics, params.policy, params.value))(observation, rng)[1]

    # What the policy leaves for the loss: densities, raw actions, values.
    observations = array(*shape, OBSERVATION)
    extras = {
        "policy_extras": jax.eval_shape(act, params, statistics, observations, raw_key()),
        "state_extras": {"truncation": array(*shape)},
    }
    carry = (params, jax.eval_shape(optimizer.init, params), raw_key())
    return jax.jit(train).lower(carry, transitions(shape, extras), statistics)


def acting_in(name: str, backend: str) -> tuple[Any, Any, tuple[Any, ...]]:
    """Returns four environments of a kind, networks for them, and the abstract arrays of both.

    The arrays are the networks' parameters, statistics of observations, and the environments'
    state.
    """
    environment = envs.create(name, backend=backend, batch_size=4, episode_length=100)
    network = ppo(environment.observation_size, environment.action_size)
    statistics = normalizer(environment.observation_size)
    state = jax.eval_shape(environment.reset, raw_key())
    return environment, network, (ppo_params(network), statistics, state)


def lower_acting(name: str, backend: str, deterministic: bool) -> jax.stages.Lowered:
    """Lowers collecting experience: policy and environment for eight steps."""
    environment, network, (params, statistics, state) = acting_in(name, backend)
    make_policy = ppo_networks.make_inference_fn(network)

    def collect(params: Any, state: Any, rng: jax.Array) -> Any:
        policy = make_policy(params, deterministic=deterministic)
        return acting.generate_unroll(environment, state, policy, rng, 8, ("truncation",))

    return jax.jit(collect).lower((statistics, params.policy, params.value), state, raw_key())


def lower_policy_gradient(name: str, backend: str) -> jax.stages.Lowered:
    """Lowers a step of analytic policy gradients, through policy and physics."""
    environment, network, (params, statistics, state) = acting_in(name, backend)
    make_policy = ppo_networks.make_inference_fn(network)
    optimizer = optax.chain(optax.clip(1.0), optax.adam(1e-3))

    def loss(policy: Any, statistics: Any, value: Any, state: Any, rng: jax.Array) -> Any:
        act = make_policy((statistics, policy, value), deterministic=True)
        state, data = acting.generate_unroll(environment, state, act, rng, 4)
        return -data.reward.mean(), state

    update = gradients.gradient_update_fn(loss, optimizer, None, has_aux=True)

    def train(params: Any, moments: Any, statistics: Any, state: Any, rng: jax.Array) -> Any:
        return update(params.policy, statistics, params.value, state, rng, optimizer_state=moments)

    moments = jax.eval_shape(optimizer.init, params.policy)
    return jax.jit(train).lower(params, moments, statistics, state, raw_key())


def recipes() -> Iterator[Recipe]:
    """Yields every program of PPO's policies."""
    programs: dict[str, Program] = {
        "ppo/train-b8-t5": ("PPO update", lower_ppo, "training-step"),
        "ppo/train-4-minibatches-b8-t5": (
            "PPO updates in a scan over 4 mini-batches",
            partial(lower_ppo, epochs=4),
            "training-step",
        ),
        "ppo-clipped-value/train-b8-t5": (
            "PPO update, clipped value loss, advantages not normalized",
            partial(lower_ppo, loss={"clipping_epsilon_value": 0.2, "normalize_advantage": False}),
            "training-step",
        ),
        "ppo-normal/train-b8-t5": (
            "PPO update, normal distribution with learned scale",
            partial(lower_ppo, distribution_type="normal", noise_std_type="log"),
            "training-step",
        ),
        "ppo-quantile/train-b8-t5": (
            "PPO update, distributional critic of 8 quantiles",
            partial(
                lower_ppo,
                loss={"use_distributional_critic": True, "clipping_epsilon_value": 0.2},
                use_distributional_critic=True,
                num_quantiles=8,
            ),
            "training-step",
        ),
        "ppo-pendulum/unroll8-b4": (
            "PPO policy in inverted_pendulum, generalized pipeline, 8 steps",
            partial(lower_acting, "inverted_pendulum", "generalized", False),
            "algorithm",
        ),
        "ppo-ant/unroll8-b4": (
            "PPO policy, deterministic, in ant, spring pipeline, 8 steps",
            partial(lower_acting, "ant", "spring", True),
            "algorithm",
        ),
        "apg-pendulum/train-b4": (
            "Analytic policy gradient through inverted_pendulum, generalized pipeline, 4 steps",
            partial(lower_policy_gradient, "inverted_pendulum", "generalized"),
            "training-step",
        ),
    }
    yield from agent_recipes(programs)
