"""Pairs of modules whose verdict is known."""

import numpy as np
import pytest

import hlograph
from hlograph import HloError, Module, VerificationError
from hlograph._native import native
from hlograph.execution.equivalence import (
    Limits,
    NotComparableError,
    OriginalModule,
    SignatureError,
)
from hlograph.execution.equivalence.engines import obstacles
from hlograph.execution.equivalence.flow import Flow

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"


def module(body: str, computations: str = "") -> Module:
    return Module.from_text(f"HloModule m\n{computations}ENTRY e {{\n{body}\n}}")


SUM = "x = f32[4096] parameter(0)\n zero = f32[] constant(0)\n"
WHOLE = SUM + "ROOT s = f32[] reduce(x, zero), dimensions={0}, to_apply=add"
# XLA:CPU splits long sums, too: those of its own making would be bitwise equal.
IN_TWO = (
    SUM
    + """a = f32[1000] slice(x), slice={[0:1000]}
    b = f32[3096] slice(x), slice={[1000:4096]}
    s = f32[] reduce(a, zero), dimensions={0}, to_apply=add
    t = f32[] reduce(b, zero), dimensions={0}, to_apply=add
    ROOT r = f32[] add(s, t)"""
)


def test_a_module_equals_itself_without_running():
    start = module(WHOLE, ADD)
    result = start.equivalent_to(start.clone())
    assert result.verdict == "equal"
    assert result
    assert result.samples == 0


@pytest.mark.parametrize("engine", ["compiled", "evaluator"])
def test_a_sum_in_another_order_is_close(engine):
    result = module(WHOLE, ADD).equivalent_to(module(IN_TWO, ADD), engines=[engine])
    assert result.verdict == "close", result
    assert result
    assert 0 < result.ulp < 64


MATH = """x = f32[8,16] parameter(0)
    w = f32[16,4] parameter(1)
    one = f32[] constant({one})
    ones = f32[8,4] broadcast(one), dimensions={{}}
    d = f32[8,4] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
    t = f32[8,4] tanh(d)
    ROOT r = f32[8,4] {last}(t, ones)"""


@pytest.mark.parametrize("engine", ["compiled", "evaluator"])
@pytest.mark.parametrize(
    ("last", "one"), [("subtract", "1"), ("add", "1.001"), ("add", "1.00001"), ("multiply", "1")]
)
def test_a_wrong_rewrite_is_different(engine, last, one):
    start = module(MATH.format(last="add", one="1"))
    result = start.equivalent_to(module(MATH.format(last=last, one=one)), engines=[engine])
    assert result.verdict == "different", result
    assert not result
    assert result.findings[0].output == 0


def test_operations_of_equal_results_are_equal():
    start = module(MATH.format(last="add", one="1"))
    other = module(MATH.format(last="subtract", one="-1"))
    result = start.equivalent_to(other)
    assert result.verdict == "equal", result
    assert [finding.engine for finding in result.findings] == ["compiled", "evaluator"]
    assert all(finding.finite == 1.0 for finding in result.findings)


SLICE = "x = f32[16] parameter(0)\n ROOT s = f32[8] slice(x), slice={{[{0}:{1}]}}"


def test_a_slice_that_is_off_by_one_is_different():
    other = module(SLICE.format(1, 9))
    assert module(SLICE.format(0, 8)).equivalent_to(other).verdict == "different"


def test_a_wrong_integer_is_different():
    text = "x = s32[16] parameter(0)\n c = s32[16] {0}(x, x)\n ROOT r = s32[16] negate(c)"
    other = module(text.format("multiply"))
    assert module(text.format("add")).equivalent_to(other).verdict == "different"


@pytest.mark.parametrize("engine", ["compiled", "evaluator"])
def test_a_nan_that_is_dropped_is_different(engine):
    # log of a difference of normal numbers is NaN in half of the places.
    text = """x = f32[32] parameter(0)
    y = f32[32] parameter(1)
    d = f32[32] subtract(x, y)
    z = f32[32] log(d)
    zero = f32[] constant(0)
    zeros = f32[32] broadcast(zero), dimensions={}
    ok = pred[32] compare(z, z), direction=EQ
    """
    kept = module(text + "ROOT r = f32[32] add(z, zeros)")
    dropped = module(text + "ROOT r = f32[32] select(ok, z, zeros)")
    result = kept.equivalent_to(dropped, engines=[engine])
    assert result.verdict == "different", result
    assert "NaN" in result.reason
    finite = kept.equivalent_to(module(text + "ROOT r = f32[32] subtract(z, zeros)")).findings
    assert 0 < finite[0].finite < 1


def test_nothing_but_nans_says_nothing():
    text = """x = f32[4] parameter(0)
    bad = f32[] constant(nan)
    nans = f32[4] broadcast(bad), dimensions={{}}
    ROOT r = f32[4] {0}(x, nans)"""
    result = module(text.format("add")).equivalent_to(module(text.format("multiply")))
    assert result.verdict == "not comparable"


