"""Tests that states with candidates are encoded by op counts one by one, in any order."""

import numpy as np
import pytest
import torch

from models.candidate_counts import CandidateCountsEncoder, CountsAndCandidates
from models.config import LOG_COUNT_SCALE, CandidateConfig, HeadsConfig, OpCountConfig
from models.pointer import PointerActorCritic

COUNTS, SLOTS, RULES, FEATURES = 5, 4, 3, 3


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return CandidateCountsEncoder(
        COUNTS, OpCountConfig(width=16), CandidateConfig(width=8), SLOTS, RULES, FEATURES
    )


@pytest.fixture
def states():
    """Four states, the last of which offers nothing."""
    rng = np.random.default_rng(0)
    found = []
    for count in (1, 3, 4, 0):
        features = rng.normal(size=(count, FEATURES)).astype(np.float32)
        features[:, 0] = rng.integers(0, RULES, count)
        counts = rng.integers(0, 9, COUNTS).astype(np.float32)
        found.append(CountsAndCandidates(counts, features))
    return found


def by_hand(encoder: CandidateCountsEncoder, state: CountsAndCandidates) -> torch.Tensor:
    slots = torch.zeros(SLOTS, encoder.candidate_width)
    for number, row in enumerate(torch.from_numpy(state.features)):
        slots[number] = encoder.mix(encoder.rule(row[0].long()) + encoder.features(row[1:]))
    counts = torch.from_numpy(state.counts).log1p() * LOG_COUNT_SCALE
    return torch.cat([encoder.counts.layers(counts), slots.flatten()])


def test_states_are_encoded_together_as_candidate_by_candidate(encoder, states):
    together = encoder.encode_items(states)
    expected = torch.stack([by_hand(encoder, state) for state in states])
    torch.testing.assert_close(together, expected, rtol=1e-5, atol=1e-6)
    assert not together[3, encoder.state_width :].any()


def test_merged_stores_hold_what_each_held(encoder, states):
    left, right = encoder.store(), encoder.store()
    left.add(states[:2])
    right.add(states[1:])
    left.merge(right, [1, 2])
    assert len(left) == 4
    torch.testing.assert_close(
        encoder(left, torch.tensor([3, 0, 2])),
        encoder.encode_items([states[3], states[0], states[2]]),
    )


def test_a_policy_points_at_what_is_offered(encoder, states):
    policy = PointerActorCritic(encoder, 1, HeadsConfig(width=8), CandidateConfig(width=8))
    mask = torch.zeros(4, SLOTS + 1, dtype=torch.bool)
    for row, state in enumerate(states):
        mask[row, : len(state.features)] = mask[row, -1] = True
    log_probs, values = policy(encoder.encode_items(states), torch.zeros(4, 1), mask)
    assert values.shape == (4,)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(4))
    assert not log_probs.exp()[~mask].any()
