"""Reinforcement learning from trajectories by rlax: traces, several steps, policy gradients."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import rlax
from recipe import Recipe, array
from sources.rlax_losses import ACTIONS, BATCH, FEATURES, agent, agent_recipes, mlp
from tasks import Task

STEPS = 12

TRAJECTORIES = (
    array(STEPS + 1, BATCH, FEATURES),
    array(STEPS, BATCH, dtype=jnp.int32),
    array(STEPS, BATCH),
    array(STEPS, BATCH),
    array(STEPS, BATCH, ACTIONS),
)
"""Observations, actions, rewards, discounts and the logits of the policy that acted."""

each = partial(jax.vmap, in_axes=1, out_axes=1)
"""Maps over the batch of trajectories."""


def recurrent(outputs: int) -> Any:
    """Returns a GRU over time with a linear layer on top, and an example of its input."""

    def forward(inputs: jax.Array) -> jax.Array:
        core = hk.GRU(24)
        states, _ = hk.dynamic_unroll(core, inputs, core.initial_state(inputs.shape[1]))
        return hk.BatchApply(hk.Linear(outputs))(states)

    return hk.without_apply_rng(hk.transform(forward)), array(2, 1, FEATURES)


def sequence_loss(kind: str) -> Callable[..., jax.Array]:
    """Returns a loss of action values on trajectories: traces and several steps."""

    def loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
        seen, action, reward, discount, behaviour = batch
        values, slow = apply("q", params, seen), apply("q", target, seen)
        pair = rlax.SIGNED_HYPERBOLIC_PAIR
        policy = jax.nn.softmax(values[1:])
        if kind == "q-lambda":
            learn = each(partial(rlax.q_lambda, lambda_=0.9))
            errors = learn(values[:-1], action, reward, discount, slow[1:])
        elif kind == "transformed-q-lambda":
            learn = partial(rlax.transformed_q_lambda, lambda_=jnp.float32(0.9), tx_pair=pair)
            errors = each(learn)(values[:-1], action, reward, discount, slow[1:])
        elif kind == "sarsa-lambda":
            learn = each(partial(rlax.sarsa_lambda, lambda_=0.9))
            following = jnp.concatenate([action[1:], action[-1:]])
            errors = learn(values[:-1], action, reward, discount, slow[1:], following)
        elif kind == "n-step":
            learn = partial(rlax.transformed_n_step_q_learning, n=3, tx_pair=pair)
            greedy = values[1:].argmax(axis=-1)
            errors = each(learn)(values[:-1], action, slow[1:], greedy, reward, discount)
        else:
            learn = rlax.retrace if kind == "retrace" else rlax.transformed_retrace
            options = {} if kind == "retrace" else {"tx_pair": pair}
            learn = each(partial(learn, lambda_=0.95, **options))
            taken = jnp.take_along_axis(jax.nn.softmax(behaviour), action[..., None], -1)[..., 0]
            rows = (values[:-2], slow[1:-1], action[:-1], action[1:], reward[:-1], discount[:-1])
            errors = learn(*rows, policy[:-1], taken[1:])
        return jnp.mean(rlax.l2_loss(errors))

    return loss


def policy_terms(apply: Any, params: Any, batch: tuple[Any, ...]) -> tuple[jax.Array, ...]:
    """Returns a policy's logits, its values and the loss of its entropy, on trajectories."""
    logits = apply("policy", params, batch[0])[:-1]
    value = apply("value", params, batch[0])[..., 0]
    ones = jnp.ones_like(batch[2])
    return logits, value, jax.vmap(rlax.entropy_loss, 1)(logits, ones).mean()


