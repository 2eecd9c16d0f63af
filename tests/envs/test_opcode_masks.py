"""Tests of OpcodeMasks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from envs import opcode_masks
from envs.opcode_masks import OpcodeMasks
from hlograph.graph.vocabulary import OPCODES

_COUNTS = st.lists(
    st.sampled_from([0, 0, 0, 1, 7, 2**24]), min_size=len(OPCODES), max_size=len(OPCODES)
)


def _expected(counts: np.ndarray, indices: list[int]) -> list[int]:
    """Returns the mask by its definition: opcodes of the module among those that a pass acts on."""
    acts = [bool((counts * hlograph.passes.acts_on[:, index]).sum() > 0) for index in indices]
    return [int(act) for act in (*acts, bool(counts.any()))]


@settings(deadline=None)
@given(st.lists(_COUNTS, min_size=1, max_size=4), st.data())
def test_a_mask_is_that_of_its_definition_however_often_it_is_asked_for(states, data):
    indices = data.draw(st.lists(st.integers(0, len(hlograph.passes) - 1), max_size=6))
    masks = OpcodeMasks([hlograph.passes[index] for index in indices])
    for counts in (*states, *reversed(states)):
        counts = np.array(counts, np.float32)
        mask = masks.mask(counts)
        assert mask.dtype == np.int8
        assert mask.tolist() == _expected(counts, indices)


def test_it_keeps_a_bounded_number_of_masks(monkeypatch):
    monkeypatch.setattr(opcode_masks, "_KEPT", 2)
    masks = OpcodeMasks([hlograph.passes["dce"]])
    for opcode in (0, 1, 2, 3, 0):
        counts = np.zeros(len(OPCODES), np.float32)
        counts[opcode] = 1
        assert masks.mask(counts).tolist() == _expected(counts, [hlograph.passes["dce"].index])
        assert len(masks._masks) <= 2
