"""Tests that masked actions are never drawn and have no entropy and no gradient."""

import math

import torch

from models.actor_critic import ActorCritic, entropy, masked_log_probs, sample
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder


def test_masked_distribution_is_the_softmax_of_the_rest():
    logits = torch.tensor([[1.0, 50.0, 2.0, -3.0]])
    mask = torch.tensor([[True, False, True, True]])
    probs = masked_log_probs(logits, mask).exp()
    expected = torch.tensor([1.0, 2.0, -3.0]).softmax(0)
    assert probs[0, 1] == 0
    torch.testing.assert_close(probs[0, [0, 2, 3]], expected)


def test_masked_actions_are_never_drawn():
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(5000, 12, generator=generator) < 0.3
    mask[:, -1] = True
    log_probs = masked_log_probs(torch.randn(5000, 12, generator=generator) * 5, mask)
    for _ in range(5):
        drawn = sample(log_probs, generator)
        assert mask.gather(1, drawn.unsqueeze(1)).all()


def test_actions_are_drawn_as_often_as_they_are_likely():
    log_probs = torch.tensor([0.1, 0.0, 0.6, 0.3]).log().clamp(min=-1e9)
    drawn = sample(log_probs.expand(20_000, 4), torch.Generator().manual_seed(0))
    shares = drawn.bincount(minlength=4) / len(drawn)
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.0, 0.6, 0.3]), rtol=0, atol=0.01)


def test_entropy_is_that_of_the_actions_left():
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False, False, True, False]])
    logits = torch.zeros(3, 4, requires_grad=True)
    bits = entropy(masked_log_probs(logits, mask))
    expected = torch.tensor([math.log(4), math.log(2), 0.0])
    torch.testing.assert_close(bits, expected)
    bits.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_masked_actions_get_no_gradient():
    logits = torch.randn(1, 3, requires_grad=True)
    log_probs = masked_log_probs(logits, torch.tensor([[True, False, True]]))
    (log_probs[0, 0] + entropy(log_probs)[0]).backward()
    assert logits.grad is not None
    assert logits.grad[0, 1] == 0
    assert logits.grad[0, 0] != 0


def test_a_new_policy_is_almost_uniform_over_what_the_mask_leaves():
    torch.manual_seed(0)
    encoder = OpCountEncoder(8, OpCountConfig(width=16))
    policy = ActorCritic(encoder, context_width=3, num_actions=10, config=HeadsConfig())
    mask = torch.ones(20, 10, dtype=torch.bool)
    mask[:, :4] = False
    log_probs, values = policy(torch.randn(20, 16), torch.randn(20, 3), mask)
    torch.testing.assert_close(log_probs[:, 4:].exp(), torch.full((20, 6), 1 / 6), rtol=0.1, atol=0)
    assert values.shape == (20,)
