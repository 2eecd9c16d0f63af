"""Tests cloning on small worlds whose best actions are known."""

import pytest
import torch

from models.actor_critic import ActorCritic
from models.cloning import Demonstrations, clone_behaviour
from models.config import CloningConfig, HeadsConfig, OpCountConfig, PPOConfig
from models.gradients import NonFiniteGradientError
from models.op_count_mlp import OpCountEncoder

ACTIONS, STATES, LOOKS = 5, 6, 3


def _policy() -> ActorCritic:
    torch.manual_seed(0)
    return ActorCritic(
        OpCountEncoder(STATES, OpCountConfig(width=32)), ACTIONS, ACTIONS, HeadsConfig(32)
    )


def _demonstrations(masked: bool = False) -> Demonstrations:
    """In state s action s mod 4 is right; with masks, an other one is hidden at some looks."""
    store = OpCountEncoder(STATES, OpCountConfig()).store()
    store.add(list(10 * torch.eye(STATES).numpy()))
    state = torch.arange(STATES).repeat_interleave(LOOKS)
    action = state % 4
    mask = torch.ones(len(state), ACTIONS, dtype=torch.bool)
    if masked:
        mask[torch.arange(len(state)), (action + 1 + torch.arange(len(state)) % 3) % ACTIONS] = (
            False
        )
    return Demonstrations(store, state, state, mask.float(), mask, action, 0.1 * state.float())


def _clone(policy: ActorCritic, shown: Demonstrations, threads: int = 1, **changes: object):
    config = CloningConfig(**{"epochs": 60, "minibatch": 6, **changes})
    generator = torch.Generator().manual_seed(0)
    return list(clone_behaviour(policy, shown, config, PPOConfig(), generator, threads))


@pytest.mark.parametrize("masked", [False, True])
def test_does_what_was_shown(masked):
    shown = _demonstrations(masked)
    policy = _policy()
    stats = _clone(policy, shown)
    assert stats[-1].agreement == 1.0
    assert stats[0].agreement < 0.9
    with torch.no_grad():
        log_probs, values = policy(
            policy.encode(shown.states, shown.state), shown.context, shown.mask
        )
    assert log_probs.argmax(1).tolist() == shown.action.tolist()
    assert (values - shown.returns).abs().max() < 0.1


def test_smoothing_leaves_every_action_a_share():
    shown = _demonstrations()
    least = []
    for smoothing in (0.0, 0.2):
        policy = _policy()
        _clone(policy, shown, smoothing=smoothing)
        with torch.no_grad():
            encoded = policy.encode(shown.states, shown.state)
            log_probs, _ = policy(encoded, shown.context, shown.mask)
        least.append(float(log_probs.exp().min()))
    assert least[1] > 3 * least[0]
    assert least[1] == pytest.approx(0.2 / ACTIONS, rel=0.5)


def test_no_epochs_change_nothing():
    policy = _policy()
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    assert _clone(policy, _demonstrations(), epochs=0) == []
    assert all(torch.equal(before[name], value) for name, value in policy.state_dict().items())


def test_results_do_not_depend_on_threads():
    found = []
    for threads in (1, 2):
        policy = _policy()
        _clone(policy, _demonstrations(), threads, epochs=3)
        found.append(policy.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_minibatches_without_a_finite_gradient_are_skipped_and_counted():
    shown = _demonstrations()
    shown.returns[shown.state == 2] = torch.nan
    policy = _policy()
    (stats,) = _clone(policy, shown, epochs=1)
    assert stats.skipped_minibatches == 1
    assert all(parameter.isfinite().all() for parameter in policy.parameters())


def test_an_epoch_without_any_finite_gradient_is_an_error():
    shown = _demonstrations()
    shown.returns.fill_(torch.nan)
    with pytest.raises(NonFiniteGradientError, match="epoch 0"):
        _clone(_policy(), shown)
