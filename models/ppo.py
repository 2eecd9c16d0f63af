"""Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347) over distinct states.

The file reads from top to bottom in the order in which an update runs: `PPO.update`, the
transitions with their advantages, the minibatches, the loss, the optimizer step, the statistics.

Each detail names its source:

- [A] Andrychowicz et al. 2021, "What matters for on-policy deep actor-critic methods?",
  arXiv:2006.05990.
- [E] Engstrom et al. 2020, "Implementation matters in deep policy gradients", arXiv:2005.12729.
- [P] Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging", SIAM
  Journal on Control and Optimization 30.
- [H] Huang et al. 2022, "The 37 implementation details of proximal policy optimization",
  ICLR Blog Track; the numbers are those of its 13 core details.

One detail is this project's own: minibatches consist of distinct states. An encoder costs far more
than the heads, and most transitions share their state with others. A minibatch is therefore a
random set of distinct states with every transition that visited them, and encodes each state once;
or it is a random set of environments, whose states share most of their neighbourhoods.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from models.actor_critic import ActorCritic, entropy
from models.config import PPOConfig
from models.encoder import StateStore
from models.gradients import MinibatchGradients, NonFiniteGradientError
from models.rollout import Rollout, state_minibatches


@dataclass(frozen=True)
class UpdateStats:
    """Statistics of one update, means over its optimizer steps unless stated otherwise."""

    policy_loss: float
    value_loss: float
    entropy: float
    approximate_kl: float
    """Divergence from the policy that collected, in the last minibatch ([H] detail 12)."""
    clip_fraction: float
    """Share of transitions whose probability ratio left the clip range ([H] detail 12)."""
    gradient_norm: float
    """Global norm before clipping."""
    first_ratio_error: float
    """Largest ``|ratio - 1|`` before the first step; rounding only, unless there is a defect."""
    explained_variance: float
    """Share of the variance of the returns that the values given while collecting explain."""
    learning_rate: float
    optimizer_steps: int
    skipped_minibatches: int
    """Minibatches without an optimizer step, because their gradient had NaN or infinity in it."""
    encoded_nodes: int
    """Distinct nodes that went through the encoder, over all epochs."""


class PPO:
    """Updates a policy from rollouts.

    Args:
        policy: The policy that learns.
        config: Hyper-parameters.
        threads: Parts of a minibatch that run at the same time.
    """

    def __init__(self, policy: ActorCritic, config: PPOConfig, threads: int = 1) -> None:
        self.policy = policy
        self.config = config
        self.gradients = MinibatchGradients(
            policy, threads, config.minibatch_parts, config.node_budget
        )
        # [H] detail 3: Adam's epsilon is 1e-5. Orthogonal initialisation, [H] detail 2, is in
        # models.actor_critic.
        self.optimizer = torch.optim.Adam(
            self.gradients.parameters, config.learning_rate, eps=config.adam_epsilon, fused=True
        )
        self.average: dict[str, Tensor] | None = None
        """Average of the parameters after each update; None before the first one, or if the
        settings ask for none."""

    def averaged(self) -> ActorCritic:
        """Returns a copy of the policy, with the average of its parameters if there is one."""
        policy = copy.deepcopy(self.policy)
        if self.average is not None:
            policy.load_state_dict(self.average)
        return policy

    def update(self, rollout: Rollout, progress: float, generator: torch.Generator) -> UpdateStats:
        """Improves the policy on one rollout.

        A minibatch whose gradient is not finite is skipped and counted.

        Args:
            rollout: Experience that the policy collected with its present parameters.
            progress: Share of training already done, 0 to 1.
            generator: Source of the order of minibatches.

        Raises:
            NonFiniteGradientError: No minibatch of the update had a finite gradient.
        """
        config = self.config
        batch = _transitions(rollout, config).to(next(self.policy.parameters()).device)
        rate = self._set_learning_rate(progress)
        # Annealed like the learning rate; constant by default, as in [H].
        entropy_weight = config.entropy_weight * _linear(progress, config.final_entropy)
        loss = partial(self._loss, batch, entropy_weight)
        taken: list[dict[str, float]] = []
        skipped = nodes = 0
        last: dict[str, float] = {}
        for states in self._minibatches(rollout, generator):
            gradients = self.gradients.find(batch.states, batch.state, states, loss)
            means = dict(zip(_TERMS, gradients.terms, strict=True)) | {
                "ratio_error": gradients.largest
            }
            nodes += gradients.nodes
            # Early stopping, as in Spinning Up: at 1.5 times the target, before the step.
            if config.target_kl is not None and means["kl"] > 1.5 * config.target_kl:
                last = means
                break
            # [H] detail 11: the global norm of the gradient is clipped.
            norm = self.gradients.step(self.optimizer, config.max_grad_norm)
            if norm is None:
                skipped += 1
                continue
            last = means | {"gradient_norm": norm}
            taken.append(last)
        if not last:
            raise NonFiniteGradientError(
                f"expected finite gradients, got NaN or infinity in all {skipped} minibatches of "
                "an update; check the rewards of the rollout, or lower the learning rate"
            )
        self._add_to_average()
        return self._stats(batch, taken, last, rate, skipped, nodes)

    @torch.no_grad()
    def _add_to_average(self) -> None:
        """Averages parameters over updates ([P]), later ones with more weight."""
        if not self.config.averaging:
            return
        state = self.policy.state_dict()  # the networks have no state but parameters
        if self.average is None:
            self.average = copy.deepcopy(state)
        for name, mean in self.average.items():
            mean.lerp_(state[name], 1.0 - self.config.averaging)

    def _set_learning_rate(self, progress: float) -> float:
        """Sets the learning rate, which decays linearly ([A] section 3.7, [H] detail 4)."""
        rate = self.config.learning_rate * _linear(progress, self.config.final_learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[list[int]]:
        """Yields the states of each minibatch; they are shuffled in each epoch ([H] detail 6).

        Advantages are computed once; [A] section 3.5 recommends to compute them in each epoch.
        """
        config = self.config
        for _ in range(config.epochs):
            yield from state_minibatches(
                rollout.state, config.minibatches, generator, config.whole_episodes
            )

    def _loss(
        self, batch: _Transitions, entropy_weight: float, rows: Tensor, encoded: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Computes the loss of some transitions.

        Args:
            batch: All transitions.
            entropy_weight: Weight of the entropy bonus.
            rows: int64 [V], the transitions to sum over.
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
        # [H] detail 8: the clipped surrogate objective, equation 7 of the paper.
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        advantage = batch.advantage[rows]
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).sum()
        value_loss = self._value_loss(value, batch.value[rows], batch.returns[rows])
        # [H] detail 10: one loss with an entropy bonus.
        bonus = entropy(log_probs).sum()
        loss = policy_loss + config.value_weight * value_loss - entropy_weight * bonus
        # The estimator k3 of Schulman 2020, joschu.net/blog/kl-approx.html ([H] detail 12).
        kl = (ratio - 1.0 - log_ratio).sum()
        error = (ratio - 1.0).abs()
        terms = torch.stack([policy_loss, value_loss, bonus, kl, (error > config.clip).sum()])
        return loss, terms.detach(), error.detach().max()

    def _value_loss(self, value: Tensor, old_value: Tensor, returns: Tensor) -> Tensor:
        """Sums half the squared errors of values.

        Values are not clipped by default, because [A] section 3.4 found that clipping hurts;
        `value_clip` clips them as [E] and [H] detail 9 do.
        """
        error = (value - returns).square()
        if self.config.value_clip is not None:
            limit = self.config.value_clip
            near = old_value + (value - old_value).clamp(-limit, limit)
            error = torch.max(error, (near - returns).square())
        return 0.5 * error.sum()

    def _stats(
        self,
        batch: _Transitions,
        taken: list[dict[str, float]],
        last: dict[str, float],
        rate: float,
        skipped: int,
        nodes: int,
    ) -> UpdateStats:
        """Summarises an update from the terms of its steps and of its last minibatch."""

        def mean(name: str) -> float:
            return sum(step[name] for step in taken) / max(len(taken), 1)

        return UpdateStats(
            policy_loss=mean("policy_loss"),
            value_loss=mean("value_loss"),
            entropy=mean("entropy"),
            approximate_kl=last["kl"],
            clip_fraction=mean("clipped"),
            gradient_norm=mean("gradient_norm"),
            first_ratio_error=(taken or [last])[0]["ratio_error"],
            explained_variance=_explained_variance(batch.value, batch.returns),
            learning_rate=rate,
            optimizer_steps=len(taken),
            skipped_minibatches=skipped,
            encoded_nodes=nodes,
        )


_TERMS = ("policy_loss", "value_loss", "entropy", "kl", "clipped")
"""Terms that `PPO._loss` returns beside the loss."""


@dataclass(frozen=True)
class _Transitions:
    """A rollout flattened to B transitions, with advantages and returns."""

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
        """Returns the same transitions on another device."""
        moved = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


def _transitions(rollout: Rollout, config: PPOConfig) -> _Transitions:
    """Computes advantages and returns, and flattens a rollout to [T * N, ...].

    Advantages come from GAE ([H] detail 5, [A] section 3.4). They are normalised over the whole
    rollout, not over each minibatch as in [H] detail 7: a minibatch of distinct states may be one
    state visited many times, whose own mean and deviation say nothing. [A] section 3.3 finds little
    difference between the two.
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
    """Interpolates from 1 at the start of training to a final share at its end."""
    return 1.0 + (final - 1.0) * min(max(progress, 0.0), 1.0)


