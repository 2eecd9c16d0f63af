"""Predicted times by the network that comes with hlograph."""

import copy
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hlograph.corpus import plan_times
from hlograph.errors import HloError, HloParseError
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import RatedKernels
from hlograph.profiling.learned_seconds import LearnedKernels
from tests.hlograph.profiling.kernel_texts import modules, texts

__all__ = ["texts"]

WHILE = KernelModule("while", "while", 1.0)


@pytest.fixture(scope="module")
def learned():
    return LearnedKernels.load()


def test_seconds_are_nearer_to_the_measured_ones_than_those_of_rates(learned):
    times = plan_times.load("validation")
    rated = RatedKernels()
    errors = {learned: [], rated: []}
    for plan in times.plans[::50]:
        kernels = [KernelModule("", times.kernels[k.number], k.calls) for k in plan.kernels]
        for predict, found in errors.items():
            seconds = predict(kernels, plan.flags).seconds
            found.append(abs(math.log(seconds / plan.seconds)))
    assert sum(errors[learned]) < sum(errors[rated])


def test_a_plan_takes_what_its_kernels_take(learned, texts):
    once, often = learned(modules(texts), {}), learned(modules(texts, calls=10.0), {})
    assert len(once.kernels) == len(texts)
    outside = once.seconds - sum(once.kernels)
    assert 0 < outside < 1e-3
    assert often.kernels == pytest.approx([10 * seconds for seconds in once.kernels])
    assert learned([], {}).seconds == pytest.approx(outside, rel=1e-6)
    assert learned([], {}).kernels == ()


def test_a_prediction_does_not_depend_on_those_before(learned, texts):
    together = learned(modules(texts), {}).kernels
    alone = LearnedKernels.load()
    one_by_one = [alone(modules([text]), {}).kernels[0] for text in reversed(texts)]
    assert one_by_one[::-1] == pytest.approx(together, rel=1e-5)
    assert learned(modules(texts), {}).kernels == together


def test_known_flags_matter(learned, texts):
    usual = learned(modules(texts), {}).kernels
    flag, _, value = learned.weights.flags[0].partition("=")
    known = {flag: {"true": True, "false": False}.get(value, value)}
    assert learned(modules(texts), known).kernels != usual
    assert learned(modules(texts), {"unknown": 1}).kernels == usual


def test_a_loop_of_other_kernels_takes_little(learned):
    assert 0 < learned([WHILE], {}).kernels[0] < 1e-4


def test_other_texts_are_refused(learned, texts):
    new = KernelModule("other", "HloModule something else", 1.0)
    with pytest.raises(HloParseError):
        learned([*modules(texts), new], {})
    assert learned(modules(texts), {}).seconds > 0


def test_threads_share_one(texts):
    shared, alone = LearnedKernels.load(), LearnedKernels.load()
    plans = [modules(texts[first:]) for first in range(0, 60, 10)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda plan: shared(plan, {}).seconds, plans))
    assert found == pytest.approx([alone(plan, {}).seconds for plan in plans], rel=1e-5)


def test_copies_predict_the_same(learned, texts):
    copied = copy.deepcopy(learned)
    expected = learned(modules(texts), {}).seconds
    assert copied(modules(texts), {}).seconds == pytest.approx(expected, rel=1e-5)


def test_gains_need_a_model_that_learned_them(learned):
    with pytest.raises(HloError, match="gains of decisions"):
        learned.gains(WHILE, [])


PREDICT = """
import sys
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.learned_seconds import LearnedKernels
LearnedKernels.load()([KernelModule("k", sys.argv[1], 1.0)], {})
print([name for name in sys.modules if name.split(".")[0] in ("torch", "jax", "tensorflow")])
"""


def test_it_needs_neither_torch_nor_jax(texts):
    command = [sys.executable, "-c", PREDICT, texts[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
