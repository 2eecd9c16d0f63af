"""Functions of programs: in JAX, of the corpus, and in PyTorch."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.peers.function_workers import (
    NoVersionError,
    TorchWorker,
    corpus_function,
    flat_function,
)
from benchmarks.peers.references import ModuleReference
from hlograph.errors import HloError

TWIN = "cumulative-sum/rows/b16-n8192"


def test_a_function_of_the_corpus_is_the_module(tmp_path):
    reference = ModuleReference("sorting/ranks/n4096-d16", str(tmp_path))
    function, abstract = corpus_function("sorting/ranks/n4096-d16")
    inputs = pickle.loads((tmp_path / "inputs.pickle").read_bytes())
    outputs = [np.asarray(value) for value in flat_function(function, abstract)(*inputs)]
    assert reference.judge(outputs) == ""


def test_a_module_of_another_library_has_no_function():
    with pytest.raises(HloError, match="takes a function in JAX"):
        corpus_function("swin/keras-hub-w48-d2x2-112px/train-adamw-b2")


def test_arguments_that_jax_drops_are_left_out():
    abstract = ({"a": jax.ShapeDtypeStruct((3,), jnp.float32)}, jax.ShapeDtypeStruct((2,), int))
    function = flat_function(lambda tree, unused: (tree["a"] + 1, tree["a"]), abstract)
    first, second = function(jnp.ones(3))
    np.testing.assert_array_equal(first, 2)
    np.testing.assert_array_equal(second, 1)


def test_the_version_in_pytorch_agrees(tmp_path):
    reference = ModuleReference(TWIN, str(tmp_path))
    worker = TorchWorker(str(tmp_path), TWIN, compiled=False, threads=1)
    assert worker.compile() > 0
    assert reference.judge(worker.outputs()) == ""
    assert worker.seconds(1) > 0


def test_a_program_without_a_version_in_pytorch_is_not_asked_for(tmp_path):
    with pytest.raises(NoVersionError, match="no version in PyTorch"):
        TorchWorker(str(tmp_path), "sorting/ranks/n4096-d16", compiled=False, threads=1)
