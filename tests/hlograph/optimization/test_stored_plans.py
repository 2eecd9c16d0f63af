"""``hlograph.use_plans``: which executable a call runs, seen in results that fast math changes."""

import jax
import numpy as np
import pytest

import hlograph
from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization import Store
from hlograph.optimization.cache import CacheKey
from hlograph.plans import Plan, Program
from tests.hlograph.optimization.test_jit_function import FAST, X, _is_planned, _store_for


def _new_function():
    """Returns a function of ``jax.jit`` that was not compiled before."""

    def times_zero(x):
        return x * 0 + 1

    return jax.jit(times_zero)


def test_programs_with_a_plan_are_compiled_by_it(tmp_path):
    store = _store_for(tmp_path, _new_function(), X)
    function = _new_function()
    with hlograph.use_plans(store, numerics="fast") as used:
        assert _is_planned(function(X))
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(X), X + 1)
        assert not _is_planned(function(np.ones(3, np.float32) * np.inf))
    assert [plan.flags for plan in used.used] == [FAST]
    assert str(used) == "jit_times_zero: not measured"
    assert _is_planned(function(X))
    assert not _is_planned(_new_function()(X))


def test_plans_of_a_looser_class_are_not_used(tmp_path):
    store = _store_for(tmp_path, _new_function(), X)
    with hlograph.use_plans(store) as used:
        assert not _is_planned(_new_function()(X))
    assert str(used) == "no plan was used"


def test_an_exception_ends_the_block(tmp_path):
    store = _store_for(tmp_path, _new_function(), X)
    with pytest.raises(ValueError, match="from within"), hlograph.use_plans(store, numerics="fast"):
        raise ValueError("from within")
    assert not _is_planned(_new_function()(X))


@pytest.mark.parametrize(
    "plan", [{"steps": ("cse",)}, {"flags": {"xla_cpu_prefer_vector_width": 512}}]
)
def test_steps_and_flags(tmp_path, plan):
    def function(x):
        return jax.numpy.sin(x) + jax.numpy.sin(x)

    program = Program.of(jax.jit(function).lower(X))
    store = Store(tmp_path)
    key = CacheKey.of(Job(program, None, "exact"))
    store.put(key, Plan(program.name, program.fingerprint, **plan))
    expected = jax.jit(function)(X)
    jax.clear_caches()
    with hlograph.use_plans(store) as used:
        np.testing.assert_array_equal(jax.jit(function)(X), expected)
    assert len(used.used) == 1


def test_a_plan_that_cannot_be_carried_out_is_left_out(tmp_path):
    program = Program.of(_new_function().lower(X))
    store = Store(tmp_path)
    key = CacheKey.of(Job(program, None, "exact"))
    store.put(key, Plan(program.name, program.fingerprint, steps=("algebraic(no_such.1)",)))
    with hlograph.use_plans(store), pytest.warns(UserWarning, match="without its plan"):
        assert not _is_planned(_new_function()(X))


def test_a_store_that_cannot_be_listed():
    with pytest.raises(HloError, match="in a folder"), hlograph.use_plans("memory://plans"):
        pass
