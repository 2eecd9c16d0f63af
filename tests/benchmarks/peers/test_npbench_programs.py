"""Programs of a checkout in NPBench's form, and its check of outputs."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.npbench_programs import (
    NPBenchJaxWorker,
    NumpyWorker,
    programs_of_checkout,
    results_of,
)
from hlograph.errors import HloError
from tests.benchmarks.peers.checkouts import small_checkout

PLAIN = "def sums(x, y, K):\n    return y + K * x.sum(axis=1)\n"
WRONG = "import jax\n@jax.jit\ndef sums(x, y, K):\n    return y + 2 * K * x.sum(axis=1)\n"


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    """Forgets the checkout's modules after a test."""
    import sys

    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "npbench":
            del sys.modules[name]


def program_of(folder, **options):
    (program,) = programs_of_checkout(small_checkout(folder, **options), "S")
    return program


@pytest.fixture
def reference(tmp_path):
    """Returns the file of the right outputs."""
    worker = NumpyWorker(program_of(tmp_path / "right"))
    assert worker.write_outputs(str(tmp_path / "reference"))
    return str(tmp_path / "reference")


def test_only_programs_in_jax_are_taken(tmp_path):
    assert program_of(tmp_path).name == "sums"


def test_a_folder_without_programs_is_an_error(tmp_path):
    with pytest.raises(HloError, match="expected a checkout of https"):
        programs_of_checkout(tmp_path, "S")


def test_arrays_that_the_program_sets_are_outputs(reference):
    (sums,), (changed,) = pickle.loads(Path(reference).read_bytes())
    expected = 3 * np.arange(64 * 64.0).reshape(64, 64).sum(axis=1) / 64
    np.testing.assert_allclose(sums, expected)
    np.testing.assert_array_equal(changed, sums)


def test_numpy_gets_fresh_copies(tmp_path):
    worker = NumpyWorker(program_of(tmp_path))
    worker.prepared()[1][:] = 7
    assert not worker.prepared()[1].any()


@pytest.mark.parametrize("source", [None, PLAIN], ids=["static argument", "no function of jit"])
def test_the_version_in_jax_agrees(tmp_path, reference, source):
    options = {} if source is None else {"jax": source}
    worker = NPBenchJaxWorker(program_of(tmp_path / "jax", **options, name="others"))
    assert worker.compile() > 0
    assert worker.check(reference) == ""
    assert worker.seconds(2) > 0


@pytest.mark.parametrize(("factor", "agrees"), [("", True), ("2 * ", False)])
def test_results_in_another_order_agree_if_they_are_what_numpy_sets(
    tmp_path, reference, factor, agrees
):
    source = f"def sums(x, y, K):\n    return y, x, y + {factor}K * x.sum(axis=1)\n"
    name = "wrong_order" if factor else "order"
    worker = NPBenchJaxWorker(program_of(tmp_path / "jax", jax=source, name=name))
    worker.compile()
    assert (worker.check(reference) == "") == agrees


def test_wrong_outputs_are_named(tmp_path, reference):
    worker = NPBenchJaxWorker(program_of(tmp_path / "jax", jax=WRONG, name="wrong"))
    worker.compile()
    assert worker.check(reference).startswith("NPBench's check: relative error: 1")


def test_a_plan_is_found_and_carried_out(tmp_path, reference, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "cache"))
    worker = NPBenchJaxWorker(program_of(tmp_path / "jax", name="planned"))
    plan = str(tmp_path / "plan.json")
    found = worker.search(0.1, plan)
    assert found["seconds"] > 0
    worker.compile(plan, process=False)
    assert worker.check(reference) == ""


def test_results_are_a_list():
    assert results_of(None) == []
    assert results_of(1) == [1]
    assert results_of((1, 2)) == [1, 2]
