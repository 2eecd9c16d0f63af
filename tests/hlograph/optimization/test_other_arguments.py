"""Calls with other arguments: which of them are tried, and that their results are those of jit."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.optimization import function as module
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.report import Report
from hlograph.plans import Plan, compile_lowered

X = jnp.arange(12.0).reshape(3, 4)
NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128})
SCALAR = jnp.float32(2)


def _scaled(tree, unused, scale):
    return tree["w"] * scale + tree["b"]


TREE = {"w": X, "b": X + 1}
RIGHT = (TREE, X, SCALAR)


class _Counted:
    """A compiled function that counts the calls that it gets."""

    def __init__(self, compiled):
        self._compiled, self.calls = compiled, 0
        self.in_tree, self.in_avals = compiled.in_tree, compiled.in_avals

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self._compiled(*args, **kwargs)


@pytest.fixture
def made():
    jit = jax.jit(_scaled)
    compiled = _Counted(compile_lowered(jit.lower(*RIGHT), NARROW))
    function = OptimizedFunction(jit, compiled, Report("f", NARROW, "", "close"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield function, compiled


def _tried(made, *args):
    function, compiled = made
    before = compiled.calls
    found, expected = function(*args), jax.jit(_scaled)(*args)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected)
    return compiled.calls > before


@pytest.mark.parametrize(
    "other",
    [
        ({"w": X[:2], "b": X[:2]}, X, SCALAR),
        ({"w": X, "b": X.astype(jnp.int32)}, X, SCALAR),
        ({"w": X, "b": np.ones((1, 4))}, X, SCALAR),
        ({"w": X, "b": X, "c": X}, X, SCALAR),
        (TREE, X[:2], SCALAR),  # jit drops it, and its type counts all the same
        (TREE, X, 2.0),
        (TREE, X, jnp.asarray(2.0)),
    ],
)
def test_the_next_calls_with_other_arguments_are_not_tried(made, other):
    assert _tried(made, *RIGHT)
    assert _tried(made, *other)
    for _ in range(3):
        assert not _tried(made, *other)
        assert _tried(made, *RIGHT)


def test_arguments_that_are_other_elsewhere_are_tried_once(made):
    shapes, types = (TREE, X, X), ({"w": X.astype(jnp.int32), "b": X}, X, SCALAR)
    assert _tried(made, *shapes)
    assert _tried(made, *types)
    assert not _tried(made, *types)
    assert _tried(made, *RIGHT)


def test_arguments_that_jax_takes_are_tried(made):
    assert _tried(made, TREE, X, X)
    doubles = {"w": np.asarray(X, np.float64), "b": X}  # of jax's default precision in a call
    for taken in ((doubles, X, SCALAR), (TREE, np.asarray(X), np.float32(2))):
        before = made[1].calls
        assert _tried(made, *taken)
        assert made[1].calls == before + 1


def test_calls_under_transformations_do_not_stand_in_the_way(made):
    function, _ = made
    for _ in range(2):
        gradient = jax.grad(lambda tree: function(tree, X, SCALAR).sum())(TREE)
        np.testing.assert_allclose(gradient["w"], jnp.full_like(X, 2))
    assert _tried(made, *RIGHT)


def test_right_arguments_are_not_looked_at_for_long(made, monkeypatch):
    monkeypatch.setattr(module, "_LOOKED_AT", 3)
    _tried(made, TREE, X, X)
    for _ in range(3):
        assert made[0]._expected is not None
        _tried(made, *RIGHT)
    assert made[0]._expected is None
