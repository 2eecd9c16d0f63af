"""Reinforcement learning with continuous actions by rlax: DDPG, TD3, SAC and MPO."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import rlax
from recipe import Recipe, array, key
from sources.rlax_losses import BATCH, FEATURES, TRANSITIONS, agent, agent_recipes, mlp
from tasks import Task

DIMENSIONS = 2
"""Dimensions of an action."""

CONTINUOUS = (TRANSITIONS[0], array(BATCH, DIMENSIONS), *TRANSITIONS[2:], key())
"""Transitions, and a random key."""


class BOUNDS:
    """Bounds of the actions, as rlax's squashed Gaussian reads them from a specification."""

    minimum, maximum = -1.0, 1.0


def values_of(apply: Any, name: str, params: Any, seen: jax.Array, action: jax.Array) -> jax.Array:
    """Returns what a critic thinks of actions."""
    return apply(name, params, jnp.concatenate([seen, action], axis=-1))[..., 0]


def deterministic_loss(twin: bool, apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of DDPG, or of TD3 with its twin critics and noise."""
    seen, action, reward, discount, after, rng = batch
    critic = partial(values_of, apply)
    following = jnp.tanh(apply("policy", target, after))
    if twin:
        following = rlax.add_gaussian_noise(rng, following, 0.2)
    names = ("q", "twin") if twin else ("q",)
    slow = jnp.stack([critic(name, target, after, following) for name in names]).min(0)
    learn = jax.vmap(rlax.td_learning)
    errors = [learn(critic(name, params, seen, action), reward, discount, slow) for name in names]
    chosen = jnp.tanh(apply("policy", params, seen))
    fixed = jax.lax.stop_gradient(params)
    slope = jax.grad(lambda action: critic("q", fixed, seen, action).sum())(chosen)
    actor = jax.vmap(partial(rlax.dpg_loss, dqda_clipping=1.0))(chosen, slope)
    return actor.mean() + sum(jnp.mean(rlax.l2_loss(error)) for error in errors)


def soft_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of the soft actor and critic (SAC)."""
    seen, action, reward, discount, after, rng = batch
    critic = partial(values_of, apply)
    fixed = jax.lax.stop_gradient
    normal = rlax.squashed_gaussian()

    def policy(seen: jax.Array) -> Any:
        return jnp.split(apply("policy", params, seen), 2, axis=-1)

    rngs = jax.random.split(rng)
    following = normal.sample(rngs[0], *policy(after), BOUNDS)
    log_prob = normal.logprob(following, *policy(after), BOUNDS)
    slow = jnp.minimum(*(critic(q, target, after, following) for q in ("q", "twin")))
    backup = fixed(reward + discount * (slow - 0.1 * log_prob))
    errors = [critic(q, params, seen, action) - backup for q in ("q", "twin")]
    chosen = normal.sample(rngs[1], *policy(seen), BOUNDS)
    best = jnp.minimum(*(critic(q, fixed(params), seen, chosen) for q in ("q", "twin")))
    entropy = 0.1 * normal.logprob(chosen, *policy(seen), BOUNDS)
    return jnp.mean(entropy - best) + sum(jnp.mean(error**2) for error in errors)


def posterior_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of maximum a posteriori policy optimization (MPO)."""
    seen, action, reward, discount, after, rng = batch
    critic = partial(values_of, apply)
    normal = rlax.gaussian_diagonal()

    def policy(weights: Any, seen: jax.Array) -> Any:
        mean, scale = jnp.split(apply("policy", weights, seen), 2, axis=-1)
        return mean, jax.nn.softplus(scale) + 1e-3

    mean, scale = policy(target, seen)
    draws = jax.vmap(lambda rng: normal.sample(rng, mean, scale))(jax.random.split(rng, 10))
    values = jax.vmap(partial(critic, "q", target, seen))(draws)
    log_probs = jax.vmap(lambda draw: normal.logprob(draw, *policy(params, seen)))(draws)
    divergence = rlax.multivariate_normal_kl_divergence(mean, scale, *policy(params, seen))
    duals = jax.nn.softplus(params["duals"])
    limits = [(divergence, rlax.LagrangePenalty(duals[1], 0.01))]
    temperature = rlax.LagrangePenalty(duals[0], 0.1)
    improved, _ = rlax.mpo_loss(log_probs, values, temperature, limits)
    slow = critic("q", target, after, apply("policy", target, after)[..., :DIMENSIONS])
    learn = jax.vmap(rlax.td_learning)
    errors = learn(critic("q", params, seen, action), reward, discount, slow)
    return jnp.mean(improved) + jnp.mean(rlax.l2_loss(errors))


def continuous_agent(loss: Callable[..., jax.Array], heads: int, duals: int) -> Task:
    """Returns a learner of continuous actions.

    Args:
        loss: Takes what the loss of `agent` takes.
        heads: Outputs of the policy for each dimension of an action.
        duals: Multipliers of the loss's constraints; 0 where it has none.
    """
    critic = mlp(1, inputs=FEATURES + DIMENSIONS)
    nets = {"policy": mlp(heads * DIMENSIONS), "q": critic, "twin": critic}
    return agent(nets, loss, CONTINUOUS, **({"duals": array(duals)} if duals else {}))


def recipes() -> Iterator[Recipe]:
    """Yields the agents with continuous actions."""
    losses: dict[str, tuple[Callable[..., jax.Array], int, int]] = {
        "ddpg": (partial(deterministic_loss, False), 1, 0),
        "td3": (partial(deterministic_loss, True), 1, 0),
        "sac": (soft_loss, 2, 0),
        "mpo": (posterior_loss, 2, 2),
    }
    for name, arguments in losses.items():
        task = partial(continuous_agent, *arguments)
        yield from agent_recipes("continuous-control", f"{name}-mlp", task, "train-adam grad")
