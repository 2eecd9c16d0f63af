"""Writes what a rule puts in place of a small program as formulas of z3.

So a lemma is about the instructions that the rule builds, not about a copy of their meaning. Each
instruction stands for one element of its array: broadcasts, reshapes and transposes pass it on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import z3

import hlograph
from tests.proofs.instructions import Computation, Instruction, Program
from tests.proofs.sums import Formula

FLOATS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}
"""Bits of exponents and significands, the leading one included, by type."""


@cache
def rewritten(rule: str, text: str) -> Program:
    """Returns a program after a rule was applied at the one place where it applies.

    Raises:
        AssertionError: The rule does not apply, or at several places.
    """
    module = hlograph.Module.from_text(text)
    (rewrite,) = module.rewrites([rule])
    module.apply(rewrite)
    return Program.of(module)


Operation = Callable[..., Formula]

_PASSES_ON = frozenset(("bitcast-convert", "broadcast", "opt-barrier", "reshape", "transpose"))


class Meaning:
    """The values of the instructions of a computation, as formulas.

    Args:
        computation: The computation.
        known: Values of instructions, parameters among them.
        operations: What opcodes mean, where that is not as here; called with the operands' values.
        real: True takes floating-point numbers for real ones, otherwise for their bits.
    """

    def __init__(
        self,
        computation: Computation,
        known: Mapping[str, Formula],
        operations: Mapping[str, Operation] | None = None,
        real: bool = False,
    ) -> None:
        self._computation = computation
        self._values = dict(known)
        self._operations = operations or {}
        self._real = real

    @property
    def root(self) -> Formula:
        """Value of the result."""
        return self.of(self._computation.root)

    def of(self, name: str) -> Formula:
        """Returns the value of an instruction."""
        if name not in self._values:
            instruction = self._computation.instructions[name]
            self._values[name] = self._value(instruction)
        return self._values[name]

    def _value(self, one: Instruction) -> Formula:
        if one.opcode == "constant":
            return self._constant(one)
        operands = [self.of(name) for name in one.operands]
        if one.opcode in self._operations:
            return self._operations[one.opcode](*operands)
        if one.opcode in _PASSES_ON:
            return operands[0]
        types = [self._computation.instructions[name].type for name in one.operands]
        if one.opcode == "convert":
            return _converted(operands[0], types[0], one.type)
        if one.opcode == "compare":
            return self._compared(one, operands, types[0])
        return _OPERATIONS[one.opcode](*operands)

    def _constant(self, one: Instruction) -> Formula:
        (text,) = one.operands
        if one.type == "pred":
            return z3.BoolVal(text == "true")
        if self._real and one.type in FLOATS:
            # Where numbers are real, what is not a number is any number.
            return _real(text, one.type)
        if self._real:
            return z3.IntVal(int(text))
        if one.type in FLOATS:
            return bits_of(float(text), one.type)
        return z3.BitVecVal(int(text), _width(one.type))

    def _compared(self, one: Instruction, operands: Sequence[Formula], type: str) -> Formula:
        direction = one.attributes["direction"]
        if type in FLOATS and not self._real:
            if one.attributes.get("type") == "TOTALORDER":
                operands = [total_order(value, type) for value in operands]
            else:
                operands = [as_float(value, type) for value in operands]
                return _FLOAT_COMPARISONS[direction](*operands)
        if type.startswith("u"):
            return _UNSIGNED_COMPARISONS[direction](*operands)
        return _COMPARISONS[direction](*operands)


def _real(text: str, type: str) -> Formula:
    """Returns the number that a constant of the text is rounded to."""
    if text in ("nan", "inf", "-inf"):
        return -z3.Real("inf") if text == "-inf" else z3.Real(text)
    number = np.float32(text) if type == "f32" else np.float64(text)
    return z3.Q(*float(number).as_integer_ratio())


def _width(type: str) -> int:
    return int(re.sub(r"\D", "", type))


def as_float(bits: Formula, type: str) -> Formula:
    """Returns the number of z3's floating-point theory that has these bits."""
    return z3.fpBVToFP(bits, z3.FPSort(*FLOATS[type]))


def bits_of(value: float, type: str) -> Formula:
    """Returns the bits of a number; of the usual NaN for NaN."""
    number = z3.FPVal(value, z3.FPSort(*FLOATS[type]))
    if value != value:
        exponent, significand = FLOATS[type]
        return z3.BitVecVal(((1 << (exponent + 1)) - 1) << (significand - 2), _width(type))
    return z3.simplify(z3.fpToIEEEBV(number))


def total_order(bits: Formula, type: str) -> Formula:
    """Returns an integer of two more bits that is ordered as IEEE 754's total order of numbers.

    It is the magnitude, exponent and significand together, with the sign of the number: and one
    less below zero, so that -0 comes before 0. NaNs are beyond the infinities of their sign.
    """
    width = bits.size()
    magnitude = z3.ZeroExt(3, z3.Extract(width - 2, 0, bits))
    negative = z3.Extract(width - 1, width - 1, bits) == 1
    return z3.If(negative, -magnitude - 1, magnitude)


def _converted(value: Formula, source: str, target: str) -> Formula:
    old, new = _width(source), _width(target)
    if new <= old:
        return z3.Extract(new - 1, 0, value)
    return (z3.ZeroExt if source.startswith("u") else z3.SignExt)(new - old, value)


def _select(which: Formula, yes: Formula, no: Formula) -> Formula:
    return z3.If(which, yes, no)


def _and(a: Formula, b: Formula) -> Formula:
    return z3.And(a, b) if z3.is_bool(a) else a & b


def _or(a: Formula, b: Formula) -> Formula:
    return z3.Or(a, b) if z3.is_bool(a) else a | b


_COMPARISONS: dict[str, Operation] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}
_UNSIGNED_COMPARISONS: dict[str, Operation] = _COMPARISONS | {
    "LT": z3.ULT,
    "LE": z3.ULE,
    "GT": z3.UGT,
    "GE": z3.UGE,
}
_FLOAT_COMPARISONS: dict[str, Operation] = {
    "LT": z3.fpLT,
    "LE": z3.fpLEQ,
    "GT": z3.fpGT,
    "GE": z3.fpGEQ,
    "EQ": z3.fpEQ,
    "NE": z3.fpNEQ,
}
_OPERATIONS: dict[str, Operation] = {
    "abs": lambda a: z3.If(a < 0, -a, a),
    "add": lambda a, b: a + b,
    "and": _and,
    "divide": lambda a, b: a / b,
    "maximum": lambda a, b: z3.If(a < b, b, a),
    "minimum": lambda a, b: z3.If(b < a, b, a),
    "multiply": lambda a, b: a * b,
    "negate": lambda a: -a,
    "not": lambda a: z3.Not(a) if z3.is_bool(a) else ~a,
    "or": _or,
    "select": _select,
    "shift-left": lambda a, b: a << b,
    "shift-right-arithmetic": lambda a, b: a >> b,
    "subtract": lambda a, b: a - b,
}


def meaning_of(comparator: Computation, *arguments: Any) -> Formula:
    """Returns the result of a computation of scalars, whose floating-point numbers are bits."""
    return Meaning(
        comparator, {each.name: x for each, x in zip(comparator.parameters, arguments, strict=True)}
    ).root
