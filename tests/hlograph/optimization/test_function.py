"""``hlograph.optimize`` with a plan that is given, which measures nothing."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import hlograph
from hlograph.errors import HloError, HloWarning
from hlograph.execution.runs import Run
from hlograph.optimization import of_function
from hlograph.optimization.of_function import inputs_of
from hlograph.optimization.report import Report
from hlograph.plans import Measured, Plan, PlanError, PlanRefusedError, Program, compile_program

X = jnp.arange(12.0).reshape(3, 4)
NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128})
HALF = X.astype(jnp.bfloat16)


def _with_plan(function, *args, **kwargs):
    return hlograph.optimize(function, *args, plan=NARROW, **kwargs)


def _assert_same(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.dtype, one.weak_type) == (other.dtype, other.weak_type)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (lambda x: jnp.sin(x), (X,), {}),
        (lambda p, b: {"out": p["w"] @ b, "n": None}, ({"w": X, "n": None}, X.T), {}),
        (lambda x, *, y: (x + y, y), (X,), {"y": X}),
        (lambda x, y, z: x + z, (X, X, X), {}),  # jit drops the second argument
        (lambda x, s: x * s, (HALF, 2.0), {}),
        (lambda s, n, b: (s * 2, n + 1, b), (2.0, 3, True), {}),
        (lambda k: jax.random.normal(k, (3,)), (jax.random.PRNGKey(0),), {}),
        (lambda x: (x * 2, x.sum()), (X[:0],), {}),
        (lambda x: None, (X,), {}),
        (lambda: jnp.arange(3.0), (), {}),
        (lambda x, y: (y, x, x), (X, X + 1), {}),
        (jax.vmap(lambda x: x.sum()), (X,), {}),
        (jax.grad(lambda x: jnp.tanh(x).sum()), (X,), {}),
        (lambda x: x * 1j, (X.astype(jnp.complex64),), {}),
        (lambda x: x + 1, (X.astype(jnp.int8),), {}),
        (lambda x: jnp.linalg.eigh(x.T @ x)[0], (X,), {}),
    ],
)
def test_it_returns_what_jit_returns(function, args, kwargs):
    fast = _with_plan(function, *args, **kwargs)
    assert not fast.plan.is_empty
    _assert_same(fast(*args, **kwargs), jax.jit(function)(*args, **kwargs))


def test_typed_keys():
    def keys(key):
        return jax.random.split(key), jax.random.normal(key, (3,))

    key = jax.random.key(0)
    split, normal = _with_plan(keys, key)(key)
    assert (split == jax.random.split(key)).all()
    np.testing.assert_array_equal(normal, jax.random.normal(key, (3,)))


def test_arguments_of_no_elements_of_a_gradient():
    """Takes what jax.vjp gives for integers; jax lowers it as an array of booleans."""
    zero = np.zeros((3,), jax.dtypes.float0)
    function = jax.jit(lambda zero, x: (zero, x * 2))
    lowered = function.lower(zero, X)
    first, second = inputs_of(lowered, (zero, X), {})
    np.testing.assert_array_equal(first, np.zeros(3, np.bool_))
    run = Run(compile_program(Program.of(lowered)), [first, second])
    np.testing.assert_array_equal(run.outputs()[1], X * 2)
    _assert_same(_with_plan(function, zero, X)(zero, X)[1], X * 2)


def test_donated_arguments():
    fast = _with_plan(jax.jit(lambda x, y: (x + 1, y), donate_argnums=0), X, X)
    given = X + 0
    np.testing.assert_array_equal(fast(given, X)[0], X + 1)
    assert given.is_deleted()
    assert not X.is_deleted()


@pytest.mark.parametrize(
    ("example", "other"), [(2.0, np.float32(2)), (2.0, jnp.float32(2)), (np.float32(2), 2.0)]
)
def test_a_number_in_place_of_an_array_has_the_type_that_jit_gives_it(example, other):
    def scaled(x, s):
        return x * s

    fast = _with_plan(scaled, HALF, example)
    with pytest.warns(UserWarning, match="other shapes or types"):
        found = fast(HALF, other)
    assert found.dtype == jax.jit(scaled)(HALF, other).dtype


def test_other_calls_run_as_jit_and_a_warning_says_so_once():
    fast = _with_plan(lambda x: jnp.sin(x).sum(), X)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for other in (X[0], X.astype(jnp.int32), np.ones((5, 5), np.float64)):
            np.testing.assert_allclose(fast(other), jnp.sin(other).sum(), rtol=1e-6)
        np.testing.assert_allclose(jax.grad(fast)(X), jnp.cos(X), rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(fast)(X), jnp.sin(X).sum(1), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(fast)(X), jnp.sin(X).sum(), rtol=1e-6)
        hlograph.optimize(lambda x: fast(x) + 1, X, plan=NARROW)(X)
    assert ["said once" in str(warning.message) for warning in found] == [True]


def _placed(how):
    device = jax.devices()[0]
    whole = NamedSharding(Mesh([device], "a"), PartitionSpec())
    return {
        "committed": (jax.jit(jnp.sin), jax.device_put(X, device)),
        "named sharding": (jax.jit(jnp.sin), jax.device_put(X, whole)),
        "sharding of jit": (jax.jit(jnp.sin, in_shardings=whole), X),
        "key": (jax.jit(jax.random.normal), jax.device_put(jax.random.key(0), device)),
    }[how]


@pytest.mark.parametrize("how", ["committed", "named sharding", "sharding of jit", "key"])
def test_arguments_that_are_bound_to_the_device(how):
    """Their shardings name a mesh, which a module after passes must have, too."""
    function, argument = _placed(how)
    fast = hlograph.optimize(function, argument, plan=Plan(steps=("dce",)))
    _assert_same(fast(argument), function(argument))


def test_deleted_arguments_are_no_other_arguments():
    fast = hlograph.optimize(jax.jit(lambda x: x + 1, donate_argnums=0), X, plan=NARROW)
    given = jnp.array(X)
    fast(given)
    assert given.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, RuntimeError), match="deleted"):
            fast(given)


def test_a_call_under_a_transformation_of_jax_is_refused():
    with pytest.raises(HloError, match="that jax is tracing"):
        jax.jit(lambda x: hlograph.optimize(jnp.sin, x, plan=NARROW)(x))(X)


def test_reports_of_given_plans():
    assert "by the given plan" in str(_with_plan(jnp.sin, X).report)
    assert "store" not in str(hlograph.optimize(jnp.sin, X, plan=Plan()).report)
    with pytest.raises(PlanError, match="expected numerics of exact"):
        _with_plan(jnp.sin, X, numerics="bitwise")


def test_the_empty_plan_is_jit():
    fast = hlograph.optimize(jnp.sin, X, plan=Plan())
    assert fast.plan.is_empty
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fast(X), jax.jit(jnp.sin)(X))
        fast(X[0])  # as jit, there is nothing to warn of


def test_shapes_and_lowerings():
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
    np.testing.assert_allclose(_with_plan(jnp.sin, shape)(X), jnp.sin(X), rtol=1e-6)
    fast = _with_plan(jax.jit(jnp.sin).lower(shape))
    np.testing.assert_allclose(fast(X), jnp.sin(X), rtol=1e-6)
    with pytest.raises(HloError, match="lowering for other arguments"):
        fast(X[0])
    _with_plan(jax.jit(jnp.sin).lower(shape), X)
    with pytest.raises(HloError, match="expected an argument of shape"):
        _with_plan(jax.jit(jnp.sin).lower(shape), X[0])


def test_what_cannot_be_optimized():
    with pytest.raises(HloError, match="static"):
        _with_plan(jax.jit(lambda x, n: x * n, static_argnums=1), X, 3)
    with pytest.raises(HloError, match="callbacks"):
        _with_plan(lambda x: jax.pure_callback(np.sin, x, x), X)
    with pytest.raises(HloError, match="callbacks"):
        _with_plan(lambda x: jax.debug.print("{}", x), X)
    for wrong in ("f", None):
        with pytest.raises(HloError, match="expected a function"):
            _with_plan(wrong, X)
    with pytest.raises(PlanError, match="numerics"):
        hlograph.optimize(jnp.sin, X, numerics="nearly")
    for budget in (0, -1, float("nan"), "60", True):
        with pytest.raises(HloError, match="budget"):
            hlograph.optimize(jnp.sin, X, budget=budget)


def test_plans_from_files(tmp_path):
    fast = _with_plan(jnp.sin, X)
    path = tmp_path / "sin.plan.json"
    fast.plan.save(path)
    np.testing.assert_array_equal(hlograph.optimize(jnp.sin, X, plan=path)(X), fast(X))
    assert hlograph.optimize(jnp.sin, X, plan=str(path)).plan.flags == NARROW.flags
    with pytest.raises(PlanError, match="cannot read"):
        hlograph.optimize(jnp.sin, X, plan=tmp_path / "none.json")


def test_plans_of_other_programs_machines_and_classes_are_refused():
    measured = NARROW.measured_at(Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 60))
    assert measured.machine is not None
    elsewhere = replace(measured, machine=replace(measured.machine, jaxlib="0.0.1"))
    for plan, words in (
        (elsewhere, "measured elsewhere: jaxlib"),
        (replace(NARROW, fingerprint="of another"), "fingerprint of another"),
        (Plan(flags={"xla_cpu_enable_fast_math": True}), "numerics='fast'"),
        (replace(NARROW, numerics="fast"), "numerics='fast'"),
    ):
        with pytest.raises(PlanRefusedError, match=words):
            hlograph.optimize(jnp.sin, X, plan=plan)
    hlograph.optimize(jnp.sin, X, plan=measured)
    hlograph.optimize(jnp.sin, X, plan=replace(NARROW, numerics="fast"), numerics="fast")


def test_a_winner_that_cannot_be_carried_out_here_leaves_the_default(monkeypatch):
    def found(job, settings):
        return Report(job.program.name, NARROW, "faster", "close")

    def refuse(lowered, plan):
        raise PlanError("its placements fit another module")

    monkeypatch.setattr(of_function, "optimize_program", found)
    monkeypatch.setattr(of_function, "compile_lowered", refuse)
    with pytest.warns(HloWarning, match="a plan was found that cannot be carried out here"):
        fast = hlograph.optimize(jnp.sin, X)
    assert fast.plan.is_empty
    np.testing.assert_array_equal(fast(X), jax.jit(jnp.sin)(X))
