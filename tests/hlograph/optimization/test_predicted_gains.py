"""What values of knobs are predicted to bring to a program, by what they bring to its kernels."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.optimization.predicted_gains import PredictedGains
from hlograph.plans import Program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.instruction_knobs import PlaceKnobs
from hlograph.plans.knobs import flag_knobs
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_trees import KernelTrees
from hlograph.profiling.optimized_module import OptimizedModule


def program_of(x):
    """Returns a product, a loop whose steps are kernels of their own, and a sum."""
    looped = jax.lax.fori_loop(0, 9, lambda _, y: jnp.tanh(y @ x), x)
    return jnp.sin(looped).sum(axis=0), jnp.linalg.norm(x @ x)


@pytest.fixture(scope="module")
def places():
    lowered = jax.jit(program_of).lower(jnp.ones((128, 128), jnp.float32))
    return PlaceKnobs(optimized_module(Program.of(lowered)))


@pytest.fixture
def predicted(places, monkeypatch):
    """Knobs of a version whose kernels take equal time, each twice as fast by whatever value."""

    def gains(_, kernels, decisions):
        return np.full((len(kernels), len(decisions)), 2.0)

    monkeypatch.setattr(KernelTrees, "gains", gains)
    module = OptimizedModule.from_proto(places.proto)
    kernels = [each.name for each in kernel_modules(module) if each.text.startswith("HloModule")]
    shares = dict.fromkeys(kernels, 0.8 / len(kernels))
    knobs = [*flag_knobs(["dot"], None, "close"), *places.knobs(None)]
    found = PredictedGains()(knobs, module, shares, places.decided)
    return {knob.name: knob for knob in found}, len(kernels)


def test_a_flag_is_about_all_kernels(predicted):
    knob = predicted[0]["flags xla_cpu_prefer_vector_width"]
    assert knob.gains == pytest.approx([-math.log(1 - 0.4)] * len(knob.values))


def test_a_decision_about_a_place_is_about_its_kernels(predicted, places):
    knobs, kernels = predicted
    gains = [
        (knob.gain_of(value), len(decision.places))
        for name, values in places.decided.items()
        for value, decision in values.items()
        if value.startswith("library") and (knob := knobs[name])
    ]
    assert gains
    for gain, number in gains:
        assert gain == pytest.approx(-math.log(1 - 0.4 * number / kernels))


def test_nothing_is_predicted_of_joining_kernels(predicted, places):
    values = [(name, value) for name, of_name in places.decided.items() for value in of_name]
    joining = [pair for pair in values if pair[1].startswith(("fuse", "one-kernel"))]
    assert joining
    assert all(predicted[0][name].gain_of(value) is None for name, value in joining)
