"""Predicts which actions change a state, and when an episode has found all that it will find.

Most of the passes that a policy tries change nothing, and each costs a call. Masks hide those that
were tried in a state and those that find no opcode to act on; what else would change nothing is
learned here, from episodes of the trained policy. It is the action elimination of Zahavy et al.
2018 (arXiv:1809.02121): a part of the network that learns by supervision which actions are useless,
beside the policy that chooses among the others. Here it shares the encoder, which does not learn
any more, and leaves the policy as it is.

When to stop is learned alike. A policy goes on after its best state, since a call costs little
beside what it might find; its own episodes tell whether it finds anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from hlograph.graph.dense import LANES
from hlograph.graph.heads import Head, HeadWeights
from models.action_axes import ActionAxis
from models.config import EffectHeadConfig

_CERTAIN = 12.0
"""Logit of an untrained head, by which each action makes a difference."""
_DECAY = 0.7
"""Factor on the recency of an action for each change since."""


class EffectHead(nn.Module):
    """Predicts for each action the logit of the probability that it makes a difference.

    An action makes one if it changes the state. The last output, of the action that stops, is that
    going on finds a better state than the episode has had.

    Beside what the policy sees it is told which actions have changed the state before in the
    episode: a pass that has run finds nothing more to do until another one has made it something.
    Until it is trained, it predicts that every action makes a difference.

    Args:
        encoded_width: Number of values of a state's vector that it sees.
        context_width: Number of context values, which begin with the mask.
        num_actions: Number of actions; the last one is to stop.
        width: Width of the hidden layer.
    """

    def __init__(
        self, encoded_width: int, context_width: int, num_actions: int, width: int
    ) -> None:
        super().__init__()
        self._seen = encoded_width
        self.inputs = encoded_width + context_width
        """Number of values of vector and context that it sees."""
        self.hidden = nn.Linear(self.inputs, width)
        self.recency = nn.Linear(num_actions - 1, width, bias=False)
        self.output = nn.Linear(width, num_actions)
        self.forget()
        self.requires_grad_(False)  # it learns by itself, after the policy

    def forget(self) -> None:
        """Predicts from now on that every action makes a difference, as before its training."""
        nn.init.zeros_(self.output.weight)
        nn.init.constant_(self.output.bias, _CERTAIN)

    @property
    def trained(self) -> bool:
        """True if it was trained, or has the parameters of one that was."""
        return bool(self.output.weight.any())

    def action_axes(self, prefix: str) -> Mapping[str, ActionAxis]:
        """Returns the axes of its parameters along which entries stand for actions.

        Args:
            prefix: First part of the names of its parameters.
        """
        return {
            f"{prefix}.hidden.weight": ActionAxis(axis=1, first=self._seen),
            f"{prefix}.recency.weight": ActionAxis(axis=1),
            f"{prefix}.output.weight": ActionAxis(),
            f"{prefix}.output.bias": ActionAxis(),
        }

    def forward(
        self,
        encoded: Tensor,
        context: Tensor,
        recency: Tensor,
        drop: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Computes the logits.

        Args:
            encoded: float32 [B, at least encoded_width].
            context: float32 [B, at least context_width].
            recency: float32 [B, A - 1], as ``recency`` returns it.
            drop: Function that drops values out while the head learns; None keeps all.

        Returns:
            float32 [B, A].
        """
        drop = drop or nn.Identity()
        seen = torch.cat([encoded[:, : self._seen], context], dim=1)[:, : self.inputs]
        hidden = self.hidden(drop(seen)) + self.recency(drop(recency))
        return self.output(drop(hidden.tanh()))

    def fused(self) -> Head | None:
        """Returns the head as fused code with the present parameters; None if there is none.

        It sees rows of what `forward` sees, in the order of its arguments.
        """
        if self.hidden.weight.device.type != "cpu" or self.hidden.out_features % LANES:
            return None
        seen = torch.cat([self.hidden.weight, self.recency.weight], dim=1)
        layers = (seen, self.hidden.bias, self.output.weight, self.output.bias)
        return Head(HeadWeights(*(part.numpy(force=True) for part in layers)))


def recency(changes: Sequence[int], num_actions: int) -> NDArray[np.float32]:
    """Returns how recently each action changed the state: 1 for the last one, 0 for never.

    Args:
        changes: The actions that changed the state in this episode, in order.
        num_actions: Number of actions; the last one is to stop.

    Returns:
        float32 [num_actions - 1].
    """
    recent = np.zeros(num_actions - 1, np.float32)
    for since, action in enumerate(reversed(changes)):
        recent[action] = max(recent[action], _DECAY**since)
    return recent