def _explained_variance(value: Tensor, returns: Tensor) -> float:
    """Returns 1 - Var(returns - value) / Var(returns), or 0 where the returns do not vary."""
    variance = returns.var(correction=0)
    if variance == 0:
        return 0.0
    return float(1.0 - (returns - value).var(correction=0) / variance)


def generalized_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Estimates advantages (Schulman et al. 2016, arXiv:1506.02438).

    Termination and truncation both end the sum over later steps, which belong to another episode.
    They differ in the value that follows the last step: after termination it is 0; after
    truncation it is the value of the last state, because the episode would have gone on (Pardo et
    al. 2018, arXiv:1712.00378, partial-episode bootstrapping).

    Args:
        reward: float32 [T, N].
        value: float32 [T, N], values of the states acted in.
        next_value: float32 [T, N], values of the states that followed, before any reset.
        terminated: bool [T, N].
        truncated: bool [T, N].
        gamma: Discount.
        gae_lambda: Decay of the estimate.

    Returns:
        float32 [T, N].
    """
    delta = reward + gamma * next_value * ~terminated - value
    decay = gamma * gae_lambda * ~(terminated | truncated)
    advantage = torch.zeros_like(reward)
    later = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        later = delta[t] + decay[t] * later
        advantage[t] = later
    return advantage
