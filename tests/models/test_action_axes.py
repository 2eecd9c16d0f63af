"""An action whose entries are removed is as if it had always been masked."""

import copy

import torch

from models.action_axes import ActionAxis, ChosenActions
from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder

NAMES = ("a", "b", "c", "d")
KEPT = ("d", "a")
COLUMNS = [3, 0, 4]  # of the mask: the kept actions, and stopping


def _policy(actions: int) -> ActorCritic:
    torch.manual_seed(0)
    encoder = OpCountEncoder(5, OpCountConfig(width=8))
    # The mask, with stopping, and the size; the value head sees two costs more.
    return ActorCritic(encoder, actions + 2, actions + 1, HeadsConfig(8), value_width=2)


def _trained(policy: ActorCritic) -> list[torch.nn.Parameter]:
    return [parameter for parameter in policy.parameters() if parameter.requires_grad]


def _step(policy: ActorCritic, gradients: list[torch.Tensor], adam: torch.optim.Adam) -> None:
    for parameter, gradient in zip(_trained(policy), gradients, strict=True):
        parameter.grad = gradient
    adam.step()


def test_a_removed_action_is_as_if_masked():
    whole, part = _policy(4), _policy(2)
    chosen = ChosenActions(whole.action_axes, NAMES, KEPT)
    part.load_state_dict(chosen.parameters(whole.state_dict()))
    encoded, rest = torch.randn(3, whole.encoder.width), torch.randn(3, 3)
    mask = torch.tensor([[1, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]], dtype=torch.bool)
    context = torch.cat([mask, rest], dim=1)
    log_probs, value = whole(encoded, context, mask)
    kept = torch.cat([mask[:, COLUMNS], rest], dim=1)
    fewer, same = part(encoded, kept, mask[:, COLUMNS])
    assert torch.allclose(fewer, log_probs[:, COLUMNS], atol=1e-6)
    assert torch.allclose(same, value, atol=1e-6)


def test_effects_of_a_removed_action_are_as_if_it_were_masked_and_never_taken():
    whole, part = _policy(4), _policy(2)
    assert whole.effects is not None
    assert part.effects is not None
    torch.nn.init.normal_(whole.effects.output.weight)
    chosen = ChosenActions(whole.action_axes, NAMES, KEPT)
    part.load_state_dict(chosen.parameters(whole.state_dict()))
    encoded, rest = torch.randn(2, whole.encoder.width), torch.randn(2, 1)
    mask = torch.tensor([[1, 0, 0, 1, 1], [0, 0, 0, 1, 1]], dtype=torch.float32)
    recent = torch.tensor([[0.7, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    logits = whole.effects(encoded, torch.cat([mask, rest], dim=1), recent)
    kept = torch.cat([mask[:, COLUMNS], rest], dim=1)
    fewer = part.effects(encoded, kept, recent[:, COLUMNS[:2]])
    assert torch.allclose(fewer, logits[:, COLUMNS], atol=1e-5)


def test_training_goes_on_with_the_moments_of_what_is_kept():
    whole, part = _policy(4), _policy(2)
    chosen = ChosenActions(whole.action_axes, NAMES, KEPT)
    names = [name for name, value in whole.named_parameters() if value.requires_grad]
    adam = torch.optim.Adam(_trained(whole), 0.1)
    gradients = [[torch.randn_like(p) for p in _trained(whole)] for _ in range(2)]
    _step(whole, gradients[0], adam)
    part.load_state_dict(chosen.parameters(whole.state_dict()))
    further = torch.optim.Adam(_trained(part), 0.1)
    further.load_state_dict(chosen.moments(copy.deepcopy(adam.state_dict()), names))
    _step(whole, gradients[1], adam)
    of_kept = chosen.parameters(dict(zip(names, gradients[1], strict=True)))
    _step(part, list(of_kept.values()), further)
    expected = chosen.parameters(whole.state_dict())
    for name, value in part.state_dict().items():
        assert torch.allclose(value, expected[name], atol=1e-6), name


def test_entries_follow_the_names():
    chosen = ChosenActions({"x": ActionAxis(), "y": ActionAxis(axis=1, first=2)}, NAMES, KEPT)
    values = {"x": torch.arange(5), "y": torch.arange(7)[None], "z": torch.arange(3)}
    found = {name: value.flatten().tolist() for name, value in chosen.parameters(values).items()}
    assert found == {"x": [3, 0, 4], "y": [0, 1, 5, 2, 6], "z": [0, 1, 2]}
