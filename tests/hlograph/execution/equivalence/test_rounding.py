"""The bound on what rounding changes follows from operation counts, and holds for sums."""

import math

import numpy as np
import pytest

from hlograph import Module
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.rounding import RoundingCount, rounding_count, trip_count
from tests.hlograph.samples import WHILE

UNIT = 2.0**-24


def count_of(body: str, computations: str = "") -> RoundingCount:
    module = Module.from_text(f"HloModule m\n{computations}ENTRY e {{\n{body}\n}}")
    return rounding_count(Flow(module.graph()))


X = "x = f32[8,4] parameter(0)\n"
ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
"""
SUM = X + "zero = f32[] constant(0)\nROOT r = f32[8] reduce(x, zero), dimensions={1}, to_apply=add"


@pytest.mark.parametrize(
    ("body", "roundings", "inputs"),
    [
        ("ROOT r = f32[8,4] negate(x)", 0, 1),
        ("ROOT r = f32[8,4] add(x, x)", 1, 2),
        ("y = f32[8,4] add(x, x)\n ROOT r = f32[8,4] multiply(y, y)", 3, 4),
        ("ROOT r = f32[8,4] divide(x, x)", 2, 2),
        (
            "y = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
            "ROOT r = f32[8,8] add(y, y)",
            6,
            16,
        ),
    ],
)
def test_roundings_along_a_path_and_the_inputs_of_an_element(body, roundings, inputs):
    count = count_of(X + body)
    assert count.worst == pytest.approx(roundings * UNIT)
    assert count.inputs == inputs


def test_a_greatest_element_is_not_rounded():
    count = count_of(SUM.replace("to_apply=add", "to_apply=most"), ADD.replace("add", "most", 1))
    assert count.worst == 4 * UNIT
    most = ADD.replace("add", "most", 1).replace("add(", "maximum(")
    assert count_of(SUM.replace("to_apply=add", "to_apply=most"), most).worst == 0.0


def test_loops_multiply_rounding_errors():
    flow = Flow(Module.from_text(WHILE).graph())
    assert trip_count(flow, flow.opcodes.index("while")) == 10
    count = rounding_count(flow)
    assert count.variance == pytest.approx(10 * UNIT**2)
    assert math.isinf(count.worst)  # what goes around may be multiplied


def test_few_roundings_have_the_worst_case_and_many_a_likely_one():
    few = RoundingCount(2 * UNIT**2, 2 * UNIT, 1.0, 100).bound()
    assert few.tolerance(1.0, 1.0) == pytest.approx(8 * UNIT)
    terms = 10_000
    many = RoundingCount(terms * UNIT**2, terms * UNIT, 1.0, 100).bound()
    assert many.tolerance(1.0, 1.0) == 2 * many.likely < 0.2 * many.worst


def test_no_worst_case_where_the_roundings_have_no_known_number():
    bound = RoundingCount(UNIT**2, math.inf, 1.0, 1).bound()
    assert bound.tolerance(1.0, 0.0) == bound.likely
    assert RoundingCount(UNIT**2, 1.0, math.inf, 1).bound().tolerance(1.0, 0.0) > 0


def test_the_bound_counts_the_operations_of_both_modules():
    short, long = (RoundingCount(n * UNIT**2, n * UNIT, 1.0, 1) for n in (1, 9))
    assert short.bound(long).worst == pytest.approx(10 * UNIT)
    assert short.bound(long) == long.bound(short)


@pytest.mark.parametrize("terms", [4, 10, 1000])
def test_sums_in_another_order_differ_by_less_than_the_bound(terms):
    body = SUM.replace("8,4", f"300,{terms}").replace("f32[8]", "f32[300]")
    bound = count_of(body, ADD).bound()
    rng = np.random.default_rng(terms)
    x = rng.standard_normal((300, terms)).astype(np.float32)
    in_order = np.cumsum(x, axis=1)[:, -1].astype(np.float64)
    other = np.cumsum(x[:, ::-1], axis=1)[:, -1].astype(np.float64)
    sizes = np.sqrt(np.sum(np.square(x.astype(np.float64)), axis=1))
    shares = [
        apart / bound.tolerance(abs(total), size)
        for apart, total, size in zip(abs(in_order - other), in_order, sizes, strict=True)
    ]
    assert 0 < max(shares) < 1


@pytest.mark.parametrize(
    ("wrong", "verdict"),
    [("0.10000001", "close"), ("0.1000001", "different"), ("0.1001", "different")],
)
def test_a_small_error_in_a_small_program_is_found(wrong, verdict):
    text = "HloModule m\nENTRY e {\n x = f32[64] parameter(0)\n c = f32[] constant(0.1)\n"
    text += " y = f32[64] broadcast(c), dimensions={}\n ROOT r = f32[64] multiply(x, y)\n}"
    original, other = Module.from_text(text), Module.from_text(text.replace("0.1", wrong))
    assert original.equivalent_to(other, engines=("evaluator",)).verdict == verdict
