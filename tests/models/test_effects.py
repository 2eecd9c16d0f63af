"""Tests that what actions do is learned from episodes, beside a policy that stays as it is."""

import numpy as np
import pytest
import torch

from models.actor_critic import ActorCritic
from models.config import EffectHeadConfig, HeadsConfig, OpCountConfig
from models.effects import (
    EffectErrors,
    EffectHead,
    ObservedEffects,
    effect_errors,
    fit_effects,
    recency,
)
from models.op_count_mlp import OpCountEncoder

ACTIONS, CONTEXT, ENCODED = 4, 5, 4
"""Numbers of actions, with the one that stops, and of values."""


def _observed(count: int, seed: int) -> ObservedEffects:
    """Calls that change something where the state has its sign, and the action was not the last.

    Something better comes where the last value of the state is positive.
    """
    random = np.random.default_rng(seed)
    encoded = random.normal(size=(count, ENCODED)).astype(np.float32)
    action = random.integers(ACTIONS - 1, size=count)
    last = random.integers(ACTIONS - 1, size=count)
    recent = np.zeros((count, ACTIONS - 1), np.float32)
    recent[np.arange(count), last] = 1.0
    context = random.normal(size=(count, CONTEXT)).astype(np.float32)
    changed = (encoded[np.arange(count), action] > 0) & (last != action)
    return ObservedEffects(encoded, context, recent, action, changed, encoded[:, -1] > 0)


def _head() -> EffectHead:
    torch.manual_seed(0)
    return EffectHead(ENCODED, CONTEXT, ACTIONS, width=32)


def _fitted(seed: int = 0, dropout: float = 0.0) -> tuple[EffectHead, list[float]]:
    head = _head()
    config = EffectHeadConfig(
        epochs=10, minibatch=64, learning_rate=1e-2, weight_decay=0.0, dropout=dropout
    )
    losses = fit_effects(head, _observed(4_000, 1), config, torch.Generator().manual_seed(seed))
    return head, list(losses)


def test_recency_fades_with_each_later_change():
    found = recency([2, 0, 2, 1], 5)
    np.testing.assert_allclose(found, [0.7**2, 1.0, 0.7, 0.0], rtol=1e-6)
    assert recency([], 3).tolist() == [0.0, 0.0]


def test_an_untrained_head_expects_that_every_action_makes_a_difference():
    head, seen = _head(), _observed(100, 0)
    assert not head.trained
    assert effect_errors(head, seen, threshold=0.99) == EffectErrors(0.0, 0.0, 0.0, 0.0)
    assert not any(parameter.requires_grad for parameter in head.parameters())


def test_a_head_learns_what_actions_do():
    head, losses = _fitted()
    assert losses[-1] < 0.15 < losses[0]
    errors = effect_errors(head, _observed(2_000, 2), threshold=0.3)
    assert errors.left_out > 0.9
    assert errors.lost < 0.05
    assert errors.stopped > 0.9
    assert errors.stopped_early < 0.05
    assert head.trained
    assert not any(parameter.requires_grad for parameter in head.parameters())


def test_a_seed_repeats_what_is_learned():
    (first, _), (again, _), (other, _) = _fitted(0), _fitted(0), _fitted(1)
    for name, value in first.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
    assert not torch.equal(other.output.weight, first.output.weight)


def test_dropout_makes_predictions_less_sure_and_is_drawn_from_the_seed():
    (head, losses), (again, _), (sharp, _) = _fitted(0, 0.2), _fitted(0, 0.2), _fitted(0)
    assert losses[-1] < losses[0]
    assert torch.equal(head.output.weight, again.output.weight)
    seen = _observed(2_000, 2)
    unsure, sure = (effect_errors(each, seen, threshold=0.1) for each in (head, sharp))
    assert unsure.left_out < sure.left_out
    assert effect_errors(head, seen, threshold=0.5).left_out > 0.9
    with pytest.raises(ValueError, match=r"--effects.dropout: expected 0 to below 1, got 1"):
        EffectHeadConfig(dropout=1.0)


def test_a_head_that_forgets_is_as_untrained():
    head, _ = _fitted()
    head.forget()
    assert not head.trained
    assert effect_errors(head, _observed(100, 0), threshold=0.99).left_out == 0.0


def test_fused_code_computes_the_same():
    head, _ = _fitted()
    fused, seen = head.fused(), _observed(50, 3)
    assert fused is not None
    logits = head(*map(torch.from_numpy, (seen.encoded, seen.context, seen.recency)))
    rows = np.concatenate([seen.encoded, seen.context, seen.recency], axis=1)
    np.testing.assert_allclose(fused.apply(rows), logits.numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="rows must be as wide"):
        fused.apply(rows[:, :-1].copy())


def test_a_width_without_fused_code_has_none():
    assert EffectHead(ENCODED, CONTEXT, ACTIONS, width=9).fused() is None


def test_errors_are_shares_of_calls_and_of_states():
    head = _head()
    with torch.no_grad():
        head.output.bias.copy_(torch.tensor([5.0, -5.0, -5.0, 0.0]))
        head.output.weight[3, 0] = 1.0
        head.hidden.weight[0, 0] = 1.0
        head.hidden.bias.zero_()
    encoded = np.zeros((5, ENCODED), np.float32)
    encoded[:, 0] = [-1.0, -1.0, -1.0, 1.0, 1.0]  # the first three are to end
    action, changed = np.array([0, 0, 1, 1, 2]), np.array([False, True, False, True, False])
    improved = np.array([True, False, False, True, False])
    context, recent = np.zeros((5, CONTEXT), np.float32), np.zeros((5, ACTIONS - 1), np.float32)
    seen = ObservedEffects(encoded, context, recent, action, changed, improved)
    errors = effect_errors(head, seen, threshold=0.5)
    assert errors.left_out == pytest.approx(2 / 3)
    assert errors.lost == pytest.approx(1 / 2)
    assert errors.stopped == pytest.approx(2 / 3)
    assert errors.stopped_early == pytest.approx(1 / 2)


def test_parts_are_joined_in_their_order():
    parts = [_observed(3, 0), _observed(2, 1)]
    joined = ObservedEffects.joined(parts)
    assert len(joined) == 5
    assert joined.action.tolist() == [*parts[0].action, *parts[1].action]


def _policy() -> ActorCritic:
    torch.manual_seed(0)
    encoder = OpCountEncoder(4, OpCountConfig(layers=1, width=8))
    return ActorCritic(encoder, context_width=4, num_actions=3, config=HeadsConfig())


OUTPUT = ("effects.output.weight", "effects.output.bias")


def test_parameters_of_older_policies_have_no_effects():
    policy, trained = _policy(), _policy()
    assert policy.effects is not None
    assert trained.effects is not None
    with torch.no_grad():
        trained.effects.output.weight.fill_(0.1)
    whole = trained.state_dict()
    policy.load_parameters(whole)
    assert policy.effects.trained
    older = {name: value for name, value in whole.items() if not name.startswith("effects.")}
    policy.load_parameters(older)
    assert not policy.effects.trained
    policy.load_parameters(whole)
    without_stopping = {**whole, **{k: whole[k][:-1] for k in OUTPUT}}
    policy.load_parameters(without_stopping)
    assert not policy.effects.trained
    assert torch.equal(policy.effects.output.bias, _policy().effects.output.bias)
    with pytest.raises(RuntimeError, match="policy_head"):
        policy.load_parameters({k: v for k, v in older.items() if "policy_head" not in k})
