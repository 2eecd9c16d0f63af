"""Which benchmarks patterns choose, and what the references make of them."""

import pytest

import hlograph
from experiments.benchmarks import (
    REFERENCES,
    held_out_benchmarks,
    load,
    references,
    training_benchmarks,
)
from hlograph import corpus


@pytest.fixture(scope="module")
def smallest():
    return min(corpus.benchmarks("train"), key=lambda b: b.op_count)


def test_default_is_the_train_split_up_to_the_limit(smallest):
    names = training_benchmarks((), op_limit=1_000)
    assert names == [b.name for b in corpus.benchmarks("train") if b.op_count <= 1_000]
    assert smallest.name in names
    assert not set(names) & set(held_out_benchmarks(1_000_000))


def test_names_globs_and_paths(smallest, tmp_path):
    path = tmp_path / "own.hlo"
    path.write_text(load(smallest.name).to_text())
    family = f"{smallest.family}/*"
    found = training_benchmarks((smallest.name, family, str(path)), op_limit=10**9)
    assert found[0] == smallest.name
    assert found[-1] == str(path)
    in_family = [b.name for b in corpus.benchmarks() if b.name.startswith(f"{smallest.family}/")]
    assert sorted(found[:-1]) == sorted(in_family)
    assert load(str(path)).fingerprint() == smallest.fingerprint


def test_what_matches_nothing_is_refused(smallest):
    with pytest.raises(ValueError, match="'no/such/thing' is no benchmark"):
        training_benchmarks(("no/such/thing",), op_limit=1_000)
    with pytest.raises(ValueError, match="at most 1 instructions"):
        training_benchmarks((smallest.name,), op_limit=1)


def test_references_are_those_of_the_pipelines(smallest):
    found = references([smallest.name])[smallest.name]
    assert found.start == smallest.op_count
    assert set(found.after) == set(REFERENCES)
    for name in REFERENCES:
        module = corpus.load(smallest.name)
        module.run(hlograph.pipelines[name])
        assert found.after[name] == module.op_count
