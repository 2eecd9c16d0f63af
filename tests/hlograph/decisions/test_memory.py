"""Tests of Memory: what it shows, and what it shares in memory and in a file."""

import copy
import multiprocessing
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlograph
from hlograph.decisions.memory import MEMORY, Memory
from hlograph.errors import DamagedFileError
from tests.tiny_module import TINY

LAST = len(hlograph.passes) - 1


def _mask(memory: Memory, fingerprint: str, num_actions: int = 3) -> list[int]:
    return memory.masked(np.ones(num_actions, np.int8), fingerprint).tolist()


def test_shows_by_state():
    memory = Memory()
    memory.show("a", 1)
    assert _mask(memory, "a") == [1, 0, 1]
    assert _mask(memory, "b") == [1, 1, 1]
    memory.hide()
    assert _mask(memory, "a") == [1, 1, 1]


def test_the_state_longest_unused_is_hidden_first():
    memory = Memory(shown_bytes=900)
    memory.show("a", 0)
    memory.show("b", 0)
    _mask(memory, "a")
    memory.show("c", 0)
    assert [_mask(memory, state, 1) for state in "abc"] == [[0], [1], [0]]


@pytest.mark.parametrize("copied", [Memory.copy, copy.deepcopy])
def test_a_copy_shares_what_saves_time_and_shows_on_its_own(copied):
    memory = Memory()
    memory.show("a", 0)
    other = copied(memory)
    other.show("a", 1)
    memory.show("b", 2)
    assert [_mask(memory, state) for state in "ab"] == [[0, 1, 1], [1, 1, 0]]
    assert [_mask(other, state) for state in "ab"] == [[0, 0, 1], [1, 1, 1]]
    memory.hide()
    assert _mask(other, "a") == [0, 0, 1]
    module = hlograph.Module.from_text(TINY)
    assert memory.start(module) is other.start(module)
    other.add_no_ops(5, 1)
    assert memory.no_ops(5) == 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 16))), st.integers(0, 2**17 - 1))
def test_masked_takes_what_is_shown_out_of_a_mask(no_ops, bits):
    memory = MEMORY.copy()
    for state, action in no_ops:
        memory.show(state, action)
    mask = np.array([bits >> action & 1 for action in range(17)], np.int8)
    expected = [int(m and ("a", action) not in no_ops) for action, m in enumerate(mask)]
    result = memory.masked(mask, "a")
    assert result.dtype == np.int8
    assert result.tolist() == expected
    assert result is not mask
    assert _mask(memory, "a", 17) == [int(("a", i) not in no_ops) for i in range(17)]


@pytest.fixture(params=["memory", "file"])
def memory(request, tmp_path) -> Memory:
    return Memory(None if request.param == "memory" else tmp_path / "known", no_op_bytes=1 << 16)


def test_remembers_by_state(memory):
    memory.add_no_ops(5, 1)
    memory.add_no_ops(5, 1 << LAST)
    memory.add_no_ops(6, 2)
    assert memory.no_ops(5) == 1 | 1 << LAST
    assert memory.no_ops(6) == 2
    assert memory.no_ops(7) == 0


def test_a_full_table_forgets_but_never_confuses(memory):
    rng = random.Random(0)
    added = {rng.getrandbits(128): rng.randint(0, LAST) for _ in range(20_000)}
    for state, index in added.items():
        memory.add_no_ops(state, 1 << index)
    found = [memory.no_ops(state) for state in added]
    assert all(bits in (0, 1 << index) for bits, index in zip(found, added.values(), strict=True))
    # 40 bytes a state.
    assert 1_000 < np.count_nonzero(found) <= (1 << 16) // 40


def test_a_slot_half_written_is_no_known_state(tmp_path):
    memory = Memory(tmp_path / "known", no_op_bytes=1 << 12)
    memory.add_no_ops(5, 1 << 3)
    whole = (tmp_path / "known").read_bytes()
    slot = whole.index((5).to_bytes(16, "little"))
    for place in range(slot, slot + 40):
        torn = bytearray(whole)
        torn[place] ^= 0x10
        (tmp_path / "torn").write_bytes(torn)
        assert Memory(tmp_path / "torn", no_op_bytes=1 << 12).no_ops(5) == 0, place
    (tmp_path / "torn").write_bytes(whole)
    assert Memory(tmp_path / "torn", no_op_bytes=1 << 12).no_ops(5) == 1 << 3


