"""Files of learned cost models."""

from dataclasses import replace

import numpy as np
import pytest

from hlograph.errors import DamagedFileError
from hlograph.profiling.learned_seconds import LearnedKernels
from hlograph.profiling.learned_weights import LearnedWeights
from hlograph.storage.checked_file import write_checked


@pytest.fixture(scope="module")
def weights():
    return LearnedKernels.load().weights


def test_a_file_holds_the_same_weights(weights, tmp_path):
    path = tmp_path / "model.weights"
    weights.save(path)
    again = LearnedWeights.load(path)
    assert again.flags == weights.flags
    assert again.outside == weights.outside
    assert again.encoder.shape == weights.encoder.shape
    for one, other in zip(again.encoder.layers, weights.encoder.layers, strict=True):
        np.testing.assert_array_equal(one.label, other.label)
        assert one.projection.epsilon == other.projection.epsilon
    np.testing.assert_array_equal(again.layers["graph"].weight, weights.layers["graph"].weight)
    other = tmp_path / "other.weights"
    again.save(other)
    assert other.read_bytes() == path.read_bytes()


def test_damaged_files_are_refused(weights, tmp_path):
    path = tmp_path / "model.weights"
    with pytest.raises(FileNotFoundError):
        LearnedKernels.load(path)
    weights.save(path)
    content = path.read_bytes()
    for damaged in (content[:-100], content[:-1] + b"x", b"", b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match=r"model\.weights"):
            LearnedKernels.load(path)


@pytest.mark.parametrize(("kind", "version"), [("rates", 1), ("cost-model", 2)])
def test_files_of_other_kinds_and_versions_are_refused(kind, version, tmp_path):
    path = tmp_path / "model.weights"
    write_checked(path, kind, version, b"")
    with pytest.raises(DamagedFileError, match="cost-model"):
        LearnedKernels.load(path)


def test_another_content_is_refused(tmp_path):
    path = tmp_path / "model.weights"
    write_checked(path, "cost-model", 1, b"no arrays")
    with pytest.raises(DamagedFileError, match="holds no cost model"):
        LearnedKernels.load(path)


@pytest.mark.parametrize("changed", [{"nodes": ("opcode", "colour")}, {"numbers": ("log_alone",)}])
def test_a_model_of_other_kernels_is_refused(weights, changed, tmp_path):
    path = tmp_path / "model.weights"
    replace(weights, **changed).save(path)
    with pytest.raises(DamagedFileError, match="does not fit"):
        LearnedKernels.load(path)
