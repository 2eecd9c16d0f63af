"""Builds random HLO programs as text, one instruction after the other."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

INTEGERS = ("s2", "s4", "s8", "s16", "s32", "s64", "u2", "u4", "u8", "u16", "u32", "u64")
SIGNED = tuple(name for name in INTEGERS if name.startswith("s"))
SMALL_FLOATS = (
    *("f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz"),
    *("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"),
)
FLOATS = ("bf16", "f16", "f32", "f64")
COMPLEX = ("c64", "c128")
PARTS = {"c64": "f32", "c128": "f64"}
"""Type of the real and imaginary parts of each complex type."""
NUMBERS = INTEGERS + FLOATS + COMPLEX
ALL_TYPES = ("pred", *NUMBERS, *SMALL_FLOATS)
"""Element types that are drawn."""

# Types are drawn by these weights; 1 for all others.
_WEIGHTS = {"f32": 12, "f64": 4, "bf16": 4, "f16": 4, "s32": 4, "pred": 2, "s64": 2, "c64": 3}
_RARE = 0.25  # weight of types below a byte, and of floats of 8 bits and less

_EMPTY = 0.06  # share of arrays without elements
_SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 100, 128)
_RANKS = (0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8)

_REDUCERS = {
    "add": "0",
    "multiply": "1",
    "maximum": "lowest",
    "minimum": "highest",
    "and": "ones",
    "or": "0",
}


class Value(NamedTuple):
    """An array in a program.

    Attributes:
        name: Name of its instruction.
        type: Element type.
        dims: Sizes of its dimensions.
    """

    name: str
    type: str
    dims: tuple[int, ...]

    @property
    def shape(self) -> str:
        """Shape in HLO text."""
        return shape_of(self.type, self.dims)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)


def shape_of(element_type: str, dims: Sequence[int]) -> str:
    """Returns a shape in HLO text."""
    return f"{element_type}[{','.join(map(str, dims))}]"


def braces(numbers: Sequence[object]) -> str:
    """Returns numbers as a list in HLO text."""
    return f"{{{','.join(map(str, numbers))}}}"


@dataclass
class Body:
    """The instructions of one computation.

    Attributes:
        lines: The instructions.
        parameters: Its parameters, in order.
        values: All arrays of it.
        used: Names of arrays that an instruction takes.
    """

    lines: list[str] = field(default_factory=list)
    parameters: list[Value] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


class Builder:
    """Builds a program, whose operands are drawn among what there is.

    Args:
        rng: The random numbers.
        most: Number of elements that an array has at most.
    """

    def __init__(self, rng: random.Random, most: int) -> None:
        self.rng, self.most = rng, most
        self.body = Body()
        self._computations: list[str] = []
        self._reducers: dict[tuple[str, str], str] = {}
        self._names = 0

    def name(self) -> str:
        """Returns a name that no instruction has."""
        self._names += 1
        return f"v{self._names}"

    def parameter(self, element_type: str, dims: Sequence[int]) -> Value:
        """Adds a parameter."""
        value = self._value(element_type, dims)
        number = len(self.body.parameters)
        self.body.lines.append(f"  {value.name} = {value.shape} parameter({number})")
        self.body.parameters.append(value)
        return value

    def op(
        self,
        opcode: str,
        element_type: str,
        dims: Sequence[int],
        operands: Sequence[Value] = (),
        attributes: str = "",
    ) -> Value:
        """Adds an instruction whose result is an array."""
        value = self._value(element_type, dims)
        self.body.lines.append(
            f"  {value.name} = {value.shape} {_call(opcode, operands, attributes)}"
        )
        self.body.used |= {operand.name for operand in operands}
        return value

    def ops(
        self,
        opcode: str,
        results: Sequence[tuple[str, Sequence[int]]],
        operands: Sequence[Value],
        attributes: str = "",
    ) -> list[Value]:
        """Adds an instruction whose result is a tuple, and takes its elements."""
        name = self.name()
        shape = f"({', '.join(shape_of(*result) for result in results)})"
        self.body.lines.append(f"  {name} = {shape} {_call(opcode, operands, attributes)}")
        self.body.used |= {operand.name for operand in operands}
        tuple_of = Value(name, "tuple", ())
        return [
            self.op("get-tuple-element", *result, [tuple_of], f"index={number}")
            for number, result in enumerate(results)
        ]

    def constant(self, element_type: str, literal: str) -> Value:
        """Adds a scalar constant."""
        value = self._value(element_type, ())
        self.body.lines.append(f"  {value.name} = {value.shape} constant({literal})")
        return value

    def type(self, among: Sequence[str] = ALL_TYPES) -> str:
        """Draws an element type."""
        return self.rng.choices(among, [_weight(name) for name in among])[0]

    def dims(self, rank: int | None = None) -> tuple[int, ...]:
        """Draws sizes of dimensions."""
        rank = self.rng.choice(_RANKS) if rank is None else rank
        dims: list[int] = []
        for _ in range(rank):
            allowed = [size for size in _SIZES if size * math.prod(dims) <= self.most]
            dims.append(self.rng.choice(allowed) if allowed else 1)
        if dims and self.rng.random() < _EMPTY:
            dims[0] = 0
        self.rng.shuffle(dims)
        return tuple(dims)

    def value(
        self,
        types: Sequence[str] = ALL_TYPES,
        ranks: range | None = None,
        dims: Sequence[int] | None = None,
    ) -> Value:
        """Returns an array that there is, or a new parameter.

        Args:
            types: Element types that it may have.
            ranks: Numbers of dimensions that it may have; None is any.
            dims: Sizes of its dimensions; None draws them.
        """
        fitting = [
            value
            for value in self.body.values
            if (dims is None or value.dims == tuple(dims))
            and (ranks is None or len(value.dims) in ranks)
        ]
        same = [value for value in fitting if value.type in types]
        if same and self.rng.random() < 0.8:
            # The latest ones, so that programs are deep.
            return same[-1 - min(int(self.rng.expovariate(0.7)), len(same) - 1)]
        converted = [value for value in fitting if value.type not in COMPLEX]
        wanted = self.type(types)
        if converted and wanted not in COMPLEX and self.rng.random() < 0.4:
            operand = self.rng.choice(converted)
            return self.op("convert", wanted, operand.dims, [operand])
        if dims is None:
            dims = self.dims(None if ranks is None else self._rank(ranks))
        return self.parameter(wanted, dims)

    def alike(self, value: Value, element_type: str | None = None) -> Value:
        """Returns an array of the same dimensions, and of the same or a given type."""
        return self.value((element_type or value.type,), None, value.dims)

    def reducer(self, opcode: str, element_type: str) -> str:
        """Returns the name of a computation that combines two scalars."""
        key = opcode, element_type
        if key not in self._reducers:
            name, scalar = self.name(), f"{element_type}[]"
            a, b, c = self.name(), self.name(), self.name()
            self._computations.append(
                f"{name} {{\n  {a} = {scalar} parameter(0)\n  {b} = {scalar} parameter(1)\n"
                f"  ROOT {c} = {scalar} {opcode}({a}, {b})\n}}"
            )
            self._reducers[key] = name
        return self._reducers[key]

    def neutral(self, opcode: str, element_type: str) -> Value:
        """Returns a scalar that a reducer leaves as it is, or any other scalar at times."""
        if self.rng.random() < 0.2:
            return self.value((element_type,), range(1))
        return self.constant(element_type, neutral_of(opcode, element_type))

    def computation(self, build: Callable[[], Value | str], header: str = "") -> str:
        """Adds a computation.

        Args:
            build: Adds its instructions, and returns the result, or the whole text of the root.
            header: Instructions that come first.

        Returns:
            Its name.
        """
        outer, self.body, name = self.body, Body(), self.name()
        if header:
            self.body.lines.append(header)
        result = build()
        lines = self.body.lines
        if isinstance(result, Value):
            root = self.name()
            lines.append(f"  ROOT {root} = {result.shape} copy({result.name})")
        else:
            lines.append(f"  ROOT {result}")
        self._computations.append(f"{name} {{\n" + "\n".join(lines) + "\n}")
        self.body = outer
        return name

    def text(self) -> str:
        """Returns the program: its results are all arrays that no instruction takes."""
        results = [value for value in self.body.values if value.name not in self.body.used]
        lines = list(self.body.lines)
        if len(results) == 1:
            at = next(n for n, line in enumerate(lines) if f"  {results[0].name} = " in line)
            lines.append(lines.pop(at).replace("  ", "  ROOT ", 1))
        else:
            shapes = ", ".join(value.shape for value in results)
            names = ", ".join(value.name for value in results)
            lines.append(f"  ROOT {self.name()} = ({shapes}) tuple({names})")
        entry = "ENTRY entry {\n" + "\n".join(lines) + "\n}"
        return "HloModule random\n\n" + "\n\n".join([*self._computations, entry]) + "\n"

    def _value(self, element_type: str, dims: Sequence[int]) -> Value:
        value = Value(self.name(), element_type, tuple(dims))
        self.body.values.append(value)
        return value

    def _rank(self, ranks: range) -> int:
        return self.rng.choice([rank for rank in _RANKS if rank in ranks] or list(ranks))


def neutral_of(opcode: str, element_type: str) -> str:
    """Returns the literal of the scalar that a reducer leaves as it is."""
    literal = _REDUCERS[opcode]
    if element_type == "pred":
        return {"0": "false", "1": "true", "lowest": "false", "highest": "true", "ones": "true"}[
            literal
        ]
    if element_type in COMPLEX:
        return f"({literal}, 0)"
    if element_type not in INTEGERS:
        return {"lowest": "-inf", "highest": "inf"}.get(literal, literal)
    bits, signed = int(element_type[1:]), element_type in SIGNED
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    ones = -1 if signed else high
    return str({"lowest": low, "highest": high, "ones": ones}.get(literal, literal))


def _call(opcode: str, operands: Sequence[Value], attributes: str) -> str:
    names = ", ".join(operand.name for operand in operands)
    return f"{opcode}({names}){', ' if attributes else ''}{attributes}"


def _weight(element_type: str) -> float:
    is_small = element_type in SMALL_FLOATS or element_type[1:] in ("2", "4")
    return _RARE if is_small else _WEIGHTS.get(element_type, 1)
