"""Tests of the benchmarks that patterns choose, and of the results of the references."""

import fsspec
import pytest

import hlograph
from experiments.evaluate.benchmarks import (
    REFERENCES,
    held_out_benchmarks,
    load,
    measured,
    recorded,
    training_benchmarks,
)
from hlograph import HloError, corpus
from hlograph.decisions.benchmarks import resolve_benchmarks


@pytest.fixture(scope="module")
def smallest():
    return min(corpus.load(split="train"), key=lambda b: b.op_count)


def test_default_is_the_train_split_up_to_the_limit(smallest):
    names = training_benchmarks((), op_limit=1_000)
    assert names == [b.name for b in corpus.load(split="train") if b.op_count <= 1_000]
    assert smallest.name in names
    assert not set(names) & set(held_out_benchmarks(1_000_000))


def test_a_set_restricts_both():
    steps = set(corpus.load("gpt2-train").names)
    assert set(training_benchmarks((), 10**6, "gpt2-train")) <= steps
    assert set(held_out_benchmarks(10**6, corpus_set="gpt2-train")) <= steps


def test_a_few_held_out_benchmarks_are_of_all_families():
    everything = held_out_benchmarks(2_000)
    families = {name.split("/")[0] for name in everything}
    few = held_out_benchmarks(2_000, count=len(families))
    assert {name.split("/")[0] for name in few} == families
    assert len(few) == len(families)
    assert held_out_benchmarks(2_000, count=10**6) == everything == sorted(everything)
    assert set(few) < set(held_out_benchmarks(2_000, count=len(families) + 3))


def test_a_folder_is_trained_on(smallest, tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.hlo").write_text(load(smallest.name).to_text())
    # Both files hold the same module.
    assert training_benchmarks((str(tmp_path),), op_limit=1) == [str(tmp_path / "0.hlo")]


def test_names_globs_and_paths(smallest, tmp_path):
    path = tmp_path / "own.hlo"
    path.write_text(load(smallest.name).to_text())
    family = f"{smallest.family}/*"
    found = training_benchmarks((smallest.name, family, str(path)), op_limit=10**9)
    assert found[0] == smallest.name
    assert found[-1] == str(path)
    in_family = [b.name for b in corpus.load() if b.name.startswith(f"{smallest.family}/")]
    assert sorted(found[:-1]) == sorted(in_family)
    assert load(str(path)).fingerprint() == smallest.fingerprint


def test_what_matches_nothing_is_refused(smallest):
    with pytest.raises(ValueError, match="'no/such/thing' is no benchmark"):
        training_benchmarks(("no/such/thing",), op_limit=1_000)
    with pytest.raises(ValueError, match="at most 1 instructions"):
        training_benchmarks((smallest.name,), op_limit=1)


def test_references_are_those_of_the_pipelines(smallest, tmp_path):
    path = tmp_path / "own.hlo"
    path.write_text(load(smallest.name).to_text())
    known = recorded([smallest.name, str(path)])
    assert list(known) == [smallest.name]
    reference = known[smallest.name]
    assert reference == measured(str(path))
    assert reference.start == smallest.op_count
    assert set(reference.after) == set(REFERENCES)
    for name in REFERENCES:
        module = smallest.load()
        module.run(hlograph.pipelines[name])
        assert reference.after[name] == module.op_count


def test_urls_of_files_and_folders(smallest):
    text = load(smallest.name).to_text().encode()
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe({"/own/a.hlo": text, "/own/b.hlo": text})
    file = "memory://own/b.hlo"
    # Both files hold the same module.
    assert training_benchmarks((file, "memory://own"), op_limit=1) == [file, "memory://own/a.hlo"]
    assert load(file).fingerprint() == smallest.fingerprint
    (named,) = resolve_benchmarks(file)
    assert named.name == file
    filesystem.rm("/own", recursive=True)
    with pytest.raises(HloError, match="no HLO modules in 'memory://own'"):
        training_benchmarks(("memory://own",), op_limit=1)
