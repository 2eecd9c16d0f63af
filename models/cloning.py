"""Learning from demonstrations, before a policy learns from what it does itself.

Behavioural cloning (Pomerleau 1991, "Efficient training of artificial neural networks for
autonomous navigation"), and the values of the demonstrated states beside it, so that PPO begins
with a critic that fits the policy. Imitation of a search as the start of reinforcement learning
is that of AlphaGo (Silver et al. 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.actor_critic import ActorCritic
from models.config import CloningConfig, PPOConfig
from models.encoder import StateStore
from models.gradients import MinibatchGradients


@dataclass(frozen=True)
class Demonstrations:
    """B demonstrated transitions over S distinct states; tensors are on the CPU."""

    states: StateStore
    """S distinct states, as the encoder works on them."""
    state: Tensor
    """int64 [B]: number of the state in `states`."""
    episode: Tensor
    """int64 [B]: what they are part of, from 0; no state is in two of them."""
    context: Tensor
    """float32 [B, C]"""
    mask: Tensor
    """bool [B, A]: False for actions that could not be taken."""
    action: Tensor
    """int64 [B]: what was done."""
    returns: Tensor
    """float32 [B]: discounted reward that followed, in scaled reward."""

    def __len__(self) -> int:
        return len(self.state)


@dataclass(frozen=True)
class CloningStats:
    """What an epoch did; means over its transitions."""

    epoch: int
    loss: float
    agreement: float
    """Share of transitions whose likeliest action is the demonstrated one."""
    value_loss: float


def clone_behaviour(
    policy: ActorCritic,
    shown: Demonstrations,
    config: CloningConfig,
    ppo: PPOConfig,
    generator: torch.Generator,
    threads: int = 1,
) -> list[CloningStats]:
    """Teaches a policy to do what was demonstrated.

    Args:
        policy: What learns.
        shown: The demonstrations.
        config: Hyper-parameters.
        ppo: Those that the learning after it shares: memory, parts, clipping of gradients.
        generator: Source of the order of minibatches.
        threads: Parts of a minibatch that are worked on at the same time.

    Returns:
        What each epoch did.
    """
    device = next(policy.parameters()).device
    context, mask = shown.context.to(device), shown.mask.to(device)
    state, action, returns = (t.to(device) for t in (shown.state, shown.action, shown.returns))
    shown.states.prepare(device)
    gradients = MinibatchGradients(policy, threads, ppo.minibatch_parts, ppo.node_budget)
    optimizer = torch.optim.Adam(gradients.parameters, config.learning_rate, fused=True)

    def loss(rows: Tensor, encoded: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        log_probs, value = policy(encoded, context[rows], mask[rows])
        right = log_probs.gather(1, action[rows].unsqueeze(1)).squeeze(1)
        # Masked actions have no probability to be given.
        spread = log_probs.masked_fill(~mask[rows], 0.0).sum(1) / mask[rows].sum(1)
        wrong = -((1.0 - config.smoothing) * right + config.smoothing * spread).sum()
        value_loss = 0.5 * (value - returns[rows]).square().sum()
        agreed = (log_probs.argmax(1) == action[rows]).sum()
        terms = torch.stack([wrong, agreed, value_loss]).detach()
        return wrong + config.value_weight * value_loss, terms, terms[0]

    stats = []
    for epoch in range(config.epochs):
        sums, rows = torch.zeros(3), 0
        taken = _minibatches(shown, config.minibatch, generator)
        for number, chosen in enumerate(taken):
            progress = (epoch + number / len(taken)) / config.epochs
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * (1.0 - progress)
            found = gradients.find(shown.states, state, chosen, loss)
            nn.utils.clip_grad_norm_(gradients.parameters, ppo.max_grad_norm)
            optimizer.step()
            sums += found.rows * torch.tensor(found.terms)
            rows += found.rows
        wrong, agreed, value_loss = (sums / rows).tolist()
        stats.append(CloningStats(epoch, wrong, agreed, value_loss))
    return stats


def _minibatches(shown: Demonstrations, size: int, generator: torch.Generator) -> list[list[int]]:
    """States of whole episodes, drawn at random: they share most of what there is to encode.

    Args:
        shown: The demonstrations.
        size: Transitions in a minibatch, about.
        generator: Source of the order.
    """
    rows = shown.episode.bincount()
    order = torch.randperm(len(rows), generator=generator)
    number = torch.empty_like(order)
    number[order] = (rows[order].cumsum(0) - rows[order]) // size
    minibatch = number[shown.episode]
    parts = [shown.state[minibatch == n].unique().tolist() for n in range(int(number.max()) + 1)]
    return [part for part in parts if part]