def impala_loss(leaky: bool, apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of V-trace, which corrects for the policy that acted."""
    _, action, reward, discount, behaviour = batch
    logits, value, entropy = policy_terms(apply, params, batch)
    ones = jnp.ones_like(reward)
    log_ratio = jax.nn.log_softmax(logits) - jax.nn.log_softmax(behaviour)
    ratio = jnp.exp(jnp.take_along_axis(log_ratio, action[..., None], -1)[..., 0])
    learn: Any = rlax.vtrace_td_error_and_advantage
    if leaky:
        learn = partial(rlax.leaky_vtrace_td_error_and_advantage, alpha=0.7)
    out = each(learn)(value[:-1], value[1:], reward, discount, ratio)
    actor = jax.vmap(rlax.policy_gradient_loss, 1)
    policy = actor(logits, action, out.pg_advantage, ones).mean()
    return policy + 0.5 * jnp.mean(out.errors**2) + 0.01 * entropy


def a2c_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of an advantage actor and its critic."""
    _, action, reward, discount, _ = batch
    logits, value, entropy = policy_terms(apply, params, batch)
    learn = each(partial(rlax.td_lambda, lambda_=0.9))
    errors = learn(value[:-1], reward, discount, value[1:])
    actor = jax.vmap(rlax.policy_gradient_loss, 1)
    policy = actor(logits, action, errors, jnp.ones_like(reward)).mean()
    return policy + jnp.mean(errors**2) + entropy


def ppo_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of proximal policy optimization."""
    _, action, reward, discount, behaviour = batch
    logits, value, entropy = policy_terms(apply, params, batch)
    estimate = rlax.truncated_generalized_advantage_estimation
    gae = jax.vmap(estimate, in_axes=(1, 1, None, 1), out_axes=1)
    advantage = gae(reward, discount, 0.95, jax.lax.stop_gradient(value))
    ratio = jax.vmap(jax.vmap(rlax.categorical_importance_sampling_ratios))
    surrogate = jax.vmap(partial(rlax.clipped_surrogate_pg_loss, epsilon=0.2), 1)
    policy = surrogate(ratio(logits, behaviour, action), advantage).mean()
    returns = jax.lax.stop_gradient(advantage + value[:-1])
    return policy + jnp.mean((value[:-1] - returns) ** 2) + 0.01 * entropy


def vmpo_loss(apply: Any, params: Any, target: Any, *batch: Any) -> jax.Array:
    """Returns the loss of on-policy maximum a posteriori policy optimization."""
    seen, action, reward, discount, _ = batch
    logits, value, _ = policy_terms(apply, params, batch)
    traces = 0.9 * jnp.ones_like(reward)
    errors = each(rlax.td_lambda)(value[:-1], reward, discount, value[1:], traces)
    log_probs = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(log_probs, action[..., None], -1)[..., 0]
    old = jax.nn.log_softmax(apply("policy", target, seen)[:-1])
    divergence = jnp.sum(jnp.exp(old) * (old - log_probs), axis=-1)
    penalty = rlax.LagrangePenalty(jax.nn.softplus(params["duals"][0]), 0.1)
    limit = rlax.LagrangePenalty(jax.nn.softplus(params["duals"][1]), 0.01)
    policy, _ = rlax.vmpo_loss(taken, errors, penalty, [(divergence, limit)])
    return jnp.mean(policy) + jnp.mean(errors**2)


def all_actions_loss(
    learn: Callable[..., jax.Array], apply: Any, params: Any, target: Any, *batch: Any
) -> jax.Array:
    """Returns the loss of a policy that is moved towards all actions by their values."""
    seen, action, reward, discount, _ = batch
    logits, _, entropy = policy_terms(apply, params, batch)
    critic = each(partial(rlax.q_lambda, lambda_=0.8))
    values, slow = apply("q", params, seen), apply("q", target, seen)
    errors = critic(values[:-1], action, reward, discount, slow[1:])
    actor = jax.vmap(learn, 1)(logits, values[:-1])
    return jnp.mean(actor) + jnp.mean(errors**2) + 0.01 * entropy


ACTOR_CRITICS: dict[str, tuple[Callable[..., jax.Array], str]] = {
    "impala": (partial(impala_loss, False), "train-adam"),
    "leaky-impala": (partial(impala_loss, True), "grad"),
    "a2c": (a2c_loss, "train-rmsprop"),
    "ppo": (ppo_loss, "loop-adam"),
    "vmpo": (vmpo_loss, "train-adam"),
    "qpg": (partial(all_actions_loss, rlax.qpg_loss), "grad"),
    "rpg": (partial(all_actions_loss, rlax.rpg_loss), "train-rmsprop"),
    "rm": (partial(all_actions_loss, rlax.rm_loss), "loop-adam"),
}
"""Losses of a policy and its value function, and the programs of a recurrent agent with each."""

SEQUENCES = {
    "q-lambda": "train-adam",
    "transformed-q-lambda": "grad",
    "sarsa-lambda": "train-rmsprop",
    "n-step": "loop-adam",
    "retrace": "train-adam-clip",
    "transformed-retrace": "train-sgdm",
}
"""Losses of action values, and the programs of a recurrent agent with each."""


def sequence_agent(net: Callable[..., Any], kind: str) -> Task:
    """Returns a learner of action values from trajectories."""
    return agent({"q": net(ACTIONS)}, sequence_loss(kind), TRAJECTORIES)


def actor_critic(net: Callable[..., Any], kind: str) -> Task:
    """Returns a learner of a policy and its values from trajectories."""
    nets = {"policy": net(ACTIONS), "value": net(1)}
    if kind in ("qpg", "rpg", "rm"):
        nets["q"] = net(ACTIONS)
    duals = {"duals": array(2)} if kind == "vmpo" else {}
    return agent(nets, ACTOR_CRITICS[kind][0], TRAJECTORIES, **duals)


def recipes() -> Iterator[Recipe]:
    """Yields the agents that learn from trajectories, each with an MLP and with a GRU."""
    for kind, kinds in SEQUENCES.items():
        for name, net, chosen in (("gru", recurrent, kinds), ("mlp", mlp, "train-adamw")):
            task = partial(sequence_agent, net, kind)
            yield from agent_recipes("recurrent-q", f"{kind}-{name}", task, chosen)
    for kind, (_, kinds) in ACTOR_CRITICS.items():
        for name, net, chosen in (("gru", recurrent, kinds), ("mlp", mlp, "train-adam-clip")):
            task = partial(actor_critic, net, kind)
            yield from agent_recipes("policy-gradient", f"{kind}-{name}", task, chosen)