def test_what_cannot_be_compared_is_neither_true_nor_false():
    text = """low = f32[] constant(0)
    high = f32[] constant({0})
    ROOT r = f32[4] rng(low, high), distribution=rng_uniform"""
    result = module(text.format(1)).equivalent_to(module(text.format(2)))
    assert result.verdict == "not comparable"
    assert "rng" in result.reason
    with pytest.raises(NotComparableError, match="rng"):
        bool(result)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("x = f32[4] parameter(0)\n ROOT r = f32[4] all-reduce(x), to_apply=add", "all-reduce"),
        ("x = f32[<=4] parameter(0)\n ROOT r = f32[<=4] negate(x)", r"f32\[<=4\]"),
        ("ROOT t = token[] after-all()", "token"),
        (
            "t = token[] after-all()\n i = (f32[4], token[]) infeed(t)\n"
            "ROOT r = f32[4] get-tuple-element(i), index=0",
            "infeed",
        ),
        (
            'x = f32[4] parameter(0)\n ROOT r = f32[4] custom-call(x), custom_call_target="mine",'
            " custom_call_has_side_effect=true",
            "mine",
        ),
    ],
)
def test_what_no_single_cpu_can_run_is_named(body, named):
    start = module(body, ADD)
    other = module(body.replace("ROOT r", "dead = f32[] constant(1)\n ROOT r"), ADD)
    if other.fingerprint() == start.fingerprint():
        other = module("unused = f32[3] constant({1, 2, 3})\n" + body, ADD)
    result = start.equivalent_to(other)
    assert result.verdict == "not comparable"
    with pytest.raises(NotComparableError, match=named):
        bool(result)


def test_other_signatures_are_an_error():
    negate = "x = f32[{0}] parameter(0)\n ROOT r = f32[{0}] negate(x)"
    with pytest.raises(SignatureError, match=r"f32\[4\].*f32\[5\]"):
        module(negate.format(4)).equivalent_to(module(negate.format(5)))


def test_what_the_verifier_rejects_is_an_error_and_not_run():
    good = module("x = f32[4] parameter(0)\n ROOT r = f32[4] negate(x)")
    bad = module("x = f32[4] parameter(0)\n y = f32[5] abs(x)\n ROOT r = f32[4] negate(x)")
    for one, other in ((good, bad), (bad, good)):
        with pytest.raises(VerificationError):
            one.equivalent_to(other)


def test_limits_are_named_with_figures():
    start, other = module(WHOLE, ADD), module(IN_TWO, ADD)
    result = start.equivalent_to(other, limits=Limits(memory=100))
    assert result.verdict == "not comparable"
    assert "limit of 100" in result.reason
    result = start.equivalent_to(other, limits=Limits(compiled_ops=1, evaluated_ops=1))
    assert result.verdict == "not comparable"
    result = start.equivalent_to(other, limits=Limits(compiled_ops=1))
    assert [finding.engine for finding in result.findings] == ["evaluator"]


LONG_REDUCE = """body {
  s = (s32[], f32[512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[512] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = f32[] constant(0)
  t = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  ts = f32[512] broadcast(t), dimensions={}
  ROOT o = (s32[], f32[512]) tuple(next, ts)
}
condition {
  s = (s32[], f32[512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100000)
  ROOT l = pred[] compare(i, n), direction=LT
}
"""


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05])
def test_the_evaluator_stops_in_time(seconds):
    """XLA aborts on an error inside a reduction, so the time is not checked inside one."""
    start = module(
        """x = f32[512] parameter(0)
        zero = s32[] constant(0)
        s = (s32[], f32[512]) tuple(zero, x)
        w = (s32[], f32[512]) while(s), condition=condition, body=body
        ROOT r = f32[512] get-tuple-element(w), index=1""",
        ADD + LONG_REDUCE,
    )
    with pytest.raises(HloError, match="longer than it may"):
        native().evaluate(start._native, [bytes(2048)], seconds)


def test_a_chaotic_module_says_so_instead_of_judging():
    # The logistic map doubles errors in every step; after 60 nothing is left.
    def orbit(step: str) -> Module:
        lines = ["x0 = f32[16] parameter(0)", "k = f32[] constant(3.99)"]
        lines += ["one = f32[] constant(1)", "ones = f32[16] broadcast(one), dimensions={}"]
        lines += ["l = f32[16] log(x0)", "ks = f32[16] broadcast(k), dimensions={}"]
        for i in range(60):
            lines += [f"d{i} = f32[16] subtract(ones, x{i})"]
            lines += [line.format(i=i) for line in step.splitlines()]
            lines += [f"x{i + 1} = f32[16] multiply(v{i}, w{i})"]
        return module("\n".join([*lines, "ROOT r = f32[16] negate(x60)"]))

    one = orbit("v{i} = f32[16] multiply(ks, x{i})\nw{i} = f32[16] copy(d{i})")
    other = orbit("v{i} = f32[16] multiply(ks, d{i})\nw{i} = f32[16] copy(x{i})")
    result = one.equivalent_to(other, engines=["evaluator"])
    assert result.verdict == "not comparable", result
    assert "chaotic" in result.reason


