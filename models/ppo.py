"""Proximal policy optimisation over distinct states, from top to bottom.

PPO: Schulman et al. 2017, arXiv:1707.06347. What is settled beyond that paper names its
source where it stands; [A] is Andrychowicz et al. 2021, arXiv:2006.05990, [E] is Engstrom
et al. 2020, arXiv:2005.12729, [H] is Huang et al. 2022, "The 37 implementation details of
PPO".

What is not in the literature: minibatches are formed of distinct states. An encoder costs
far more than the heads, and most transitions share a state with others, so a minibatch is
a random set of distinct states with every transition that visited them, and encodes each
of these states once; and what states of an episode share, once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from models.actor_critic import ActorCritic, entropy
from models.config import PPOConfig
from models.encoder import StateStore
from models.gradients import MinibatchGradients
from models.rollout import Rollout, state_minibatches


@dataclass(frozen=True)
class UpdateStats:
    """What an update did; means over its minibatches unless stated."""

    policy_loss: float
    value_loss: float
    entropy: float
    approximate_kl: float
    """Distance from the policy that collected, in the last minibatch."""
    clip_fraction: float
    """Share of transitions whose ratio left the clip range."""
    gradient_norm: float
    """Before clipping."""
    first_ratio_error: float
    """Largest |ratio - 1| before the first step: rounding only, or something is wrong."""
    explained_variance: float
    """Of the returns by the values that the critic gave while collecting."""
    learning_rate: float
    optimizer_steps: int
    encoded_nodes: int
    """Distinct nodes that went through the encoder, over all epochs."""


_TERMS = ("policy_loss", "value_loss", "entropy", "kl", "clipped")
"""What is summed up beside the loss."""


@dataclass(frozen=True)
class _Transitions:
    """A rollout, flattened to B transitions, with what PPO learns from."""

    states: StateStore
    state: Tensor
    context: Tensor
    mask: Tensor
    action: Tensor
    log_prob: Tensor
    value: Tensor
    advantage: Tensor
    returns: Tensor

    def to(self, device: torch.device) -> _Transitions:
        moved = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


def generalized_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438).

    Termination and truncation both end the sum over later steps, for these belong to
    another episode. They differ in what follows the last step: after termination nothing,
    after truncation an episode that goes on unseen, worth the value of the state that it
    was left in (Pardo et al. 2018, arXiv:1712.00378, partial-episode bootstrapping).

    Args:
        reward: float32 [T, N].
        value: float32 [T, N], of the states acted in.
        next_value: float32 [T, N], of the states that followed, before any reset.
        terminated: bool [T, N].
        truncated: bool [T, N].
        gamma: Discount.
        gae_lambda: Decay of the estimate.

    Returns:
        float32 [T, N].
    """
    delta = reward + gamma * next_value * ~terminated - value
    carried = gamma * gae_lambda * ~(terminated | truncated)
    advantage = torch.zeros_like(reward)
    later = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        later = delta[t] + carried[t] * later
        advantage[t] = later
    return advantage