@dataclass(frozen=True)
class ObservedEffects:
    """Holds B actions that were taken, and what came of them; all on the CPU."""

    encoded: NDArray[np.float32]
    """float32 [B, encoder.width], vectors of the states that they were taken in."""
    context: NDArray[np.float32]
    """float32 [B, context_width]"""
    recency: NDArray[np.float32]
    """float32 [B, A - 1]"""
    action: NDArray[np.int64]
    """int64 [B]; none is to stop."""
    changed: NDArray[np.bool_]
    """bool [B]: True if the action changed the state."""
    improved: NDArray[np.bool_]
    """bool [B]: True if the episode found a better state from there on than it had until then."""

    def __len__(self) -> int:
        return len(self.action)

    @classmethod
    def joined(cls, parts: Sequence[ObservedEffects]) -> ObservedEffects:
        """Returns the actions of several parts, in their order."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True)
class EffectErrors:
    """Errors of predictions, with a threshold below which an action is not taken."""

    left_out: float
    """Share of the actions without effect that are not taken."""
    lost: float
    """Share of the actions with an effect that are not taken."""
    stopped: float
    """Share of the states in which the episode ends, of those that nothing better came after."""
    stopped_early: float
    """The same share of those that something better came after."""


def fit_effects(
    head: EffectHead,
    observed: ObservedEffects,
    config: EffectHeadConfig,
    generator: torch.Generator,
) -> Iterator[float]:
    """Trains a head from new random parameters.

    Args:
        head: The head, on the CPU.
        observed: What it learns from.
        config: Hyper-parameters.
        generator: Source of the parameters and of the order of minibatches.

    Yields:
        The mean cross-entropy of each epoch, in nats, over predictions of actions and of stopping.
    """
    for layer in (head.hidden, head.recency, head.output):
        nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    head.requires_grad_(True)
    encoded, context, recent = map(
        torch.from_numpy, (observed.encoded, observed.context, observed.recency)
    )
    action = torch.from_numpy(observed.action).unsqueeze(1)
    outcomes = torch.from_numpy(_outcomes(observed)).float()

    def drop(values: Tensor) -> Tensor:
        kept = torch.rand(values.shape, generator=generator) >= config.dropout
        return values * kept / (1.0 - config.dropout)

    optimizer = torch.optim.AdamW(
        head.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    steps = config.epochs * -(-len(observed) // config.minibatch)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1.0 / steps, steps)
    for _ in range(config.epochs):
        total = 0.0
        for rows in torch.randperm(len(observed), generator=generator).split(config.minibatch):
            logits = head(encoded[rows], context[rows], recent[rows], drop)
            predicted = torch.cat([logits.gather(1, action[rows]), logits[:, -1:]], dim=1)
            wrong = binary_cross_entropy_with_logits(predicted, outcomes[rows], reduction="sum")
            loss = wrong / len(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += wrong.item()
        yield total / outcomes.numel()
    head.requires_grad_(False)


@torch.no_grad()
def effect_errors(head: EffectHead, observed: ObservedEffects, threshold: float) -> EffectErrors:
    """Returns the errors of a head's predictions.

    Args:
        head: The head, on the CPU.
        observed: Actions, and what came of them.
        threshold: Probability of a difference below which an action is not taken, and below which
            an episode stops.
    """
    columns = (observed.encoded, observed.context, observed.recency)
    chance = head(*map(torch.from_numpy, columns)).sigmoid().numpy()
    of_action = np.take_along_axis(chance, observed.action[:, None], axis=1)[:, 0]
    taken, goes_on = of_action >= threshold, chance[:, -1] >= threshold
    changed, improved = _outcomes(observed).T
    return EffectErrors(
        left_out=_share(~taken, ~changed, 1.0),
        lost=_share(~taken, changed, 0.0),
        stopped=_share(~goes_on, ~improved, 1.0),
        stopped_early=_share(~goes_on, improved, 0.0),
    )


def _outcomes(observed: ObservedEffects) -> NDArray[np.bool_]:
    """Returns what is predicted, bool [B, 2]: changes, and whether something better came."""
    return np.stack([observed.changed, observed.improved], axis=1)


def _share(chosen: NDArray[np.bool_], among: NDArray[np.bool_], of_none: float) -> float:
    return float(chosen[among].mean()) if among.any() else of_none
