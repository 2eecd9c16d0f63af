"""Adds heads to an encoder, for policy, values and effects of actions, and masks invalid actions.

Masking follows Huang and Ontañón 2022 (arXiv:2006.14171): logits of masked actions become
a large negative number before the softmax, so probabilities and gradients are those of
the policy that never had these actions.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from hlograph.graph.dense import LANES
from hlograph.graph.heads import Heads, HeadWeights
from models.action_axes import ActionAxis
from models.config import HeadsConfig
from models.effects import EffectHead
from models.encoder import Encoder, StateStore

MASKED_LOGIT = -1e9


class ActorCritic(nn.Module):
    """Network of an encoder and its heads, which see its vector and a context.

    The context holds what the decision needs beside the observation to be Markov. It is the same
    for every encoder, so that encoders are compared by what they see.

    Args:
        encoder: Encodes states.
        context_width: Number of context values of a transition.
        num_actions: Number of actions; the last one stops.
        config: Shape of the heads.
        value_width: Number of further context values, which the value head alone sees.
        seen_width: Length of the part of the encoder's vector that the heads see; None is all.
    """

    def __init__(
        self,
        encoder: Encoder,
        context_width: int,
        num_actions: int,
        config: HeadsConfig,
        value_width: int = 0,
        seen_width: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder: Encoder = encoder
        seen = encoder.width if seen_width is None else seen_width
        self._policy_inputs = width = seen + context_width
        # Gains as in Andrychowicz et al. 2021 (arXiv:2006.05990, section 3.2): a policy
        # that starts near uniform, whatever the encoder says.
        self.policy_head = _head(width, config.width, num_actions, final_gain=0.01)
        self.value_head = _head(width + value_width, config.width, 1, final_gain=1.0)
        self.effects: EffectHead | None = None
        if num_actions > 1:
            self.effects = EffectHead(seen, context_width, num_actions, config.width)
        self.action_axes: Mapping[str, ActionAxis] = {
            "policy_head.2.weight": ActionAxis(),
            "policy_head.2.bias": ActionAxis(),
            "policy_head.0.weight": ActionAxis(axis=1, first=seen),
            "value_head.0.weight": ActionAxis(axis=1, first=seen),
            **({} if self.effects is None else self.effects.action_axes("effects")),
        }
        """Axes along which parameters have an entry for each action that the policy knows by name,
        if the context begins with the mask."""

    def encode(self, states: StateStore, numbers: Tensor) -> Tensor:
        """Returns vectors of states of a store, float32 [len(numbers), encoder.width]."""
        return self.encoder(states, numbers)

    def forward(self, encoded: Tensor, context: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Computes log-probabilities of actions and values of states.

        Args:
            encoded: float32 [B, encoder.width].
            context: float32 [B, context_width + value_width].
            mask: bool [B, A]; False hides an action. Each row has a True.

        Returns:
            Log-probabilities, float32 [B, A], and values, float32 [B].
        """
        features = torch.cat([encoded, context], dim=1)
        logits = self.policy_head(features[:, : self._policy_inputs])
        return masked_log_probs(logits, mask), self.value_head(features).squeeze(1)

    @property
    def predicts_effects(self) -> bool:
        """True if the policy has learned which actions make a difference."""
        return self.effects is not None and self.effects.trained

    def load_parameters(self, parameters: Mapping[str, Tensor]) -> None:
        """Loads parameters. Without those of effects that fit, a policy predicts none.

        Older policies lack them, or know none for stopping.

        Args:
            parameters: As ``state_dict`` returns them.

        Raises:
            RuntimeError: Others than those of effects are missing, unknown, or of another shape.
        """
        own = {k: v for k, v in self.state_dict().items() if k.startswith("effects.")}
        fits = all(k in parameters and parameters[k].shape == v.shape for k, v in own.items())
        if self.effects is not None and not fits:
            self.effects.forget()
            others = {k: v for k, v in parameters.items() if k not in own}
            parameters = {**others, **own}  # these share memory with what has just forgotten
        self.load_state_dict(parameters)

    @torch.no_grad()
    def fused_heads(self) -> Heads | None:
        """Returns the heads as fused code with the present parameters; None if there is none."""
        policy, value = _arrays(self.policy_head), _arrays(self.value_head)
        device = next(self.policy_head.parameters()).device
        if device.type != "cpu" or any(len(h.hidden) % LANES for h in (policy, value)):
            return None
        return Heads(policy, value, MASKED_LOGIT)


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Returns log-probabilities of logits [B, A], with masked actions at `MASKED_LOGIT`."""
    return torch.where(mask, logits, MASKED_LOGIT).log_softmax(dim=1)


def entropy(log_probs: Tensor) -> Tensor:
    """Returns the entropy in nats of each row of log-probabilities, [B, A] to [B].

    A masked action has probability exactly 0 and a finite logarithm, so it adds nothing,
    also to the gradient.
    """
    return -(log_probs.exp() * log_probs).sum(dim=1)


def sample(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """Draws an action for each row, int64 [B], on the CPU.

    The CPU's generator draws for every device, so a seed means the same on all of them.
    """
    # Of a few rows, an operation of torch takes longer than one of numpy.
    shares = np.exp(log_probs.numpy(force=True).astype(float)).cumsum(1)
    drawn = torch.rand(len(shares), 1, dtype=torch.float64, generator=generator).numpy()
    return torch.from_numpy((shares <= drawn * shares[:, -1:]).sum(1))


def _head(width: int, hidden: int, outputs: int, final_gain: float) -> nn.Sequential:
    """Builds an MLP of one hidden layer: orthogonal weights, zero biases (Engstrom et al. 2020)."""
    head = nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
    for layer, gain in ((head[0], 2**0.5), (head[2], final_gain)):
        assert isinstance(layer, nn.Linear)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return head


def _arrays(head: nn.Sequential) -> HeadWeights:
    return HeadWeights(*(parameter.numpy(force=True) for parameter in head.parameters()))
