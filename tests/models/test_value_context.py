"""Tests that context for the value head alone does not reach the policy."""

import torch

from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder


def test_the_policy_does_not_see_the_value_heads_own_context():
    torch.manual_seed(0)
    encoder = OpCountEncoder(8, OpCountConfig(width=16))
    policy = ActorCritic(encoder, 3, 10, HeadsConfig(), value_width=2)
    encoded, context = torch.randn(4, 16), torch.randn(4, 5)
    mask = torch.ones(4, 10, dtype=torch.bool)
    log_probs, values = policy(encoded, context, mask)
    changed = context.clone()
    changed[:, 3:] += 1
    other_log_probs, other_values = policy(encoded, changed, mask)
    assert torch.equal(log_probs, other_log_probs)
    assert not torch.isclose(values, other_values).any()
