"""Trees that predict kernels: sums of leaves, files, and those that come with hlograph."""

import copy
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from hlograph.corpus import kernel_times
from hlograph.errors import DamagedFileError, HloParseError
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import RatedKernels
from hlograph.profiling.kernel_trees import (
    KernelTrees,
    KernelTreeWeights,
    Trees,
    TreeSum,
    feature_names,
    features_of,
    log_rated,
    shipped_trees,
)
from tests.hlograph.profiling.kernel_texts import modules, texts

__all__ = ["texts"]

SMALL = Trees(
    np.array([0, 1], np.int32),
    np.array([0.5, 2.0]),
    np.array([[~0, 1], [~1, ~2]], np.int32),
    np.array([1.0, 10.0, 100.0, 0.25]),
    np.array([0, ~3], np.int32),
)
"""A tree of three leaves, and one that is a leaf."""


@pytest.fixture(scope="module")
def trees():
    return KernelTrees.load()


def test_leaves_are_added_up():
    rows = np.array([[0.5, 9.0], [0.6, 2.0], [0.6, 2.1]])
    assert TreeSum(SMALL, 2)(rows).tolist() == [1.25, 10.25, 100.25]
    with pytest.raises(ValueError, match="features"):
        TreeSum(SMALL, 2)(rows[:, :1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"children": np.array([[0, 1], [~1, ~2]], np.int32)},  # a branch that is its own child
        {"children": np.array([[~0, 2], [~1, ~2]], np.int32)},
        {"children": np.array([[~0, 1], [~1, ~4]], np.int32)},
        {"roots": np.array([2], np.int32)},
        {"feature": np.array([0, 2], np.int32)},
        {"threshold": np.array([0.5])},
    ],
)
def test_what_is_no_tree_is_refused(wrong):
    with pytest.raises(ValueError, match=r"tree|branch"):
        TreeSum(SMALL._replace(**wrong), 2)


def test_sums_are_those_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    from experiments.cost_model.trees import trees_of

    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 4)).astype(np.float32).astype(np.float64)
    target = rows[:, 0] * rows[:, 1] + np.abs(rows[:, 2])
    settings = {"num_leaves": 15, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(rows, target), 30)
    found = TreeSum(trees_of(booster), 4)(rows)
    np.testing.assert_allclose(found, booster.predict(rows), rtol=1e-12, atol=1e-12)


def test_features_are_named_and_hold_the_seconds_by_rates(texts):
    features = features_of(texts)
    assert features.shape == (len(texts), len(feature_names()))
    rated = RatedKernels(alone=True)(modules(texts), {}).kernels
    own = [text.startswith("HloModule") for text in texts]
    np.testing.assert_allclose(np.exp(log_rated(features))[own], np.array(rated)[own], rtol=1e-3)
    dots = features[:, feature_names().index("dot")]
    assert [count > 0 for count in dots] == [" dot(" in text for text in texts]


def test_seconds_of_kernels_are_nearer_to_the_measured_ones_than_those_of_rates(trees):
    times = kernel_times.load("validation")
    rated = RatedKernels(alone=True)
    errors = {trees: [], rated: []}
    for kernel in times.measured[::5]:
        default = kernel.variants[0]
        of_kernel = [KernelModule("", times.kernels[k.number], k.calls) for k in default.kernels]
        for predict, found in errors.items():
            seconds = sum(predict(of_kernel, {}).kernels)
            found.append(abs(math.log(seconds / default.seconds)))
    assert np.median(errors[trees]) < np.median(errors[rated])


def test_gains_of_kernels_of_other_families_are_told(trees):
    times = kernel_times.load("validation")
    predicted, measured = [], []
    for kernel in times.measured[::5]:
        default, *others = kernel.variants
        if len(default.kernels) != 1 or not others:
            continue
        module = KernelModule("", times.kernels[default.kernels[0].number], 1.0)
        gains = trees.gains(module, [variant.decisions for variant in others])
        predicted += np.log(gains).tolist()
        measured += [math.log(default.seconds / variant.seconds) for variant in others]
    assert np.corrcoef(predicted, measured)[0, 1] > 0.5


def test_a_plan_takes_what_its_kernels_take(trees, texts):
    once, often = trees(modules(texts), {}), trees(modules(texts, calls=10.0), {})
    outside = once.seconds - sum(once.kernels)
    assert 0 < outside < 1e-3
    assert often.kernels == pytest.approx([10 * seconds for seconds in once.kernels])
    assert trees((), {}).seconds == pytest.approx(outside)
    for text, seconds in zip(texts[:5], once.kernels, strict=False):
        assert KernelTrees.load()(modules([text]), {}).kernels == (seconds,)
    (module,) = modules(texts[:1])
    assert trees.gains(module, []) == []
    assert len(trees.gains(module, [{}, {"flags unknown": "1"}])) == 2


def test_other_texts_are_refused(trees):
    with pytest.raises(HloParseError):
        trees(modules(["HloModule something else"]), {})


def test_saved_and_copied_trees_predict_the_same(trees, texts, tmp_path):
    path = tmp_path / "trees.weights"
    trees.weights.save(path)
    expected = trees(modules(texts), {})
    assert KernelTrees.load(path)(modules(texts), {}) == expected
    assert copy.deepcopy(trees)(modules(texts), {}) == expected
    assert KernelTreeWeights.load(path).machine == trees.weights.machine


def test_trees_of_other_features_and_damaged_files_are_refused(trees, tmp_path):
    path = tmp_path / "trees.weights"
    names = trees.weights.features
    replace(trees.weights, features=(*names[1:], names[0])).save(path)
    with pytest.raises(DamagedFileError, match="other features"):
        KernelTrees.load(path)
    replace(trees.weights, flags=trees.weights.flags[1:]).save(path)
    with pytest.raises(DamagedFileError, match="does not fit"):
        KernelTrees.load(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(DamagedFileError):
        KernelTrees.load(path)


def test_known_flags_matter(trees, texts):
    usual = trees(modules(texts), {}).kernels
    assert trees(modules(texts), {"xla_cpu_prefer_vector_width": 512}).kernels != usual
    assert trees(modules(texts), {"unknown": 1}).kernels == usual


def test_a_loop_of_other_kernels_takes_little(trees):
    assert 0 < trees([KernelModule("while", "while", 1.0)], {}).kernels[0] < 1e-4


def test_threads_share_trees(trees, texts):
    shared = KernelTrees(trees.weights)
    plans = [modules(texts[first:]) for first in range(0, 60, 10)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda plan: shared(plan, {}), plans))
    assert found == [trees(plan, {}) for plan in plans]
    assert shipped_trees() is shipped_trees()


PREDICT = """
import sys
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_trees import KernelTrees
KernelTrees.load()([KernelModule("k", sys.argv[1], 1.0)], {})
used = ("torch", "jax", "tensorflow", "lightgbm")
print([name for name in sys.modules if name.split(".")[0] in used])
"""


def test_they_need_neither_torch_nor_jax_nor_lightgbm(texts):
    command = [sys.executable, "-c", PREDICT, texts[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