def test_a_torn_slot_is_written_again(tmp_path):
    path = tmp_path / "known"
    Memory(path, no_op_bytes=1 << 12).add_no_ops(5, 1 << 3)
    torn = bytearray(path.read_bytes())
    torn[torn.index((5).to_bytes(16, "little")) + 17] ^= 1
    path.write_bytes(torn)
    memory = Memory(path, no_op_bytes=1 << 12)
    memory.add_no_ops(5, 1 << 4)
    assert memory.no_ops(5) == 1 << 4


def test_a_file_is_shared_and_kept(tmp_path):
    one, other = (Memory(tmp_path / "new" / "known", no_op_bytes=1 << 12) for _ in range(2))
    one.add_no_ops(5, 1 << 3)
    assert other.no_ops(5) == 1 << 3
    other.add_no_ops(5, 1 << 4)
    assert pickle.loads(pickle.dumps(one)).no_ops(5) == 1 << 3 | 1 << 4
    del one, other
    assert Memory(tmp_path / "new" / "known", no_op_bytes=1 << 12).no_ops(5) == 1 << 3 | 1 << 4


def test_a_pickle_opens_the_same_file_and_shows_the_same(memory):
    memory.add_no_ops(5, 1)
    memory.show("a", 0)
    other = pickle.loads(pickle.dumps(memory))
    assert other.no_ops(5) == (1 if memory.path else 0)
    assert _mask(other, "a") == [0, 1, 1]
    assert other._bounds == memory._bounds


def test_a_file_of_another_engine_or_size_is_started_over(tmp_path, monkeypatch):
    path = tmp_path / "known"
    old = Memory(path, no_op_bytes=1 << 12)
    old.add_no_ops(5, 1 << 3)
    assert Memory(path, no_op_bytes=1 << 13).no_ops(5) == 0
    assert old.no_ops(5) == 1 << 3  # still open where it was
    Memory(path, no_op_bytes=1 << 13).add_no_ops(5, 1 << 3)
    monkeypatch.setenv("XLA_FLAGS", "--xla_allow_excess_precision=false")
    assert Memory(path, no_op_bytes=1 << 13).no_ops(5) == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["known"]


def test_a_truncated_file_is_started_over(tmp_path):
    path = tmp_path / "known"
    Memory(path, no_op_bytes=1 << 12).add_no_ops(5, 1 << 3)
    path.write_bytes(path.read_bytes()[:100])
    assert Memory(path, no_op_bytes=1 << 12).no_ops(5) == 0
    assert path.stat().st_size == 1 << 12


def test_no_other_file_is_overwritten(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    with pytest.raises(DamagedFileError, match="Name another file"):
        Memory(path)
    assert path.read_text() == "years of work"


@pytest.mark.parametrize("bound", ["no_op_bytes", "step_bytes", "shown_bytes"])
def test_too_small_a_bound_is_named(bound):
    with pytest.raises(ValueError, match=rf"{bound} of at least [0-9]+, got 100"):
        Memory(**{bound: 100})  # pyright: ignore[reportArgumentType]


def _add_many(memory: Memory, seed: int, rounds: int = 5_000) -> None:
    rng = random.Random(seed)
    for _ in range(rounds):
        state = rng.randint(1, 50)
        memory.add_no_ops(state, 1 << state % LAST)
        memory.add_no_ops(state, 1 << (state + seed) % LAST)


def test_processes_that_write_at_once_never_make_up_a_no_op(tmp_path):
    # Fifty states in eighty slots, so that windows overlap and slots are fought over.
    memory = Memory(tmp_path / "known", no_op_bytes=3_300)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add_many, args=(memory, seed)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    for _ in range(3_000):
        _add_many(memory, 3, rounds=1)
        for state in range(1, 51):
            true = {(state + seed) % LAST for seed in range(4)}
            assert not memory.no_ops(state) & ~sum(1 << index for index in true)
        if not any(writer.is_alive() for writer in writers):
            break
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sum(memory.no_ops(state) != 0 for state in range(1, 51)) > 30


def test_the_file_holds_no_more_than_it_may(tmp_path):
    path: Path = tmp_path / "known"
    memory = Memory(path, no_op_bytes=1 << 12)
    for state in range(1_000):
        memory.add_no_ops(state * 0x9E3779B97F4A7C15, 1)
    assert path.stat().st_size == 1 << 12
