"""The shipped corpus as its users see it."""

import shutil

import pytest

from hlograph import HloError, HloParseError, UnknownNameError, corpus
from hlograph.corpus import shipped

SMALL_SETS = ("gpt2-train", "diverse")
SMALL_SPLITS = ("train", "validation", "test-seen", "test-unseen")
SPEED_SPLITS = ("train", "validation", "test")


def test_sets_and_splits_divide_the_corpus():
    everything = corpus.load()
    parts = [corpus.load(name, split) for name in SMALL_SETS for split in SMALL_SPLITS]
    assert all(parts)
    assert sorted(name for part in parts for name in part.names) == everything.names
    for name in corpus.SETS:
        assert {b.set for b in corpus.load(name)} == {name}
    for split in SMALL_SPLITS:
        assert {b.split for b in corpus.load(split=split)} == {split}
    tests = corpus.load(split=("test-seen", "test-unseen"))
    assert len(tests) == len(corpus.load(split="test-seen")) + len(corpus.load(split="test-unseen"))


def test_the_set_of_speed_is_selected_by_its_name_only():
    speed = corpus.load("speed")
    parts = [corpus.load("speed", split) for split in SPEED_SPLITS]
    assert all(parts)
    assert sorted(name for part in parts for name in part.names) == speed.names
    assert not {b.set for b in corpus.load()} & {"speed"}
    assert corpus.load("speed", split=("train", "test")) == corpus.load("speed").filter(
        lambda b: b.split != "validation"
    )
    with pytest.raises(UnknownNameError, match="no split is called 'test-seen'"):
        corpus.load("speed", split="test-seen")
    with pytest.raises(UnknownNameError, match="no split is called 'test'"):
        corpus.load(split="test")


def test_a_program_of_the_set_of_speed_is_found_and_opens():
    benchmark = min(corpus.load("speed"), key=lambda b: b.op_count)
    assert corpus.benchmark(benchmark.name) == benchmark
    module = benchmark.load()
    assert module.op_count == benchmark.op_count
    assert module.fingerprint() == benchmark.fingerprint


def test_limit():
    small = corpus.load(max_op_count=200)
    assert 0 < len(small) < len(corpus.load())
    assert max(b.op_count for b in small) <= 200


def test_gpt2_training_steps_are_found_and_open():
    steps = corpus.load("gpt2-train", split="test-unseen")
    benchmark = min(steps, key=lambda b: b.op_count)
    module = steps[benchmark.name].load()
    assert module.op_count == benchmark.op_count
    assert module.fingerprint() == benchmark.fingerprint
    assert module.structure() == benchmark.structure
    assert corpus.benchmark(benchmark.name) == benchmark


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="did you mean 'gpt2-train"):
        corpus.load("gpt2-trai")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean 'test-unseen"):
        corpus.load(split="test-unsen")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="no benchmark is called"):
        corpus.benchmark("gpt2")


def test_manifest_columns():
    table = corpus.manifest()
    assert len(table) == len(corpus.load())
    expected = {
        *("name", "family", "library", "version", "set", "split", "op_count", "fingerprint"),
        *("structure", "op_count_xla_cpu", "op_count_xla_dump", "op_count_xla_simplify"),
    }
    assert expected <= set(table.columns)
    assert table["op_count_xla_cpu"].dtype.kind == "i"
    assert table.groupby("split")["op_count"].count().sum() == len(table)


@pytest.fixture
def manifest_alone(tmp_path, monkeypatch):
    """Returns a corpus that has a manifest and no modules."""
    shutil.copy(corpus.root() / "manifest.csv", tmp_path)
    monkeypatch.setenv("HLOGRAPH_CORPUS", str(tmp_path))
    return tmp_path


def test_a_corpus_without_the_set_of_speed(manifest_alone):
    name = corpus.load("gpt2-train")[0].name
    assert corpus.benchmark(name).name == name
    with pytest.raises(UnknownNameError, match="no benchmark is called"):
        corpus.benchmark("f/m/v")
    with pytest.raises(HloError, match=r"expected manifest\.csv there"):
        corpus.load("speed")


def test_modules_are_opened_when_they_are_asked_for(manifest_alone):
    benchmark = corpus.load("gpt2-train", split="train")[0]
    assert manifest_alone in benchmark.source.parents
    with pytest.raises(HloParseError, match="there is no file"):
        benchmark.load()


def test_a_folder_without_a_corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_CORPUS", str(tmp_path))
    with pytest.raises(HloError, match=r"expected manifest\.csv there"):
        corpus.load()


def test_a_manifest_of_another_version(manifest_alone):
    shipped._manifest.cache_clear()
    path = manifest_alone / "manifest.csv"
    path.write_text(path.read_text().replace("op_count_xla_dump", "something_else", 1))
    with pytest.raises(HloError, match="not a manifest of this version"):
        corpus.load()
    shipped._manifest.cache_clear()
