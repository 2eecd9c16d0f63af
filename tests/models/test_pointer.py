"""Tests that actions are encoded by the nodes they touch, one by one, in any order."""

import numpy as np
import pytest
import torch

from models.config import LOG_COUNT_SCALE, ActionConfig, GATConfig, HeadsConfig, OpCountConfig
from models.gat import GATEncoder
from models.op_count_mlp import OpCountEncoder
from models.pointer import ActionEncoder, PointerActorCritic, StateWithActions

COUNTS, SLOTS, RULES, FEATURES, ROLES = 5, 4, 3, 3, 2


@pytest.fixture(params=[8, 12, None])  # graphs with a kernel for the layers, without; op counts
def encoder(request, schema):
    torch.manual_seed(0)
    if request.param is None:
        states = OpCountEncoder(COUNTS, OpCountConfig(width=16))
    else:
        gat = GATConfig(layers=2, heads=2, head_width=request.param, counted_kinds=4)
        states = GATEncoder(schema, gat)
    return ActionEncoder(states, ActionConfig(width=8), SLOTS, RULES, FEATURES, ROLES)


@pytest.fixture
def states(random_graph, encoder):
    """Four states, the last of which offers nothing."""
    rng = np.random.default_rng(0)
    found = []
    for number, count in enumerate((1, 3, 4, 0)):
        features = rng.normal(size=(count, FEATURES)).astype(np.float32)
        features[:, 0] = rng.integers(0, RULES, count)
        if encoder.graph is None:
            counts = rng.integers(0, 9, COUNTS).astype(np.float32)
            found.append(StateWithActions(counts, features))
            continue
        graph = random_graph(6 + number, 9, seed=number)
        links = [(c, int(rng.integers(6)), r) for c in range(count) for r in (0, 1, 1)]
        found.append(StateWithActions(graph, features, np.array(links, np.int64).reshape(-1, 3)))
    return found


def by_hand(encoder: ActionEncoder, state: StateWithActions) -> torch.Tensor:
    """Returns the vector of a state, action by action and link by link."""
    slots = torch.zeros(SLOTS, encoder.action_width)
    touched = torch.zeros(len(state.features), encoder.action_width)
    if encoder.graph is None:
        counts = torch.from_numpy(state.state).log1p() * LOG_COUNT_SCALE
        assert encoder.counts is not None
        whole = encoder.counts.layers(counts)
    else:
        store = encoder.graph.store()
        colours = store.add_graph(state.state)
        block = store.block([0], torch.device("cpu"))
        nodes = encoder.graph.encode_nodes(block)
        whole = encoder.graph.pooling(nodes, block.members)[0]
        row_of = {int(colour): row for row, colour in enumerate(block.colours)}
        for action in range(len(state.features)):
            for role in range(ROLES):
                ends = [n for c, n, r in state.links.tolist() if (c, r) == (action, role)]
                if ends:
                    rows = torch.stack([nodes[row_of[int(colours[node])]] for node in ends])
                    projected = encoder.touched(encoder.norm(rows)).unflatten(1, (ROLES, -1))
                    touched[action] += projected[:, role].mean(0)
    for action, row in enumerate(torch.from_numpy(state.features)):
        vector = encoder.rule(row[0].long()) + encoder.features(row[1:]) + touched[action]
        slots[action] = encoder.mix(vector)
    return torch.cat([whole, slots.flatten()])


@torch.no_grad()
def test_states_are_encoded_together_as_action_by_action(encoder, states):
    together = encoder.encode_items(states)
    assert together.shape == (4, encoder.width)
    expected = torch.stack([by_hand(encoder, state) for state in states])
    torch.testing.assert_close(together, expected, rtol=1e-5, atol=1e-6)
    assert not together[3, encoder.state_width :].any()


def test_following_a_store_gives_the_vectors_of_its_states(encoder, states):
    store = encoder.store()
    incremental = encoder.incremental(store)
    found = []
    for part in (states[:1], states[1:]):
        store.add(part)
        found.append(incremental.new_vectors())
    torch.testing.assert_close(
        torch.cat(found), encoder(store, torch.arange(4)), rtol=1e-5, atol=1e-6
    )


def test_merged_stores_hold_what_each_held(encoder, states):
    left, right = encoder.store(), encoder.store()
    left.add(states[:2])
    right.add(states[1:])
    left.merge(right, [1, 2])
    assert len(left) == 4
    torch.testing.assert_close(
        encoder(left, torch.arange(4)), encoder.encode_items(states), rtol=1e-5, atol=1e-6
    )
    torch.testing.assert_close(
        encoder(left, torch.tensor([3, 0, 2])),
        encoder.encode_items([states[3], states[0], states[2]]),
        rtol=1e-5,
        atol=1e-6,
    )


def test_every_parameter_gets_a_gradient(encoder, states):
    vectors = encoder.encode_items(states)
    (vectors * torch.linspace(-1, 1, vectors.numel()).view_as(vectors)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


@pytest.fixture
def policy(encoder):
    return PointerActorCritic(encoder, 2, HeadsConfig(width=8), ActionConfig(width=8))


def evaluated(policy, state, mask):
    vectors = policy.encoder.encode_items([state])
    return policy(vectors, torch.zeros(1, 2), torch.tensor([mask]))


def test_a_policy_points_at_what_is_offered(policy, encoder, states):
    mask = torch.zeros(4, SLOTS + 1, dtype=torch.bool)
    for row, state in enumerate(states):
        mask[row, : len(state.features)] = mask[row, -1] = True
    log_probs, values = policy(encoder.encode_items(states), torch.zeros(4, 2), mask)
    assert values.shape == (4,)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(4))
    assert not log_probs.exp()[~mask].any()


def test_a_new_policy_is_almost_uniform_over_what_is_offered(policy, states):
    log_probs, value = evaluated(policy, states[1], [True, True, True, False, True])
    torch.testing.assert_close(
        log_probs.exp()[0, [0, 1, 2, 4]], torch.full((4,), 0.25), atol=0.02, rtol=0
    )
    assert log_probs.exp()[0, 3] == 0
    assert value.shape == (1,)


def test_what_is_likely_of_an_action_does_not_depend_on_its_slot(policy, states):
    torch.nn.init.normal_(policy.score.weight)  # so that actions differ
    state = states[2]
    order = np.array([2, 0, 3, 1])
    links = state.links.copy()
    links[:, 0] = np.argsort(order)[links[:, 0]]
    moved = StateWithActions(state.state, state.features[order], links)
    everything = [True] * 5
    before, value = evaluated(policy, state, everything)
    after, moved_value = evaluated(policy, moved, everything)
    assert before.exp()[0, :4].std() > 0.01
    torch.testing.assert_close(after[0, :4], before[0, torch.from_numpy(order)])
    torch.testing.assert_close(after[0, 4], before[0, 4])
    torch.testing.assert_close(moved_value, value)