class PPO:
    """Updates a policy from rollouts.

    Args:
        policy: What learns.
        config: Hyper-parameters.
        threads: Parts of a minibatch that are worked on at the same time.
    """

    def __init__(self, policy: ActorCritic, config: PPOConfig, threads: int = 1) -> None:
        self.policy = policy
        self.config = config
        self.gradients = MinibatchGradients(
            policy, threads, config.minibatch_parts, config.node_budget
        )
        # [H] detail 3: Adam's epsilon is 1e-5.
        self.optimizer = torch.optim.Adam(
            self.gradients.parameters, config.learning_rate, eps=config.adam_epsilon, fused=True
        )

    def update(self, rollout: Rollout, progress: float, generator: torch.Generator) -> UpdateStats:
        """Improves the policy on one rollout.

        Args:
            rollout: What the policy, as it is, collected.
            progress: Share of training already done, 0 to 1.
            generator: Source of the order of minibatches.
        """
        config = self.config
        batch = _transitions(rollout, config).to(next(self.policy.parameters()).device)
        rollout.states.prepare(batch.state.device)
        rate = self._set_learning_rate(progress)
        entropy_weight = config.entropy_weight * _linear(progress, config.final_entropy)
        taken: list[dict[str, float]] = []
        nodes = 0
        means: dict[str, float] = {}
        for states in self._minibatches(rollout, generator):
            found = self.gradients.find(
                batch.states, batch.state, states, partial(self.loss, batch, entropy_weight)
            )
            means = dict(zip(_TERMS, found.terms, strict=True)) | {"ratio_error": found.largest}
            nodes += found.nodes
            # A limit on the distance beside the clip, as [H] and Spinning Up have it.
            if config.target_kl is not None and means["kl"] > 1.5 * config.target_kl:
                break
            norm = nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm)
            self.optimizer.step()
            taken.append(means | {"gradient_norm": float(norm)})

        def mean(name: str) -> float:
            return sum(step[name] for step in taken) / max(len(taken), 1)

        return UpdateStats(
            policy_loss=mean("policy_loss"),
            value_loss=mean("value_loss"),
            entropy=mean("entropy"),
            approximate_kl=means["kl"],
            clip_fraction=mean("clipped"),
            gradient_norm=mean("gradient_norm"),
            first_ratio_error=taken[0]["ratio_error"] if taken else means["ratio_error"],
            explained_variance=_explained_variance(batch.value, batch.returns),
            learning_rate=rate,
            optimizer_steps=len(taken),
            encoded_nodes=nodes,
        )

    def _set_learning_rate(self, progress: float) -> float:
        """Linear decay ([A] section 3.7, [H] detail 4)."""
        rate = self.config.learning_rate * _linear(progress, self.config.final_learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[list[int]]:
        """States of the minibatches of all epochs, drawn anew in each ([A] section 3.6)."""
        for _ in range(self.config.epochs):
            yield from state_minibatches(rollout.state, self.config.minibatches, generator)

    def loss(
        self, batch: _Transitions, entropy_weight: float, rows: Tensor, encoded: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The loss of some transitions.

        Args:
            batch: All transitions.
            entropy_weight: Weight of the entropy bonus.
            rows: int64 [V], those that count.
            encoded: float32 [V, encoder.width], vectors of their states.

        Returns:
            Loss, and float32 [len(_TERMS)], both summed over the transitions; largest
            difference of a ratio from 1.
        """
        config = self.config
        log_probs, value = self.policy(encoded, batch.context[rows], batch.mask[rows])
        log_prob = log_probs.gather(1, batch.action[rows].unsqueeze(1)).squeeze(1)
        log_ratio = log_prob - batch.log_prob[rows]
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        advantage = batch.advantage[rows]
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).sum()
        value_loss = self._value_loss(value, batch.value[rows], batch.returns[rows])
        bonus = entropy(log_probs).sum()
        loss = policy_loss + config.value_weight * value_loss - entropy_weight * bonus
        # The estimator k3 of Schulman 2020, joschu.net/blog/kl-approx.html.
        kl = (ratio - 1.0 - log_ratio).sum()
        error = (ratio - 1.0).abs()
        terms = torch.stack([policy_loss, value_loss, bonus, kl, (error > config.clip).sum()])
        return loss, terms.detach(), error.detach().max()

    def _value_loss(self, value: Tensor, old_value: Tensor, returns: Tensor) -> Tensor:
        """Half the squared error, summed; clipped as in [E] where the config asks for it.

        Free by default: [A] section 3.2 found that clipping values hurts.
        """
        error = (value - returns).square()
        if self.config.value_clip is not None:
            limit = self.config.value_clip
            near = old_value + (value - old_value).clamp(-limit, limit)
            error = torch.max(error, (near - returns).square())
        return 0.5 * error.sum()


def _transitions(rollout: Rollout, config: PPOConfig) -> _Transitions:
    """Advantages and returns of a rollout, and all of it flattened to [T * N, ...].

    Advantages are normalised over the whole rollout: a minibatch of distinct states may be
    one state visited many times, whose own mean and deviation say nothing ([A] section 3.6
    finds no difference between the two).
    """
    advantage = generalized_advantages(
        rollout.reward * config.reward_scale,
        rollout.value,
        rollout.next_value,
        rollout.terminated,
        rollout.truncated,
        config.gamma,
        config.gae_lambda,
    )
    returns = advantage + rollout.value
    advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)
    return _Transitions(
        states=rollout.states,
        state=rollout.state.flatten(),
        context=rollout.context.flatten(0, 1),
        mask=rollout.mask.flatten(0, 1),
        action=rollout.action.flatten(),
        log_prob=rollout.log_prob.flatten(),
        value=rollout.value.flatten(),
        advantage=advantage.flatten(),
        returns=returns.flatten(),
    )


def _linear(progress: float, final: float) -> float:
    """1 at the start of training and the final share at its end."""
    return 1.0 + (final - 1.0) * min(max(progress, 0.0), 1.0)


def _explained_variance(value: Tensor, returns: Tensor) -> float:
    """1 - Var(returns - value) / Var(returns); 0 where the returns do not vary."""
    variance = returns.var(correction=0)
    if variance == 0:
        return 0.0
    return float(1.0 - (returns - value).var(correction=0) / variance)
