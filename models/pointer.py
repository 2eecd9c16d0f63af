"""Defines the policy that points at one of the actions that a state offers, or stops."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.action_axes import RULE_AXES
from models.action_encoder import ActionEncoder
from models.actor_critic import ActorCritic, masked_log_probs
from models.config import ActionConfig, HeadsConfig


class PointerActorCritic(ActorCritic):
    """Policy that scores each action by itself and the state, with shared weights.

    Additive attention of the state over its actions, whose weights are the policy: pointer
    networks (Vinyals et al. 2015, arXiv:1506.03134, equation 3). Stopping has a head of its own.
    The value sees the graph or the op counts, not what is offered, for that follows from the graph.

    Args:
        encoder: Encodes states and actions.
        context_width: Number of context values of a transition.
        heads: Shape of the value head, and of the one that stops.
        config: Shape of the scores.
    """

    def __init__(
        self,
        encoder: ActionEncoder,
        context_width: int,
        heads: HeadsConfig,
        config: ActionConfig,
    ) -> None:
        seen = encoder.state_width
        super().__init__(encoder, context_width, 1, heads, seen_width=seen)
        self.action_axes = RULE_AXES
        self._seen, self._slots = seen, encoder.slots
        self.query = nn.Linear(seen + context_width, config.score_width)
        self.key = nn.Linear(encoder.action_width, config.score_width, bias=False)
        self.score = nn.Linear(config.score_width, 1, bias=False)
        # As the other heads: a policy that starts near uniform.
        nn.init.orthogonal_(self.score.weight, 0.01)

    def forward(self, encoded: Tensor, context: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Computes log-probabilities of actions and values of states.

        Args:
            encoded: float32 [B, encoder.width].
            context: float32 [B, context_width].
            mask: bool [B, slots + 1]; False hides an action. Each row has a True.

        Returns:
            Log-probabilities, float32 [B, slots + 1], and values, float32 [B].
        """
        features = torch.cat([encoded[:, : self._seen], context], dim=1)
        actions = encoded[:, self._seen :].unflatten(1, (self._slots, -1))
        met = (self.query(features).unsqueeze(1) + self.key(actions)).tanh()
        logits = torch.cat([self.score(met).squeeze(2), self.policy_head(features)], dim=1)
        return masked_log_probs(logits, mask), self.value_head(features).squeeze(1)
