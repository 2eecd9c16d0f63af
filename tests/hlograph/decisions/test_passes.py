"""Tests of the process of passes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import Module
from hlograph.decisions import passes
from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.passes import LivePasses, PassProcess
from hlograph.decisions.process import State
from hlograph.graph.vocabulary import OPCODES
from hlograph.module import Snapshot
from tests.tiny_module import TINY

_COUNTS = st.lists(
    st.sampled_from([0, 0, 0, 1, 7, 2**24]), min_size=len(OPCODES), max_size=len(OPCODES)
)


def _expected(counts: np.ndarray, indices: list[int]) -> list[int]:
    """Returns the mask by its definition: opcodes of the module among those that a pass acts on."""
    acts = [bool((counts * hlograph.passes.acts_on[:, index]).sum() > 0) for index in indices]
    return [int(act) for act in (*acts, bool(counts.any()))]


def _player(process: PassProcess, module: Module) -> LivePasses:
    return process.start(NamedModule("tiny", lambda: module))


def _mask(process: PassProcess, player: LivePasses, counts: np.ndarray) -> np.ndarray:
    player.arrive(State(Snapshot("", 0, counts)))
    return process.mask(player)


@settings(deadline=None)
@given(st.lists(_COUNTS, min_size=1, max_size=4), st.data())
def test_a_mask_is_that_of_its_definition_however_often_it_is_asked_for(states, data):
    indices = data.draw(st.lists(st.integers(0, len(hlograph.passes) - 1), max_size=6))
    process = PassProcess([hlograph.passes[index] for index in indices])
    player = _player(process, Module.from_text(TINY))
    for counts in (*states, *reversed(states)):
        counts = np.array(counts, np.float32)
        mask = _mask(process, player, counts)
        assert mask.dtype == np.int8
        assert mask.tolist() == _expected(counts, indices)


def test_it_keeps_a_bounded_number_of_masks(monkeypatch):
    monkeypatch.setattr(passes, "_KEPT_MASKS", 2)
    process = PassProcess([hlograph.passes["dce"]])
    player = _player(process, Module.from_text(TINY))
    for opcode in (0, 1, 2, 3, 0):
        counts = np.zeros(len(OPCODES), np.float32)
        counts[opcode] = 1
        expected = _expected(counts, [hlograph.passes["dce"].index])
        assert _mask(process, player, counts).tolist() == expected
        assert len(process._masks) <= 2


def test_the_key_of_a_state_is_the_actions_that_changed_it():
    process = PassProcess()
    player = _player(process, Module.from_text(TINY))
    start, names = player.state, ("dce", "dce", "call-inliner", "cse")
    for name in names:
        (step,) = process.after([player], [hlograph.passes.index(name)])
        assert step.state is player.state
    assert player.state.path() == ("dce", "call-inliner", "cse")
    assert player.applied() == player.state.path()
    assert process.size(player.state) == player.module.op_count == 4
    assert process.size(start) == 8
    assert start.path() == ()


def test_a_copy_goes_its_own_way():
    process = PassProcess()
    player = _player(process, Module.from_text(TINY))
    process.after([player], [hlograph.passes.index("dce")])
    copy = player.copy()
    process.after([copy], [hlograph.passes.index("call-inliner")])
    assert copy.state.path() == ("dce", "call-inliner")
    assert (copy.module.op_count, player.module.op_count) == (5, 7)
    assert player.state.path() == ("dce",)


def test_several_players_step_at_once():
    process = PassProcess()
    players = [_player(process, Module.from_text(TINY)) for _ in range(3)]
    numbers = [hlograph.passes.index(name) for name in ("dce", "reshape-mover", "call-inliner")]
    steps = process.after(players, numbers)
    assert [step.changed for step in steps] == [True, False, True]
    assert [step.state for step in steps] == [player.state for player in players]
