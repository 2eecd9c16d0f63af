"""The best-known counts only ever get better, and a failed write leaves them as they were."""

from pathlib import Path

import pytest

from experiments import best_known
from experiments.best_known import BestKnown
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
    known = best_known.read()
    benchmarks = {b.name: b for b in corpus.load()}
    for name, best in known.items():
        assert best.op_count <= benchmarks[name].op_count
    assert best_known.op_counts() == {name: best.op_count for name, best in known.items()}
