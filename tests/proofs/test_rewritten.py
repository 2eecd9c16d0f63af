"""Formulas of instructions, beside what XLA's evaluator computes."""

import numpy as np
import z3

import hlograph
from hlograph._native import native
from tests.proofs.instructions import Program
from tests.proofs.rewritten import Meaning, as_float, bits_of, total_order

_FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.5, 1e-42, -1e-42, 3.4e38, np.inf, -np.inf, np.nan, -np.nan, 7.0],
    np.float32,
)
_KEYS = """HloModule keys
ENTRY main {
  x = f32[12] parameter(0)
  y = f32[12] reverse(x), dimensions={0}
  bits = s32[12] bitcast-convert(x)
  zero = s32[] constant(0)
  zeros = s32[12] broadcast(zero), dimensions={}
  is_negative = pred[12] compare(bits, zeros), direction=LT
  most = s32[] constant(2147483647)
  mosts = s32[12] broadcast(most), dimensions={}
  inverted = s32[12] subtract(mosts, bits)
  key = s32[12] select(is_negative, inverted, bits)
  wide = s64[12] convert(key)
  half = s64[] constant(32)
  halves = s64[12] broadcast(half), dimensions={}
  upper = s64[12] shift-left(wide, halves)
  back = s64[12] shift-right-arithmetic(upper, halves)
  narrow = s16[12] convert(back)
  not = s32[12] not(key)
  least = s32[12] minimum(key, not)
  total = pred[12] compare(x, y), direction=LT, type=TOTALORDER
  partial = pred[12] compare(x, y), direction=LT
  differs = pred[12] compare(x, x), direction=NE
  ROOT result = (s32[12], s64[12], s64[12], s16[12], s32[12], pred[12], pred[12], pred[12]) \
tuple(key, upper, back, narrow, least, total, partial, differs)
}"""


def test_formulas_have_the_values_of_the_evaluator():
    module = hlograph.Module.from_text(_KEYS)
    outputs = native().evaluate(module._native, [_FLOATS.tobytes()], 60.0)
    program = Program.from_text(module.to_text()).main
    types = (np.int32, np.int64, np.int64, np.int16, np.int32, bool, bool, bool)
    columns = [np.frombuffer(each, type) for each, type in zip(outputs, types, strict=True)]
    bits = _FLOATS.view(np.uint32)
    for place in range(len(_FLOATS)):
        known = {
            name: z3.BitVecVal(int(each[place]), 32)
            for name, each in (("x", bits), ("y", bits[::-1]))
        }
        meaning = Meaning(program, known)
        for name, column in zip(program.instructions[program.root].operands, columns, strict=True):
            value = z3.simplify(meaning.of(name))
            number = z3.is_true(value) if z3.is_bool(value) else value.as_signed_long()
            assert number == column[place], (name, _FLOATS[place])


def test_the_total_order_is_that_of_numbers_and_of_signs_of_zeros():
    a, b = z3.BitVecs("a b", 32)
    x, y = as_float(a, "f32"), as_float(b, "f32")
    solver = z3.Solver()
    less = total_order(a, "f32") < total_order(b, "f32")
    numbers = z3.Not(z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y)))
    both_zero = z3.And(z3.fpIsZero(x), z3.fpIsZero(y))
    expected = z3.If(both_zero, z3.And(z3.fpIsNegative(x), z3.fpIsPositive(y)), z3.fpLT(x, y))
    solver.add(numbers, less != expected)
    assert solver.check() == z3.unsat


def test_constants_have_the_bits_of_their_type():
    for type, value, expected in (
        ("f32", float("nan"), 0x7FC00000),
        ("f16", float("nan"), 0x7E00),
        ("bf16", float("nan"), 0x7FC0),
        ("f64", -0.0, 1 << 63),
        ("bf16", 1.0, 0x3F80),
    ):
        assert z3.simplify(bits_of(value, type)).as_long() == expected
