"""Tests that computations on an accelerator stay there.

The meta device stands in for one: like a GPU it refuses to work on tensors of the CPU, and it
has no values that could be read back.
"""

import copy
from collections.abc import Sequence
from dataclasses import asdict

import pytest
import torch

from models.actor_critic import ActorCritic
from models.config import GATConfig, HeadsConfig, PPOConfig
from models.gat import GATEncoder
from models.graph_view import GraphView
from models.pooling import Pooling, _Terms
from models.ppo import PPO, _Transitions
from models.refined_graphs import Block, RefinedGraphs
from models.rollout import Rollout, StateTable
from tests.models.conftest import ArrayGraph

META = torch.device("meta")
ACTIONS = 3


@pytest.fixture
def block(schema, random_graph) -> Block:
    store = RefinedGraphs(GraphView(schema), rounds=2)
    store.add([random_graph(20, 40, seed) for seed in range(3)])
    return store.block([0, 1, 2], torch.device("cpu"))


def _transitions(states: RefinedGraphs) -> _Transitions:
    def column(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.empty(3, *shape, dtype=dtype)

    return _Transitions(
        states=states,
        state=column(dtype=torch.int64),
        context=column(1),
        mask=column(ACTIONS, dtype=torch.bool),
        action=column(dtype=torch.int64),
        log_prob=column(),
        value=column(),
        advantage=column(),
        returns=column(),
    ).to(META)


@pytest.mark.parametrize("layer", ["gatv2", "gat", "sage", "gin"])
def test_encoding_and_loss_never_leave_the_device(schema, block, layer):
    encoder = GATEncoder(schema, GATConfig(layers=2, layer=layer, heads=2, head_width=8))
    policy = ActorCritic(encoder, 1, ACTIONS, HeadsConfig(8)).to(META)
    ppo = PPO(policy, PPOConfig(value_clip=0.1))
    batch = _transitions(encoder.store())
    encoded = encoder.encode_block(block.to(META))
    rows = torch.arange(3, device=META)
    loss, terms, ratio_error = ppo._loss(batch, 0.01, rows, encoded)
    loss.backward()
    assert {loss.device, terms.device, ratio_error.device} == {META}
    for name, parameter in policy.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.device == META, name
        else:
            assert name.startswith("effects.")


def test_the_stand_in_refuses_what_an_accelerator_would(schema, block):
    encoder = GATEncoder(schema, GATConfig(layers=2, heads=2, head_width=8)).to(META)
    with pytest.raises(RuntimeError, match="device"):
        encoder.encode_block(block)


@pytest.mark.parametrize("columns", [1, 7, 8, 17, 40])
def test_sums_over_nodes_are_the_same_on_every_device(block, columns):
    values = torch.randn(len(block.rounds[-1].own), columns, requires_grad=True)
    expected = block.members.gathered_sum(values)
    found = block.members.sum(values)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    (given,) = torch.autograd.grad((expected * weights).sum(), values)
    (gradient,) = torch.autograd.grad((found * weights).sum(), values)
    torch.testing.assert_close(gradient, given)


@pytest.mark.parametrize("kinds", [8, 24])
def test_terms_of_pooling_are_the_same_on_every_device(kinds):
    pooling = Pooling(GATConfig(heads=3, head_width=8, counted_kinds=kinds))
    projected = 5 * torch.randn(50, sum(pooling._columns))
    projected[:, -pooling._further :] = 0  # what counts nodes
    projected.requires_grad_()
    expected, found = pooling._terms(projected), _Terms.apply(projected, pooling.shape)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    weights = torch.randn_like(found)
    (given,) = torch.autograd.grad((expected * weights).sum(), projected)
    (gradient,) = torch.autograd.grad((found * weights).sum(), projected)
    torch.testing.assert_close(gradient, given, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("layer", ["gatv2", "gat", "sage", "gin"])
def test_vectors_on_a_gpu_are_those_of_the_cpu(schema, block, layer):
    torch.manual_seed(0)
    encoder = GATEncoder(schema, GATConfig(layers=2, layer=layer, heads=2, head_width=8))
    on_cpu = encoder.encode_block(block)
    encoder.cuda()
    moved = block.to(torch.device("cuda"))
    torch.testing.assert_close(encoder.encode_block(moved).cpu(), on_cpu, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_update_on_a_gpu_learns_what_it_learns_on_the_cpu(schema, random_graph):
    torch.manual_seed(0)
    encoder = GATEncoder(schema, GATConfig(layers=2, heads=2, head_width=8))
    policy = ActorCritic(encoder, 1, ACTIONS, HeadsConfig(8))
    rollout = _rollout(policy, [random_graph(20, 40, seed) for seed in range(6)])
    learned, stats = {}, {}
    for device in ("cpu", "cuda"):
        config = PPOConfig(minibatches=2, target_kl=None)
        ppo = PPO(copy.deepcopy(policy).to(device), config, threads=2)
        stats[device] = ppo.update(rollout, 0.0, torch.Generator().manual_seed(0))
        learned[device] = [p.detach().cpu() for p in ppo.policy.parameters()]
    found, expected = asdict(stats["cuda"]), asdict(stats["cpu"])
    assert found.pop("first_ratio_error") < 1e-5
    expected.pop("first_ratio_error")
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)
    # Adam divides by the size of a gradient, so what rounding does to one that is nearly 0 shows.
    torch.testing.assert_close(learned["cuda"], learned["cpu"], rtol=1e-3, atol=1e-4)


def _rollout(policy: ActorCritic, graphs: Sequence[ArrayGraph]) -> Rollout:
    """Eight steps of four environments, with random states, actions and rewards."""
    shape = 8, 4
    table = StateTable(policy)
    state = torch.randint(len(graphs), shape)
    numbers = table.numbers(range(len(graphs)), graphs)
    context, mask = torch.ones(*shape, 1), torch.ones(*shape, ACTIONS, dtype=torch.bool)
    with torch.no_grad():
        vectors = table.vectors(numbers)[state.flatten()]
        log_probs, value = policy(vectors, context.flatten(0, 1), mask.flatten(0, 1))
    action = torch.randint(ACTIONS, shape)
    return Rollout(
        states=table.states,
        keys=table.keys,
        state=state,
        context=context,
        mask=mask,
        action=action,
        log_prob=log_probs.gather(1, action.flatten().unsqueeze(1)).view(shape),
        value=value.view(shape),
        next_value=torch.zeros(shape),
        reward=torch.randn(shape),
        terminated=torch.rand(shape) < 0.2,
        truncated=torch.zeros(shape, dtype=torch.bool),
    )
