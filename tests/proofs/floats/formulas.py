"""Scalar HLO as formulas over bit vectors: what an elementwise part of a module computes, exactly.

Floats are their bits. Comparisons follow IEEE 754, total-order ones the order of XLA: as integers,
with the magnitude of negative numbers reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import z3

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, dtype_of
from tests.proofs.instructions import Computation, Instruction

_MOVES = frozenset(
    {"bitcast", "broadcast", "copy", "pad", "reshape", "reverse", "slice", "transpose"}
)


def width_of(element_type: str) -> int:
    """Returns the number of bits of a real type."""
    if element_type in FLOATS:
        return 8 * dtype_of(element_type).itemsize
    return int(element_type[1:])


def formula(
    computation: Computation,
    name: str,
    values: Mapping[str, z3.ExprRef],
    *,
    flush: bool = False,
    memo: Any = None,
) -> Any:
    """Returns what an instruction computes, element by element.

    Args:
        computation: The computation.
        name: Name of the instruction, all of whose elements are computed alike.
        values: Formulas of some instructions, such as parameters; the others follow from these.
            That of element 1 of tuple ``x`` has the name ``x 1``.
        flush: True if comparisons take denormals for zeros, as code of jaxlib does.
        memo: Formulas that are known already.

    Raises:
        HloError: An instruction is not elementwise.
    """
    memo = {} if memo is None else memo

    def of(operand: str) -> Any:
        return formula(computation, operand, values, flush=flush, memo=memo)

    if name in values:
        return values[name]
    if name not in memo:
        instruction = computation.instructions.get(name)
        if instruction is None:
            raise HloError(f"expected an element that has a formula, got {name}")
        if instruction.opcode == "constant":
            memo[name] = _constant(instruction)
        elif instruction.opcode in _MOVES:
            memo[name] = of(instruction.operands[0])
        elif instruction.opcode == "get-tuple-element":
            (index,) = instruction.numbers("index")
            operand = computation.instructions[instruction.operands[0]]
            is_tuple = operand.opcode == "tuple"
            element = operand.operands[index] if is_tuple else f"{operand.name} {index}"
            memo[name] = of(element)
        elif instruction.opcode not in _OPERATIONS:
            raise HloError(
                f"expected an elementwise operation that has a formula, got {instruction}"
            )
        else:
            operands = [of(each) for each in instruction.operands]
            types = [computation.instructions[each].type for each in instruction.operands]
            memo[name] = _operation(instruction, operands, types[0] if types else "", flush=flush)
    return memo[name]


def _constant(instruction: Instruction) -> Any:
    text, element_type = instruction.operands[0], instruction.type
    if element_type == "pred":
        return z3.BoolVal(text == "true")
    width = width_of(element_type)
    if element_type not in FLOATS:
        return z3.BitVecVal(int(text), width)
    bits = np.array(float(text)).astype(dtype_of(element_type)).view(f"u{width // 8}")
    return z3.BitVecVal(int(bits), width)


def _operation(
    instruction: Instruction, operands: list[Any], element_type: str, *, flush: bool
) -> Any:
    opcode = instruction.opcode
    if opcode == "compare":
        direction = instruction.attributes["direction"]
        total = instruction.attributes.get("type") == "TOTALORDER"
        return compared(direction, operands[0], operands[1], element_type, total=total, flush=flush)
    if opcode == "convert":
        return _converted(operands[0], element_type, instruction.type)
    if instruction.type in FLOATS and opcode not in ("select", "bitcast-convert"):
        raise HloError(f"expected an operation on bits, got {instruction}")
    return _INTEGER[opcode](*operands)


_INTEGER: dict[str, Callable[..., Any]] = {
    "select": z3.If,
    "bitcast-convert": lambda a: a,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "negate": lambda a: -a,
    "not": lambda a: z3.Not(a) if z3.is_bool(a) else ~a,
    "and": lambda a, b: z3.And(a, b) if z3.is_bool(a) else a & b,
    "or": lambda a, b: z3.Or(a, b) if z3.is_bool(a) else a | b,
    "xor": lambda a, b: a ^ b,
    "shift-left": lambda a, b: a << b,
    "shift-right-arithmetic": lambda a, b: a >> b,
}
_OPERATIONS = frozenset({"compare", "convert", *_INTEGER})


def _converted(value: Any, source: str, target: str) -> Any:
    if source in FLOATS or target in FLOATS:
        raise HloError(f"expected a conversion of integers, got {source} to {target}")
    before, after = width_of(source), width_of(target)
    if after <= before:
        return z3.Extract(after - 1, 0, value)
    extend = z3.SignExt if source.startswith("s") else z3.ZeroExt
    return extend(after - before, value)


def is_nan(value: Any, element_type: str) -> Any:
    """Returns the formula that the bits are those of a NaN."""
    magnitude = value & ((1 << (width_of(element_type) - 1)) - 1)
    return z3.UGT(magnitude, _infinity(element_type))


def is_zero(value: Any, element_type: str, *, flush: bool = False) -> Any:
    """Returns the formula that the bits are those of a zero of either sign.

    Args:
        value: The bits.
        element_type: Their type.
        flush: True takes denormals for zeros.
    """
    magnitude = value & ((1 << (width_of(element_type) - 1)) - 1)
    if not flush:
        return magnitude == 0
    return z3.ULT(magnitude, 1 << ml_dtypes.finfo(dtype_of(element_type)).nmant)


def _infinity(element_type: str) -> int:
    mantissa = ml_dtypes.finfo(dtype_of(element_type)).nmant
    exponent = width_of(element_type) - 1 - mantissa
    return ((1 << exponent) - 1) << mantissa


def total_order_key(value: Any, element_type: str) -> Any:
    """Returns the signed integer by which XLA's total order of floats is defined."""
    magnitude = (1 << (width_of(element_type) - 1)) - 1
    return z3.If(value < 0, value ^ magnitude, value)


