"""Tests that the op-count encoder depends on each vector alone, and on all of its entries."""

import numpy as np
import pytest
import torch

from models.config import OpCountConfig
from models.op_count_mlp import OpCountEncoder


def _encoder() -> OpCountEncoder:
    torch.manual_seed(0)
    return OpCountEncoder(10, OpCountConfig(width=16))


def test_rows_do_not_depend_on_each_other():
    encoder = _encoder()
    counts = list(np.random.default_rng(0).integers(0, 5000, (6, 10)).astype(np.float32))
    together = encoder.encode_items(counts)
    assert together.shape == (6, encoder.width)
    torch.testing.assert_close(together, torch.cat([encoder.encode_items([row]) for row in counts]))


def test_groups_are_as_many_states_as_the_budget():
    store = _encoder().store()
    store.add([np.zeros(10, np.float32)] * 5)
    assert store.groups(range(5), 2) == [([0, 1], 2), ([2, 3], 2), ([4], 1)]
    with pytest.raises(ValueError, match="has to be positive, got 0"):
        store.groups(range(5), 0)


def test_every_parameter_and_every_count_matters():
    encoder = _encoder()
    counts = list(np.eye(10, dtype=np.float32) * 7)
    vectors = encoder.encode_items(counts)
    assert torch.cdist(vectors, vectors).fill_diagonal_(1.0).min() > 1e-3
    (vectors * torch.linspace(-1, 1, vectors.numel()).view_as(vectors)).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
