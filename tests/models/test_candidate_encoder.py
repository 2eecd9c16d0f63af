"""Tests that candidates are encoded by the nodes they touch, one by one, in any order."""

import numpy as np
import pytest
import torch

from models.candidate_encoder import CandidateEncoder
from models.candidate_graphs import GraphAndCandidates
from models.config import CandidateConfig, GATConfig, HeadsConfig
from models.pointer import PointerActorCritic

SLOTS, RULES, FEATURES, ROLES = 4, 3, 3, 2


@pytest.fixture(params=[8, 12])  # with a kernel for the graph layers, and without
def encoder(request, schema):
    torch.manual_seed(0)
    gat = GATConfig(layers=2, heads=2, head_width=request.param, counted_kinds=4)
    return CandidateEncoder(schema, gat, CandidateConfig(width=8), SLOTS, RULES, FEATURES, ROLES)


@pytest.fixture
def states(random_graph):
    """Four states, the last of which offers nothing."""
    rng = np.random.default_rng(0)
    found = []
    for number, count in enumerate((1, 3, 4, 0)):
        graph = random_graph(6 + number, 9, seed=number)
        features = rng.normal(size=(count, FEATURES)).astype(np.float32)
        features[:, 0] = rng.integers(0, RULES, count)
        links = [(c, int(rng.integers(6)), r) for c in range(count) for r in (0, 1, 1)]
        found.append(GraphAndCandidates(graph, features, np.array(links, np.int64).reshape(-1, 3)))
    return found


def by_hand(encoder: CandidateEncoder, state: GraphAndCandidates) -> torch.Tensor:
    """The vector of a state, candidate by candidate and link by link."""
    store = encoder.graph.store()
    colours = store.add_graph(state.graph)
    block = store.block([0], torch.device("cpu"))
    nodes = encoder.graph.encode_nodes(block)
    row_of = {int(colour): row for row, colour in enumerate(block.colours)}
    slots = torch.zeros(SLOTS, encoder.candidate_width)
    for number, row in enumerate(torch.from_numpy(state.features)):
        vector = encoder.rule(row[0].long()) + encoder.features(row[1:])
        for role in range(ROLES):
            touched = [n for c, n, r in state.links.tolist() if (c, r) == (number, role)]
            if touched:
                rows = torch.stack([nodes[row_of[int(colours[node])]] for node in touched])
                projected = encoder.touched(encoder.norm(rows)).unflatten(1, (ROLES, -1))
                vector = vector + projected[:, role].mean(0)
        slots[number] = encoder.mix(vector)
    return torch.cat([encoder.graph.pooling(nodes, block.members)[0], slots.flatten()])


def test_states_are_encoded_together_as_candidate_by_candidate(encoder, states):
    together = encoder.encode_items(states)
    assert together.shape == (4, encoder.width)
    expected = torch.stack([by_hand(encoder, state) for state in states])
    torch.testing.assert_close(together, expected, rtol=1e-5, atol=1e-6)
    assert not together[3, encoder.graph.width :].any()


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
    torch.testing.assert_close(
        encoder(left, torch.arange(4)), encoder.encode_items(states), rtol=1e-5, atol=1e-6
    )


def test_every_parameter_gets_a_gradient(encoder, states):
    vectors = encoder.encode_items(states)
    (vectors * torch.linspace(-1, 1, vectors.numel()).view_as(vectors)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


@pytest.fixture
def policy(encoder):
    return PointerActorCritic(encoder, 2, HeadsConfig(width=8), CandidateConfig(width=8))


def judged(policy, state, mask):
    vectors = policy.encoder.encode_items([state])
    return policy(vectors, torch.zeros(1, 2), torch.tensor([mask]))


def test_a_new_policy_is_almost_uniform_over_what_is_offered(policy, states):
    log_probs, value = judged(policy, states[1], [True, True, True, False, True])
    torch.testing.assert_close(
        log_probs.exp()[0, [0, 1, 2, 4]], torch.full((4,), 0.25), atol=0.02, rtol=0
    )
    assert log_probs.exp()[0, 3] == 0
    assert value.shape == (1,)


def test_what_is_likely_of_a_candidate_does_not_depend_on_its_slot(policy, states):
    torch.nn.init.normal_(policy.score.weight)  # so that candidates differ
    state = states[2]
    order = np.array([2, 0, 3, 1])
    links = state.links.copy()
    links[:, 0] = np.argsort(order)[links[:, 0]]
    moved = GraphAndCandidates(state.graph, state.features[order], links)
    everything = [True] * 5
    before, value = judged(policy, state, everything)
    after, moved_value = judged(policy, moved, everything)
    assert before.exp()[0, :4].std() > 0.01
    torch.testing.assert_close(after[0, :4], before[0, torch.from_numpy(order)])
    torch.testing.assert_close(after[0, 4], before[0, 4])
    torch.testing.assert_close(moved_value, value)
