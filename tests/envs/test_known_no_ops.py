"""Tests of KnownNoOps: known no-ops are not run again, and episodes stay the same."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

import hlograph
from envs import KnownNoOps, PassOrderingEnv
from hlograph import Module, corpus
from hlograph.errors import DamagedFileError
from hlograph.isolation import FlightRecorder
from tests.envs.conftest import DYNAMIC, PassCounter
from tests.tiny_module import COUNTED_LOOP

LAST = len(hlograph.passes) - 1


@pytest.fixture(params=["memory", "file"])
def table(request, tmp_path) -> KnownNoOps:
    return KnownNoOps(None if request.param == "memory" else tmp_path / "known", 1 << 16)


def test_remembers_by_state(table):
    table.add(5, 1)
    table.add(5, 1 << LAST)
    table.add(6, 2)
    assert table.at(5) == 1 | 1 << LAST
    assert table.at(6) == 2
    assert table.at(7) == 0


def test_a_full_table_forgets_but_never_confuses(table):
    rng = random.Random(0)
    added = {rng.getrandbits(128): rng.randint(0, LAST) for _ in range(20_000)}
    for state, index in added.items():
        table.add(state, 1 << index)
    found = [table.at(state) for state in added]
    assert all(bits in (0, 1 << index) for bits, index in zip(found, added.values(), strict=True))
    # 40 bytes a state.
    assert 1_000 < np.count_nonzero(found) <= (1 << 16) // 40


def test_a_slot_half_written_is_no_known_state(tmp_path):
    table = KnownNoOps(tmp_path / "known", 1 << 12)
    table.add(5, 1 << 3)
    whole = (tmp_path / "known").read_bytes()
    slot = whole.index((5).to_bytes(16, "little"))
    for place in range(slot, slot + 40):
        torn = bytearray(whole)
        torn[place] ^= 0x10
        (tmp_path / "torn").write_bytes(torn)
        assert KnownNoOps(tmp_path / "torn", 1 << 12).at(5) == 0, place
    (tmp_path / "torn").write_bytes(whole)
    assert KnownNoOps(tmp_path / "torn", 1 << 12).at(5) == 1 << 3


def test_a_torn_slot_is_written_again(tmp_path):
    path = tmp_path / "known"
    KnownNoOps(path, 1 << 12).add(5, 1 << 3)
    torn = bytearray(path.read_bytes())
    torn[torn.index((5).to_bytes(16, "little")) + 17] ^= 1
    path.write_bytes(torn)
    table = KnownNoOps(path, 1 << 12)
    table.add(5, 1 << 4)
    assert table.at(5) == 1 << 4


def test_a_file_is_shared_and_kept(tmp_path):
    one, other = (KnownNoOps(tmp_path / "new" / "known", 1 << 12) for _ in range(2))
    one.add(5, 1 << 3)
    assert other.at(5) == 1 << 3
    other.add(5, 1 << 4)
    assert pickle.loads(pickle.dumps(one)).at(5) == 1 << 3 | 1 << 4
    del one, other
    assert KnownNoOps(tmp_path / "new" / "known", 1 << 12).at(5) == 1 << 3 | 1 << 4


def test_a_deep_copy_is_the_table_itself(table):
    table.add(5, 1)
    assert copy.deepcopy(table).at(5) == 1
    assert pickle.loads(pickle.dumps(table)).at(5) == (1 if table.path else 0)


def test_a_file_of_another_engine_or_size_is_started_over(tmp_path, monkeypatch):
    path = tmp_path / "known"
    old = KnownNoOps(path, 1 << 12)
    old.add(5, 1 << 3)
    assert KnownNoOps(path, 1 << 13).at(5) == 0
    assert old.at(5) == 1 << 3  # still open where it was
    KnownNoOps(path, 1 << 13).add(5, 1 << 3)
    monkeypatch.setenv("XLA_FLAGS", "--xla_allow_excess_precision=false")
    assert KnownNoOps(path, 1 << 13).at(5) == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["known"]


def test_a_truncated_file_is_started_over(tmp_path):
    path = tmp_path / "known"
    KnownNoOps(path, 1 << 12).add(5, 1 << 3)
    path.write_bytes(path.read_bytes()[:100])
    assert KnownNoOps(path, 1 << 12).at(5) == 0
    assert path.stat().st_size == 1 << 12


def test_no_other_file_is_overwritten(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    with pytest.raises(DamagedFileError, match="Name another file"):
        KnownNoOps(path)
    assert path.read_text() == "years of work"


def test_too_small_a_table_is_named():
    with pytest.raises(ValueError, match="bytes for known no-ops, got 100"):
        KnownNoOps(max_bytes=100)


def _add_many(table: KnownNoOps, seed: int, rounds: int = 5_000) -> None:
    rng = random.Random(seed)
    for _ in range(rounds):
        state = rng.randint(1, 50)
        table.add(state, 1 << state % LAST)
        table.add(state, 1 << (state + seed) % LAST)


def test_processes_that_write_at_once_never_make_up_a_no_op(tmp_path):
    # Fifty states in eighty slots, so that windows overlap and slots are fought over.
    table = KnownNoOps(tmp_path / "known", 3_300)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add_many, args=(table, seed)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    for _ in range(3_000):
        _add_many(table, 3, rounds=1)
        for state in range(1, 51):
            true = {(state + seed) % LAST for seed in range(4)}
            assert not table.at(state) & ~sum(1 << index for index in true)
        if not any(writer.is_alive() for writer in writers):
            break
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sum(table.at(state) != 0 for state in range(1, 51)) > 30


def _walk(
    benchmark: corpus.Benchmark | Module,
    seed: int,
    known: KnownNoOps | None,
    recorder: FlightRecorder | None = None,
) -> tuple[list[object], str]:
    """Returns all outputs of a random episode, and the state that it ends in.

    Not the text: XLA numbers some names by addresses, in one process differently each time.
    """
    env = PassOrderingEnv(
        benchmark, observation="op_counts", costs=False, known=known, recorder=recorder
    )
    rng = np.random.default_rng(seed)
    seen: list[object] = [env.reset(seed=seed)[1]["action_mask"].tolist()]
    for _ in range(env.horizon):
        observation, reward, _, _, info = env.step(int(rng.integers(len(env.passes))))
        info["action_mask"] = info["action_mask"].tolist()
        seen.append((observation.tolist(), reward, info))
    return seen, Module.from_proto(env.module.to_proto()).fingerprint()


def test_episodes_are_the_same_with_and_without(tmp_path, small_benchmarks):
    known = KnownNoOps(tmp_path / "known")
    for benchmark in small_benchmarks:
        # What others did before is known, too: by other ways to the same states.
        for seed in range(3):
            _walk(benchmark, seed, known)
        for seed in (2, 3):
            assert _walk(benchmark, seed, known) == _walk(benchmark, seed, None), benchmark.name


def test_known_no_ops_are_not_run_again(small_benchmarks):
    known = KnownNoOps()
    first, again, every = PassCounter(), PassCounter(), PassCounter()
    benchmark = small_benchmarks[0]
    _walk(benchmark, 0, known, first)
    _walk(benchmark, 0, known, again)
    _walk(benchmark, 0, None, every)
    assert every.begun == first.begun
    changes = sum(step[2]["changed"] for step in _walk(benchmark, 0, known)[0][1:])  # pyright: ignore[reportIndexIssue]
    assert changes <= again.begun < first.begun / 2


def test_a_pass_that_fails_is_run_again_for_its_message():
    known = KnownNoOps()
    padder = hlograph.passes.index("dynamic_padder")
    for _ in range(2):
        env = PassOrderingEnv(
            Module.from_text(DYNAMIC), observation="op_counts", known=known, horizon=1
        )
        env.reset()
        assert env.step(padder)[4]["error"]


def test_a_change_that_leaves_the_fingerprint_is_run_again():
    module = Module.from_text(COUNTED_LOOP)
    annotate = hlograph.passes["while-loop-trip-count-annotator"]
    module.run(annotate)
    assert module.run(annotate)  # it says so each time
    known, counter = KnownNoOps(), PassCounter()
    for _ in range(2):
        env = PassOrderingEnv(
            module, observation="op_counts", known=known, recorder=counter, horizon=1
        )
        env.reset()
        assert not env.step(annotate.index)[4]["changed"]
    assert counter.begun == 2


def test_modules_for_other_numbers_of_devices_are_other_states():
    known, counter = KnownNoOps(), PassCounter()
    dce = hlograph.passes.index("dce")
    for attribute in ("", ", replica_count=2", ", num_partitions=2", ""):
        env = PassOrderingEnv(
            Module.from_text(DYNAMIC.replace("dynamic", f"dynamic{attribute}")),
            observation="op_counts",
            known=known,
            recorder=counter,
            horizon=1,
        )
        env.reset()
        assert not env.step(dce)[4]["changed"]
    assert counter.begun == 3


def test_forgetting_masks_forgets_no_known_no_ops(tiny):
    counter = PassCounter()
    env = PassOrderingEnv(tiny, observation="op_counts", known=KnownNoOps(), recorder=counter)
    pad = hlograph.passes.index("dynamic_padder")
    for _ in range(3):
        assert env.reset(seed=1)[1]["action_mask"][pad] == 1
        assert env.step(pad)[4]["action_mask"][pad] == 0
    assert counter.begun == 1


def test_a_subset_of_the_passes_shares_what_is_known(tiny):
    known, counter = KnownNoOps(), PassCounter()
    for actions in (None, ["dce", "dynamic_padder"], ["dynamic_padder"]):
        env = PassOrderingEnv(
            tiny, observation="op_counts", actions=actions, known=known, recorder=counter, horizon=1
        )
        env.reset()
        env.step([entry.name for entry in env.passes].index("dynamic_padder"))
    assert counter.begun == 1


def test_the_file_holds_no_more_than_it_may(tmp_path):
    path: Path = tmp_path / "known"
    table = KnownNoOps(path, 1 << 12)
    for state in range(1_000):
        table.add(state * 0x9E3779B97F4A7C15, 1)
    assert path.stat().st_size == 1 << 12
