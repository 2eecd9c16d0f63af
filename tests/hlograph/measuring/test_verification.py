"""The verifier accepts rounding and nothing else; the second program of a pair is the wrong one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.runs import Run
from hlograph.measuring.samples import Samples
from hlograph.measuring.verification import Verifier
from hlograph.plans import Program, compile_program

X = np.linspace(-2, 2, 96, dtype=np.float32).reshape(8, 12)


def _lowered(function, args):
    return jax.jit(function, keep_unused=True).lower(*args)


def _runner(function, *args):
    executable = compile_program(Program.of(_lowered(function, args)))
    return lambda inputs: Run(executable, inputs).outputs()


def _checks(original, other, *args, numerics="close", thorough=True):
    program = Program.of(_lowered(original, args))
    samples = Samples(program, [np.asarray(arg) for arg in args], seed=0)
    default = _runner(original, *args)
    verifier = Verifier(program, samples, lambda name: default, numerics)
    return verifier.check(_runner(other, *args), thorough=thorough)


@pytest.mark.parametrize("numerics", ["exact", "close", "fast"])
def test_a_program_is_like_itself(numerics):
    checks = _checks(jnp.sin, jnp.sin, X, numerics=numerics)
    assert checks.accepted
    assert checks.verdict == "equal"
    assert checks.samples[:3] == ("given", "random 0", "random 1")
    assert checks.samples[3:] == (
        *("zeros", "large", "tiny", "negative", "equal", "infinities", "NaNs", "near"),
    )


def test_the_given_inputs_suffice_for_a_first_look():
    checks = _checks(jnp.sin, jnp.sin, X, thorough=False)
    assert checks.samples == ("given",)


def test_rounding_is_close_and_not_exact():
    def original(x):
        return jnp.exp(x + 1)

    def other(x):
        return jnp.exp(x) * np.float32(np.e)

    checks = _checks(original, other, X)
    assert checks.accepted
    assert checks.verdict == "close"
    refused = _checks(original, other, X, numerics="exact")
    assert not refused.accepted
    assert refused.verdict == "close"


@pytest.mark.parametrize(
    ("original", "wrong"),
    [
        (lambda x: x + 1, lambda x: x + 1.001),
        (lambda x: (x, x + 1), lambda x: (x, x)),  # the second output alone
        (lambda x: jnp.argmax(x, 1), lambda x: jnp.argmin(x, 1)),
        (lambda x: x > 0, lambda x: x < 0),
        (lambda x: x[:, :4], lambda x: x[:, 4:8]),
        (lambda x: jnp.log(x), lambda x: jnp.log(jnp.abs(x))),  # NaN in the original
    ],
)
def test_wrong_outputs_are_refused(original, wrong):
    checks = _checks(original, wrong, X)
    assert not checks.accepted
    assert checks.verdict == "different"
    assert "given inputs" in checks.reason


def test_other_shapes_types_and_numbers_of_outputs_are_refused():
    def original(x):
        return jnp.broadcast_to(x[:1], x.shape), x

    for wrong in (
        lambda x: (x[:1], x),  # numpy would broadcast it
        lambda x: (x[:1],),
        lambda x: (jnp.broadcast_to(x[:1], x.shape), x.astype(jnp.float16)),
    ):
        checks = _checks(original, wrong, X)
        assert not checks.accepted
        assert "shapes" in checks.reason


def test_a_plan_that_is_wrong_for_large_inputs_alone_is_found_by_adversarial_ones():
    def original(x):
        return jnp.logaddexp(x, 0.0)

    def naive(x):
        return jnp.log(1 + jnp.exp(jnp.minimum(x, 20.0)))

    checks = _checks(original, naive, np.abs(X), thorough=False)
    assert checks.accepted
    found = _checks(original, naive, np.abs(X))
    assert not found.accepted
    assert "large inputs" in found.reason


def test_where_the_original_is_infinite_on_adversarial_inputs_only_exact_asks():
    def original(x):
        return x / jnp.abs(x)

    def other(x):
        return jnp.where(x == 0, 0.0, x / jnp.abs(x))

    positive = np.abs(X) + 1
    checks = _checks(original, other, positive)
    assert (checks.accepted, checks.verdict) == (True, "close")
    assert _checks(original, other, positive, numerics="fast").accepted
    checks = _checks(original, other, positive, numerics="exact")
    assert not checks.accepted
    assert "zeros inputs" in checks.reason


def _distances(x, y):
    return jnp.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))


def _distances_by_dot(x, y):
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T
    return jnp.sqrt(jnp.maximum(squares, 0))


def test_cancellation_is_found_by_rows_that_are_near_each_other():
    rng = np.random.default_rng(0)
    points = [rng.standard_normal((12, 16)).astype(np.float32) for _ in range(2)]
    assert _checks(_distances, _distances_by_dot, *points, thorough=False).accepted
    checks = _checks(_distances, _distances_by_dot, *points)
    assert not checks.accepted
    assert "near inputs" in checks.reason


def test_softened_distances_may_be_products():
    rng = np.random.default_rng(0)
    points = [rng.standard_normal((12, 16)).astype(np.float32) for _ in range(2)]

    def softened(distances):
        return lambda x, y: 0.1 + distances(x, y) ** 2

    assert _checks(softened(_distances), softened(_distances_by_dot), *points).accepted


def _heads(queries, keys):  # of each head by itself
    return jnp.einsum("hd,hrd->hr", queries, keys)


def _heads_in_one_dot(queries, keys):  # of which the zeros of other heads meet their keys
    heads = queries.shape[0]
    spread = queries[:, None] * jnp.eye(heads, dtype=queries.dtype)[:, :, None]
    return spread.reshape(heads, -1) @ keys.transpose(0, 2, 1).reshape(-1, keys.shape[1])


@pytest.mark.parametrize(("value", "name"), [(np.inf, "infinities"), (None, "infinities")])
def test_an_infinity_must_not_reach_further_than_by_default(value, name):
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((4, 6)).astype(np.float32)
    keys = rng.standard_normal((4, 5, 6)).astype(np.float32)
    if value is not None:
        keys[0, 0, 0] = value
        name = "given"
    checks = _checks(_heads, _heads_in_one_dot, queries, keys)
    assert not checks.accepted
    assert f"on {name} inputs" in checks.reason


def test_a_nan_may_reach_further_unless_every_bit_is_asked_for():
    """Some reductions of jaxlib lose a NaN, and a plan that keeps it is no worse."""

    def lost(x):
        return jnp.nanmax(x, axis=1)

    def kept(x):
        return jnp.where(jnp.isnan(x).any(1), jnp.nan, jnp.nanmax(x, axis=1))

    checks = _checks(lost, kept, X)
    assert (checks.accepted, checks.verdict) == (True, "close")
    assert "infinities or NaNs" in checks.reason
    refused = _checks(lost, kept, X, numerics="exact")
    assert not refused.accepted


def test_what_a_nan_does_to_numbers_is_found():
    def original(x):
        return jnp.nanmax(x, axis=1)

    def other(x):
        return jnp.where(jnp.isnan(x).any(1), 0.5, jnp.nanmax(x, axis=1))

    checks = _checks(original, other, X)
    assert not checks.accepted
    assert "NaNs inputs" in checks.reason


def test_the_sign_of_a_zero_counts_where_it_shows():
    def original(x):
        return jnp.arctan2(x, -1.0)

    def other(x):
        return jnp.arctan2(x + 0.0 * jnp.abs(x), -1.0)

    positive = np.abs(X) + 1
    assert _checks(original, other, positive, thorough=False).accepted
    checks = _checks(original, other, positive)
    assert not checks.accepted
    assert "zeros inputs" in checks.reason


def test_samples_may_be_left_out():
    program = Program.of(_lowered(jnp.sin, (X,)))
    run = _runner(jnp.sin, X)
    asked = []

    def default(name):
        asked.append(name)
        return run

    verifier = Verifier(program, Samples(program, [X], seed=0), default, "close")
    checks = verifier.check(run, thorough=True, without={"random 1", "near"})
    assert not {"random 1", "near"} & set(checks.samples)
    assert set(asked) == set(checks.samples)


def test_a_chaotic_original_accepts_no_other_bits():
    def original(x):
        return jax.lax.fori_loop(0, 300, lambda _, c: 3.9 * c * (1 - c), x)

    def other(x):
        return jax.lax.fori_loop(0, 300, lambda _, c: 3.9 * (c - c * c), x)

    inputs = np.random.default_rng(0).uniform(0.1, 0.9, 64).astype(np.float32)
    checks = _checks(original, other, inputs)
    assert not checks.accepted
    assert checks.verdict in ("not comparable", "different")


def test_nothing_finite_is_not_comparable_but_may_be_exact():
    def nan(x):
        return jnp.log(-1 - x * x)

    assert _checks(nan, nan, X).verdict == "not comparable"
    assert not _checks(nan, nan, X).accepted
    assert _checks(nan, nan, X, numerics="exact").accepted
    assert not _checks(nan, jnp.sin, X, numerics="exact").accepted


@pytest.mark.parametrize(
    "dtype",
    ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int4", "int8", "bool", "complex64"],
)
def test_types(dtype):
    x = jnp.asarray(X).astype(dtype)
    checks = _checks(lambda x: (x, x[:, ::-1]), lambda x: (x, x[:, ::-1]), x)
    assert checks.accepted
    assert checks.verdict == "equal"
    assert not _checks(lambda x: x, lambda x: x[::-1], x).accepted


def test_programs_without_elements_outputs_or_arguments():
    assert _checks(lambda x: (x * 2, x.sum()), lambda x: (x * 3, x.sum()), X[:0]).accepted
    assert _checks(lambda x: None, lambda x: None, X).accepted
    assert _checks(lambda: jnp.arange(3), lambda: jnp.arange(3)).accepted
    assert not _checks(lambda: jnp.arange(3), lambda: jnp.arange(3)[::-1]).accepted


def test_adversarial_inputs_keep_integers_types_and_shapes():
    args = (X, np.arange(8, dtype=np.int32), X.astype(jnp.bfloat16), X > 0)
    program = Program.of(jax.jit(lambda *a: a).lower(*args))
    samples = {s.name: s.inputs for s in Samples(program, args, seed=0).adversarial()}
    for inputs in samples.values():
        assert [(a.shape, a.dtype) for a in inputs] == [(a.shape, a.dtype) for a in args]
        np.testing.assert_array_equal(inputs[1], args[1])
        np.testing.assert_array_equal(inputs[3], args[3])
    assert not samples["zeros"][0].any()
    assert 0 < np.signbit(samples["zeros"][0]).sum() < X.size
    assert np.isnan(samples["NaNs"][0]).sum() == 1
    near = samples["near"][0]
    assert (np.ptp(near[::2], 0) < 0.1).all()
    assert (np.ptp(near[1::2], 0) < 0.1).all()
    assert np.abs(near[0] - near[1]).max() > 1
    assert (samples["negative"][0] <= 0).all()
    infinite = samples["infinities"][0]
    assert np.isposinf(infinite).any()
    assert np.isneginf(infinite).any()
    np.testing.assert_array_equal(samples["large"][0], X * 128)


def test_a_program_without_floats_has_no_adversarial_inputs():
    program = Program.of(jax.jit(lambda x: x + 1).lower(np.arange(8)))
    samples = Samples(program, None, seed=0)
    assert len(samples.usual) == 2
    assert not list(samples.adversarial())


def test_inputs_are_made_once_and_when_they_are_asked_for(monkeypatch):
    make, made = InputMaker.make, []

    def counted(maker, seed, sample):
        made.append(sample)
        return make(maker, seed, sample)

    monkeypatch.setattr(InputMaker, "make", counted)
    samples = Samples(Program.of(jax.jit(jnp.sin).lower(X)), None, seed=0)
    several = [*samples.usual, *samples.adversarial()]
    assert not made
    assert samples.usual[1].inputs is several[1].inputs
    assert made == [1]
    assert several[2].inputs[0].shape == X.shape
    assert made == [1, 0]