CUSTOM = """x = f32[8,8] parameter(0)
    a = f32[8,8] add(x, x)
    y = f32[8,8] custom-call({0}), custom_call_target="lapack_spotrf_ffi"
    ROOT r = f32[8,8] log(y)"""


def test_a_custom_call_is_taken_as_an_arbitrary_function():
    start = module(CUSTOM.format("a"))
    same = module(
        CUSTOM.format("a")
        .replace("add(x, x)", "subtract(x, n)")
        .replace("a =", "n = f32[8,8] negate(x)\n a =")
    )
    result = start.equivalent_to(same)
    assert result.verdict == "equal", result
    assert [finding.engine for finding in result.findings] == ["evaluator"]
    assert result.findings[0].finite == 1.0
    assert start.equivalent_to(module(CUSTOM.format("x"))).verdict == "different"


GATHER = """x = f32[3,5,4] parameter(0)
    i = s32[3,2] parameter(1)
    ROOT r = f32[3,5,1] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={},
      start_index_map={1,2}, operand_batching_dims={0}, start_indices_batching_dims={0},
      index_vector_dim=1, slice_sizes={1,5,1}"""


@pytest.mark.parametrize("engine", ["compiled", "evaluator"])
def test_gathers_with_batching_dimensions(engine):
    """XLA's evaluator gathers wrong elements here."""
    start = module(GATHER)
    reference = OriginalModule(start, engines=[engine])
    x, i = reference.inputs(0)
    expected = np.stack([x[b, :, [i[b, 1]]].T for b in range(3)])
    (output,) = reference._original(engine)._outputs[0]
    np.testing.assert_array_equal(output, expected)
    other = start.clone()
    assert other.run("batched_gather_scatter_normalizer")
    assert reference.compare(other).verdict == "equal"


def test_the_seed_determines_everything():
    start, other = module(WHOLE, ADD), module(IN_TWO, ADD)
    results = [start.equivalent_to(other, seed=3) for _ in range(2)]
    assert results[0] == results[1]
    assert results[0].ulp != start.equivalent_to(other, seed=4).ulp


@pytest.mark.parametrize("samples", [0, -1])
def test_no_samples_are_an_error(samples):
    start = module(WHOLE, ADD)
    with pytest.raises(ValueError, match="at least 1"):
        start.equivalent_to(start, samples=samples)


def test_unknown_engines_are_an_error():
    start = module(WHOLE, ADD)
    with pytest.raises(ValueError, match="gpu"):
        start.equivalent_to(start, engines=["gpu"])


def _compile_and_run(start: Module) -> None:
    native().Program.compile(start._native, [], True, 0).run([bytes(16)])


def test_what_xla_refuses_to_compile_is_an_error_not_an_abort():
    start = module(
        'x = f32[4] parameter(0)\n ROOT r = f32[4] custom-call(x), custom_call_target="mine"'
    )
    with pytest.raises(HloError, match="mine"):
        _compile_and_run(start)
    with pytest.raises(HloError, match="16 bytes"):
        native().evaluate(start._native, [bytes(3)], 1.0)
    with pytest.raises(HloError, match="1 arrays"):
        native().evaluate(start._native, [], 1.0)


def test_a_training_step_after_the_reference_pipeline(corpus_module):
    other = corpus_module.clone()
    other.run(hlograph.pipelines["xla-simplify"])
    result = corpus_module.equivalent_to(other, samples=1, engines=["evaluator"])
    assert result.verdict in ("equal", "close"), result
    assert result.findings[0].finite > 0.5


def test_the_evaluator_is_not_asked_what_an_empty_scatter_selects():
    text = """HloModule m
at_least {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}
add {
  c = s32[] parameter(0)
  d = s32[] parameter(1)
  ROOT s = s32[] add(c, d)
}
ENTRY e {
  x = s32[4] parameter(0)
  from = s32[%s] parameter(1)
  zero = s32[] constant(0)
  ROOT y = s32[4] select-and-scatter(x, from, zero), window={size=%s stride=2},
    select=at_least, scatter=add
}"""
    empty, other = (Flow(Module.from_text(text % sizes).graph()) for sizes in ((0, 5), (2, 2)))
    assert obstacles(other, "evaluator") == obstacles(empty, "compiled") == []
    (reason,) = obstacles(empty, "evaluator")
    assert "reads beyond" in reason
