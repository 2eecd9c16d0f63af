"""Tests of PolicyEvaluator."""

import numpy as np
import torch

from experiments.policies.kind import PolicyInput
from experiments.policies.player import PolicyEvaluator
from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder


def _policy() -> ActorCritic:
    torch.manual_seed(0)
    encoder = OpCountEncoder(4, OpCountConfig(layers=1, width=8))
    return ActorCritic(encoder, context_width=2, num_actions=3, config=HeadsConfig())


def _state(key: str, context: float, mask: tuple[bool, ...]) -> PolicyInput:
    counts = np.full(4, ord(key), np.float32)
    return PolicyInput(key, counts, np.full(2, context, np.float32), np.array(mask))


def test_outputs_are_those_of_the_policy_and_follow_context_and_mask():
    policy = _policy()
    evaluate = PolicyEvaluator(policy)
    states = [_state("b", 1, (True, True, False)), _state("a", 0, (True, False, True))]
    evaluate([_state("a", 5, (True, True, True))])
    found = evaluate(states)
    vectors = policy.encoder.encode_items([state.item for state in states])
    log_probs, value = policy(vectors, found.context, found.mask)
    torch.testing.assert_close(found.log_probs, log_probs.detach())
    torch.testing.assert_close(found.value, value.detach())
    assert found.numbers == [1, 0]
    assert found.log_probs[0, 2].exp() == found.log_probs[1, 1].exp() == 0
    assert not found.log_probs.requires_grad


def test_a_state_evaluated_again_has_the_same_outputs():
    evaluate = PolicyEvaluator(_policy())
    state = _state("a", 1, (True, True, True))
    first, again = evaluate([state]), evaluate([state])
    assert torch.equal(first.log_probs, again.log_probs)
    assert torch.equal(first.value, again.value)
    assert len(evaluate.table.keys) == 1
