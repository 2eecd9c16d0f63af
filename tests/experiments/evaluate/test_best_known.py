"""The best-known counts only ever get better, and a failed write leaves them as they were."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.evaluate import best_known
from experiments.evaluate.best_known import BestKnown
from hlograph import corpus


@pytest.fixture
def path(tmp_path):
    return tmp_path / "best_known.csv"


def _known(op_count, passes=("dce",), benchmark="a/b/c"):
    return BestKnown(benchmark, "f" * 32, op_count, "local", tuple(passes))


def test_nothing_is_known_without_a_file(path):
    assert best_known.read(path) == {}


def test_what_is_written_is_read(path):
    found = [_known(10, ("cse", "call-inliner:single-call-site")), _known(5, (), "d, e/f/g")]
    best_known.write(found, path)
    assert best_known.read(path) == {known.benchmark: known for known in found}


def test_the_better_one_is_kept(path):
    best_known.write([_known(10, ("a", "b"))], path)
    best_known.write([_known(11, ("a",))], path)
    assert best_known.read(path)["a/b/c"].op_count == 10
    best_known.write([_known(10, ("a", "b", "c"))], path)
    assert best_known.read(path)["a/b/c"].passes == ("a", "b")
    best_known.write([_known(10, ("a",)), _known(9, ("x", "y", "z"), "other")], path)
    assert best_known.read(path)["a/b/c"].passes == ("a",)
    best_known.write([_known(8, ("x", "y", "z"))], path)
    assert {k: v.op_count for k, v in best_known.read(path).items()} == {"a/b/c": 8, "other": 9}


def test_what_is_known_of_another_module_neither_blocks_nor_counts(path):
    present = next(b for b in corpus.load(split="train"))
    stale = _known(1, (), present.name)
    best_known.write([stale], path)
    assert best_known.read(path) == {present.name: stale}
    assert best_known.current(path) == {}
    own = replace(stale, fingerprint=present.fingerprint, op_count=100, passes=("dce",))
    assert own.improves(stale)
    best_known.write([own, _known(3, benchmark="no/such/module")], path)
    assert best_known.current(path) == {present.name: own}


def test_a_first_comparison_is_kept(path):
    best_known.write([_known(10)], path)
    best_known.write([replace(_known(10), verdict="close")], path)
    assert best_known.read(path)["a/b/c"].verdict == "close"
    best_known.write([_known(10), replace(_known(10), verdict="equal")], path)
    assert best_known.read(path)["a/b/c"].verdict == "close"


def test_verdicts_are_kept(path):
    found = [replace(_known(5), verdict="equal"), _known(4, benchmark="d")]
    best_known.write(found, path)
    assert {b.verdict for b in best_known.read(path).values()} == {"equal", "not compared"}
    assert path.read_text().splitlines()[1] == "a/b/c," + "f" * 32 + ",5,local,equal,dce"


def test_a_file_without_verdicts_is_read(path):
    row = "a/b/c," + "f" * 32 + ",10,local,dce cse"
    path.write_text(f"benchmark,fingerprint,op_count,method,passes\n{row}\n")
    assert best_known.read(path)["a/b/c"] == _known(10, ("dce", "cse"))
    best_known.write([], path)
    assert path.read_text().splitlines()[1].endswith(",10,local,not compared,dce cse")


def test_what_several_write_at_once_is_all_there(path, monkeypatch):
    names = [f"a/b/{number}" for number in range(6)]
    read = best_known.read

    def slow(path):
        known = read(path)
        time.sleep(0.02)  # while others would write
        return known

    monkeypatch.setattr(best_known, "read", slow)
    writers = [
        threading.Thread(target=best_known.write, args=([_known(5, benchmark=n)], path))
        for n in names
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(read(path)) == names


def test_a_failed_write_changes_nothing(path, monkeypatch):
    best_known.write([_known(10)], path)
    before = path.read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        best_known.write([_known(3)], path)
    assert path.read_bytes() == before


def test_the_counts_that_are_kept_are_of_the_corpus():
    known = best_known.current()
    benchmarks = {b.name: b for b in corpus.load()}
    for name, best in known.items():
        assert best.op_count <= benchmarks[name].op_count
    assert best_known.op_counts() == {name: best.op_count for name, best in known.items()}


def test_known_counts_are_those_of_the_records():
    name, found = next(iter(best_known.current().items()))
    assert best_known.known_of([name, "not recorded"]) == {name: found.op_count}
