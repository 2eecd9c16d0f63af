"""Sets of benchmarks: access by position and name, and work in threads."""

import pickle
import threading
import time

import pytest

from hlograph import UnknownNameError, corpus
from tests.tiny_module import TINY


@pytest.fixture(scope="module")
def benchmarks():
    names = [f"tiny/copy/{number}" for number in range(40)]
    return corpus.BenchmarkSet(corpus.from_source(name, TINY) for name in names)


def test_position_name_slice_and_membership(benchmarks):
    assert benchmarks[3].name == "tiny/copy/3"
    assert benchmarks["tiny/copy/3"] is benchmarks[3]
    assert benchmarks[2:4].names == ["tiny/copy/2", "tiny/copy/3"]
    assert len(benchmarks) == len(benchmarks.names) == 40
    assert "tiny/copy/3" in benchmarks
    assert benchmarks[3] in benchmarks
    assert "tiny/copy/40" not in benchmarks
    with pytest.raises(UnknownNameError, match=r"did you mean .*tiny/copy/3"):
        benchmarks["tiny/copi/3"]
    with pytest.raises(IndexError):
        benchmarks[40]


def test_sets_join_and_names_stay_unique(benchmarks):
    assert benchmarks[:2] + benchmarks[2:] == benchmarks
    with pytest.raises(ValueError, match="'tiny/copy/1' twice"):
        benchmarks[:2] + benchmarks[1:]


def test_filter(benchmarks):
    assert benchmarks.filter(lambda b: b.name.endswith("7")).names == [
        f"tiny/copy/{number}" for number in (7, 17, 27, 37)
    ]


def test_results_come_in_order_whatever_takes_long(benchmarks):
    def slow_first(benchmark):
        time.sleep(0.05 if benchmark is benchmarks[0] else 0)
        return benchmark.name

    assert list(benchmarks.map(slow_first, workers=4)) == benchmarks.names


def test_work_runs_side_by_side_and_not_far_ahead(benchmarks):
    together = threading.Barrier(3, timeout=20)
    started = []

    def meet(benchmark):
        started.append(benchmark)
        if len(started) <= 3:
            together.wait()  # Hangs, and then raises, unless three workers run at once.
        return benchmark

    results = benchmarks.map(meet, workers=3)
    assert next(results) is benchmarks[0]
    time.sleep(0.1)
    assert len(started) < len(benchmarks) // 2
    results.close()
    assert len(started) < len(benchmarks)


def test_an_error_is_raised_at_its_place(benchmarks):
    def fail_at_five(benchmark):
        if benchmark is benchmarks[5]:
            raise RuntimeError("five")
        return benchmark

    results = benchmarks.map(fail_at_five, workers=2)
    assert [next(results) for _ in range(5)] == list(benchmarks[:5])
    with pytest.raises(RuntimeError, match="five"):
        next(results)


def test_modules_are_new_each_time(benchmarks):
    pairs = list(benchmarks[:3].modules(workers=2))
    assert [benchmark for benchmark, _ in pairs] == list(benchmarks[:3])
    pairs[0][1].run("dce")
    assert benchmarks[0].load().fingerprint() == benchmarks[0].fingerprint


def test_manifest_is_a_table(benchmarks):
    table = benchmarks.manifest()
    assert list(table["name"]) == benchmarks.names
    assert set(table["op_count"]) == {8}
    assert table["op_count_xla_cpu"].isna().all()


def test_pickle(benchmarks):
    copy = pickle.loads(pickle.dumps(benchmarks))
    assert copy == benchmarks
    assert hash(copy) == hash(benchmarks)
    assert copy[0].load().fingerprint() == benchmarks[0].fingerprint