def compared(
    direction: str,
    a: Any,
    b: Any,
    element_type: str,
    *,
    total: bool = False,
    flush: bool = False,
) -> Any:
    """Returns the formula of a comparison.

    Args:
        direction: ``EQ``, ``NE``, ``LT``, ``LE``, ``GT`` or ``GE``.
        a: Bits of the left operand.
        b: Bits of the right operand.
        element_type: Type of both.
        total: True for XLA's total order of floats, which is that of integers.
        flush: True if other comparisons take denormals for zeros.
    """
    if element_type == "pred":
        return {"EQ": a == b, "NE": a != b}[direction]
    if element_type not in FLOATS:
        return _ordered(direction, a, b, signed=element_type.startswith("s"))
    keys = total_order_key(a, element_type), total_order_key(b, element_type)
    if total:
        return _ordered(direction, *keys, signed=True)
    unordered = z3.Or(is_nan(a, element_type), is_nan(b, element_type))
    zeros = z3.And(*(is_zero(v, element_type, flush=flush) for v in (a, b)))
    if direction == "NE":
        return z3.Or(unordered, z3.And(a != b, z3.Not(zeros)))
    same = direction in ("EQ", "LE", "GE")
    return z3.And(z3.Not(unordered), z3.If(zeros, same, _ordered(direction, *keys, signed=True)))


def _ordered(direction: str, a: Any, b: Any, *, signed: bool) -> Any:
    if direction in ("GT", "GE"):
        return _ordered({"GT": "LT", "GE": "LE"}[direction], b, a, signed=signed)
    if signed:
        return {"EQ": a == b, "NE": a != b, "LT": a < b, "LE": a <= b}[direction]
    return {"EQ": a == b, "NE": a != b, "LT": z3.ULT(a, b), "LE": z3.ULE(a, b)}[direction]


def counterexample(claim: Any, *, steps: int = 200_000_000) -> str:
    """Returns values for which a claim does not hold; empty if it is proved for all.

    Args:
        claim: The formula.
        steps: Limit, in steps as z3 counts them, so that the load of the machine does not matter.

    Raises:
        HloError: The solver found neither within the steps, or within ten minutes.
    """
    solver = z3.Solver()
    solver.set("rlimit", steps)
    solver.set("timeout", 600_000)
    solver.add(z3.Not(claim))
    answer = solver.check()
    if answer == z3.unknown:
        raise HloError(f"expected a proof within {steps} steps, got {solver.reason_unknown()}")
    return "" if answer == z3.unsat else str(solver.model())
