"""Trains a policy on demonstrations, before reinforcement learning.

The method is behavioural cloning (Pomerleau 1991, "Efficient training of artificial neural networks
for autonomous navigation"). It also fits the values of the demonstrated states, so that PPO begins
with a critic that fits the policy. AlphaGo (Silver et al. 2016) likewise starts reinforcement
learning from imitation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from models.actor_critic import ActorCritic
from models.config import CloningConfig, PPOConfig
from models.encoder import StateStore
from models.gradients import MinibatchGradients, NonFiniteGradientError


@dataclass(frozen=True)
class Demonstrations:
    """Holds B demonstrated transitions over S distinct states; tensors are on the CPU."""

    states: StateStore
    """S distinct states, in the encoder's own form."""
    state: Tensor
    """int64 [B]: number of the state in `states`."""
    episode: Tensor
    """int64 [B]: episode of the transition, from 0; no state belongs to two episodes."""
    context: Tensor
    """float32 [B, C]"""
    mask: Tensor
    """bool [B, A]: False for actions that could not be taken."""
    action: Tensor
    """int64 [B]: the demonstrated action."""
    returns: Tensor
    """float32 [B]: discounted sum of the scaled rewards from there on."""

    def __len__(self) -> int:
        return len(self.state)


@dataclass(frozen=True)
class CloningStats:
    """Statistics of one epoch, means over the transitions of its optimizer steps."""

    epoch: int
    loss: float
    agreement: float
    """Share of transitions whose likeliest action is the demonstrated one."""
    value_loss: float
    skipped_minibatches: int
    """Minibatches without an optimizer step, because their gradient had NaN or infinity in it."""


def clone_behaviour(
    policy: ActorCritic,
    shown: Demonstrations,
    config: CloningConfig,
    ppo: PPOConfig,
    generator: torch.Generator,
    threads: int = 1,
) -> Iterator[CloningStats]:
    """Trains a policy to take the demonstrated actions.

    A minibatch whose gradient is not finite is skipped and counted.

    Args:
        policy: The policy that learns.
        shown: The demonstrations.
        config: Hyper-parameters.
        ppo: Hyper-parameters shared with PPO: node budget, parts, clipping of gradients.
        generator: Source of the order of minibatches.
        threads: Parts of a minibatch that run at the same time.

    Yields:
        Statistics of each epoch, when it is done.

    Raises:
        NonFiniteGradientError: No minibatch of an epoch had a finite gradient.
    """
    device = next(policy.parameters()).device
    context, mask = shown.context.to(device), shown.mask.to(device)
    state, action, returns = (t.to(device) for t in (shown.state, shown.action, shown.returns))
    gradients = MinibatchGradients(policy, threads, ppo.minibatch_parts, ppo.node_budget)
    optimizer = torch.optim.Adam(gradients.parameters, config.learning_rate, fused=True)

    def loss(rows: Tensor, encoded: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        log_probs, value = policy(encoded, context[rows], mask[rows])
        right = log_probs.gather(1, action[rows].unsqueeze(1)).squeeze(1)
        # Smoothing gives masked actions no probability.
        spread = log_probs.masked_fill(~mask[rows], 0.0).sum(1) / mask[rows].sum(1)
        wrong = -((1.0 - config.smoothing) * right + config.smoothing * spread).sum()
        value_loss = 0.5 * (value - returns[rows]).square().sum()
        agreed = (log_probs.argmax(1) == action[rows]).sum()
        terms = torch.stack([wrong, agreed, value_loss]).detach()
        return wrong + config.value_weight * value_loss, terms, terms[0]

    for epoch in range(config.epochs):
        sums, rows, skipped = torch.zeros(3), 0, 0
        taken = _minibatches(shown, config.minibatch, generator)
        for number, chosen in enumerate(taken):
            progress = (epoch + number / len(taken)) / config.epochs
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * (1.0 - progress)
            batch_terms = gradients.find(shown.states, state, chosen, loss)
            if gradients.step(optimizer, ppo.max_grad_norm) is None:
                skipped += 1
                continue
            sums += batch_terms.rows * torch.tensor(batch_terms.terms)
            rows += batch_terms.rows
        if not rows:
            raise NonFiniteGradientError(
                f"expected finite gradients, got NaN or infinity in all {skipped} minibatches of "
                f"epoch {epoch}; check the returns of the demonstrations, or lower the learning "
                "rate of imitation"
            )
        wrong, agreed, value_loss = (sums / rows).tolist()
        yield CloningStats(epoch, wrong, agreed, value_loss, skipped)


def _minibatches(shown: Demonstrations, size: int, generator: torch.Generator) -> list[list[int]]:
    """Draws minibatches of whole episodes, whose states share most of their neighbourhoods.

    Args:
        shown: The demonstrations.
        size: Approximate number of transitions in a minibatch.
        generator: Source of the order.
    """
    rows = shown.episode.bincount()
    order = torch.randperm(len(rows), generator=generator)
    number = torch.empty_like(order)
    number[order] = (rows[order].cumsum(0) - rows[order]) // size
    minibatch = number[shown.episode]
    in_order = minibatch.argsort(stable=True)
    parts = shown.state[in_order].split(minibatch.bincount().tolist())
    return [part.unique().tolist() for part in parts if len(part)]
