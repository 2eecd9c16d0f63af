"""Converts a program to terms of the e-graph, and nodes of it back to instructions.

Products, pointwise operations, concatenations, slices of one dimension, broadcasts, transposes and
reshapes of arrays are terms of their own. Everything else is opaque: an operation with operands
and a number that stands for its opcode, shape and attributes. Equal operations are one term.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.search.rewriting.egraph.program import Computations, ProgramText, row_major_shape
from hlograph.errors import HloError
from hlograph.reading.hlo_text import ArrayShape, InstructionText

BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
UNARY = ("negate", "exponential", "tanh", "rsqrt", "sqrt", "logistic", "log", "abs")
RANKS = range(1, 6)
"""Ranks of transposes that are terms; rules are written out for each rank."""
_PRODUCTS = ("dot", "convolution")
_FLOATS = ("f16", "bf16", "f32", "f64")
_LIST = re.compile(r"(\w+)=\{([\d,]*)\}")
_RANDOM = ("rng", "rng-get-and-update-state", "custom-call")
"""Opcodes of which two equal instructions may have different results, and are no single term."""
_EFFECTS = ("infeed", "outfeed", "send", "recv")


@dataclass
class Terms:
    """Terms of a program, and of programs that are equal to it.

    Attributes:
        commands: egglog commands that make `$t0`, `$t1`, …, one for each different instruction.
        root: Name of the term that is the result.
        opaque: Instructions by number of the opaque operation.
        products: Attributes of products by number.
        originals: Names of the products of the program itself.
        computations: What opaque operations call.
    """

    commands: list[str] = field(default_factory=list)
    root: str = ""
    opaque: list[InstructionText] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)
    computations: Computations = field(default_factory=Computations)
    _names: dict[tuple[str, ...], str] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    _codes: dict[tuple[object, ...], int] = field(default_factory=dict)
    _random_inside: bool = False

    @classmethod
    def of(cls, program: ProgramText) -> Terms:
        """Converts a program.

        Raises:
            HloError: The program has side effects, which terms cannot express.
        """
        terms = cls()
        program = terms.computations.add(program)
        names = terms.add(program)
        terms.root = names[program.root]
        products = [
            instruction.name
            for instruction in program.instructions
            if instruction.opcode in _PRODUCTS
        ]
        terms.originals = list(dict.fromkeys(names[name] for name in products))
        return terms

    def add(self, program: ProgramText, *, opaque: bool = False) -> dict[str, str]:
        """Adds a program; an instruction that is there is the same term again.

        Args:
            program: The program, as ``computations.add`` returns it.
            opaque: True if rules may not match what is new.

        Returns:
            Names of the terms, by the names of the instructions.

        Raises:
            HloError: The program has side effects, which terms cannot express.
        """
        called = [i for each in program.computations for i in each.instructions]
        for instruction in (*program.instructions, *called):
            if (
                instruction.opcode in _EFFECTS
                or "custom_call_has_side_effect=true" in instruction.tail
            ):
                raise HloError(
                    f"expected a program without side effects, got one with {instruction.opcode}"
                )
        self._random_inside = any(instruction.opcode in _RANDOM for instruction in called)
        names: dict[str, str] = {}
        by_name = {instruction.name: instruction for instruction in program.instructions}
        for instruction in program.instructions:
            operands = [names[name] for name in instruction.operands]
            shapes = [row_major_shape(by_name[name].shape) for name in instruction.operands]
            names[instruction.name] = self._term(instruction, operands, None if opaque else shapes)
        return names

    def equate(self, term: str, other: str) -> None:
        """Makes two terms equal."""
        if term != other:
            self.commands.append(f"(union {term} {other})")

    def _term(
        self,
        instruction: InstructionText,
        operands: list[str],
        shapes: list[ArrayShape | None] | None,
    ) -> str:
        """Returns the name of an instruction's term, which is opaque without shapes."""
        key = (*self._key(instruction), *operands)
        if key not in self._names:
            self._names[key] = name = f"$t{len(self._names)}"
            structured = None if shapes is None else self._structured(instruction, operands, shapes)
            self.commands.append(
                f"(let {name} {structured or self._opaque(instruction, operands)})"
            )
            self.commands += self._facts(instruction, name, structured is None)
        return self._names[key]

    def _facts(self, instruction: InstructionText, term: str, opaque: bool) -> list[str]:
        facts: list[str] = []
        shape = row_major_shape(instruction.shape)
        if shape is None:
            return []
        if opaque:
            facts = [
                f"(set (dims {term}) {vector(shape.dimensions)})",
                f'(set (type {term}) "{shape.type}")',
            ]
        if (
            instruction.opcode == "constant"
            and not shape.dimensions
            and instruction.argument in ("0", "1")
        ):
            facts.append(f"({'zero' if instruction.argument == '0' else 'one'} {term})")
        return facts

    def _key(self, instruction: InstructionText) -> tuple[str, ...]:
        """Returns what equal operations have in common, operands aside."""
        key = (instruction.opcode, instruction.shape, instruction.argument, instruction.tail)
        random = instruction.opcode in _RANDOM or (self._random_inside and instruction.calls)
        return (*key, instruction.name if random else "")

    def _opaque(self, instruction: InstructionText, operands: Sequence[str]) -> str:
        key = self._key(instruction)
        if key not in self._numbers:
            number = self._numbers[key] = len(self.opaque)
            self.opaque.append(instruction)
            if instruction.opcode == "tuple":
                self.commands.append(f"(tuple {number})")
            if instruction.opcode == "get-tuple-element":
                index = instruction.tail.removeprefix("index=")
                self.commands.append(f"(element {number} {index})")
        number = self._numbers[key]
        return (
            f"(Op {number} {'(vec-of ' + ' '.join(operands) + ')' if operands else '(vec-empty)'})"
        )

    def _structured(
        self, instruction: InstructionText, operands: list[str], shapes: list[ArrayShape | None]
    ) -> str | None:
        """Returns the term of an instruction that rules may match; None for others."""
        result = row_major_shape(instruction.shape)
        if result is None or any(shape is None for shape in shapes):
            return None
        arrays = [shape for shape in shapes if shape is not None]
        if any(shape.type != result.type for shape in arrays):
            return None
        if not instruction.tail:
            if instruction.opcode in BINARY:
                return f'(Bin "{instruction.opcode}" {operands[0]} {operands[1]})'
            if instruction.opcode in UNARY:
                return f'(Un "{instruction.opcode}" {operands[0]})'
            if instruction.opcode == "reshape":
                return f"(Reshape {operands[0]} {vector(result.dimensions)})"
        if instruction.opcode in _PRODUCTS:
            return self._product(instruction, operands, arrays, result)
        return _rearranged(instruction, operands, arrays, result)

    def _product(
        self,
        instruction: InstructionText,
        operands: list[str],
        shapes: list[ArrayShape],
        result: ArrayShape,
    ) -> str | None:
        if result.type not in _FLOATS:
            return None
        left, right = (shape.dimensions for shape in shapes)
        if instruction.opcode == "dot":
            lists = {name: _numbers(text) for name, text in _LIST.findall(instruction.tail)}
            plain = lists.keys() == {"lhs_contracting_dims", "rhs_contracting_dims"}
            sides = [lists[name] for name in sorted(lists)] if plain else []
            if plain and len(right) == 2 and all(len(dims) == 1 for dims in sides):
                (lhs,), (rhs,) = sides
                if _without_lists(instruction.tail):
                    return None
                return f"(Prod (Plain {lhs} {rhs} {len(left)}) {operands[0]} {operands[1]})"
            if _without_lists(instruction.tail):
                return None
            number = self._code(instruction.tail, tuple(shapes))
            self._fact(f"(fixed (Coded {number}) {vector(result.dimensions)})")
        else:
            labels = re.fullmatch(
                r"(?:window=\{[^}]*\}, )?dim_labels=(\w+)_(\w+)->(\w+)(, feature_group_count=\d+)?",
                instruction.tail,
            )
            if labels is None:
                return None
            spatial = [size for size, sign in zip(left, labels[1], strict=True) if sign.isdigit()]
            number = self._code(instruction.tail, (shapes[1].type, *spatial))
            batch, out, kernel = labels[1].index("b"), labels[3].index("f"), labels[2].index("o")
            self._fact(
                f"(convolved (Coded {number}) {batch} {kernel} {labels[3].index('b')} {out} "
                f"{vector(result.dimensions)})"
            )
            self._fact(f"(free-left (Coded {number}) {batch} {labels[3].index('b')})")
            self._fact(f"(scaled-right (Coded {number}) {kernel} {out})")
            if labels[4] is None:
                self._fact(f"(free-right (Coded {number}) {kernel} {out})")
        return f"(Prod (Coded {number}) {operands[0]} {operands[1]})"

    def _fact(self, command: str) -> None:
        if command not in self.commands:
            self.commands.append(command)

    def _code(self, attributes: str, more: tuple[object, ...]) -> int:
        key = (attributes, *more)
        if key not in self._codes:
            self._codes[key] = len(self.products)
            self.products.append(attributes)
        return self._codes[key]


def _rearranged(
    instruction: InstructionText, operands: list[str], shapes: list[ArrayShape], result: ArrayShape
) -> str | None:
    if instruction.opcode == "slice":
        return _slice(instruction, operands[0], shapes[0])
    lists = {name: _numbers(text) for name, text in _LIST.findall(instruction.tail)}
    if lists.keys() != {"dimensions"} or _without_lists(instruction.tail):
        return None
    dims = lists["dimensions"]
    if instruction.opcode == "broadcast":
        return f"(Bcast {operands[0]} {vector(dims)} {vector(result.dimensions)})"
    if instruction.opcode == "transpose" and len(dims) in RANKS:
        return f"(Transp {operands[0]} {vector(dims)})"
    if instruction.opcode == "concatenate" and len(operands) == 2:
        return f"(Concat {dims[0]} {operands[0]} {operands[1]})"
    return None


def _slice(instruction: InstructionText, operand: str, shape: ArrayShape) -> str | None:
    """Returns the term of a slice of one dimension without strides; None for others."""
    match = re.fullmatch(r"slice=\{([^}]*)\}", instruction.tail)
    if match is None:
        return None
    bounds = [tuple(map(int, part.split(":"))) for part in re.findall(r"\[([\d:]+)\]", match[1])]
    if any(len(each) > 2 and each[2] != 1 for each in bounds) or len(bounds) != len(
        shape.dimensions
    ):
        return None
    cut = [n for n, each in enumerate(bounds) if each[:2] != (0, shape.dimensions[n])]
    if len(cut) != 1:
        return None
    return f"(Slice {cut[0]} {bounds[cut[0]][0]} {bounds[cut[0]][1]} {operand})"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


def _without_lists(attributes: str) -> str:
    """Returns attributes without their lists of dimensions."""
    return _LIST.sub("", attributes).strip(", ")


def vector(numbers: Sequence[int]) -> str:
    """Writes numbers as an egglog vector."""
    return f"(vec-of {' '.join(map(str, numbers))})" if numbers else "(vec-empty)"


def written(
    terms: Terms,
    op: str,
    values: Sequence[object],
    shape: ArrayShape | None,
    shapes: Sequence[ArrayShape | None],
) -> InstructionText:
    """Returns a node of the e-graph as an instruction with operands `0`, `1`, ….

    Args:
        terms: Terms of the program.
        op: Constructor of the node.
        values: Arguments other than terms: numbers, strings and tuples of numbers.
        shape: Shape of the result.
        shapes: Shapes of the operands.
    """
    names = tuple(str(number) for number in range(len(shapes)))
    if op == "Op":
        (number,) = values
        assert isinstance(number, int)
        instruction = terms.opaque[number]
        return instruction._replace(name="", operands=names)
    opcode, attributes = _opcode_and_attributes(terms, op, values, shapes)
    assert shape is not None
    return InstructionText("", str(shape), opcode, names, "", attributes)


def _opcode_and_attributes(
    terms: Terms, op: str, values: Sequence[object], shapes: Sequence[ArrayShape | None]
) -> tuple[str, str]:
    if op in ("Bin", "Un"):
        return str(values[0]), ""
    if op == "Reshape":
        return "reshape", ""
    if op == "Bcast":
        return "broadcast", f"dimensions={_braced(values[0])}"
    if op == "Transp":
        return "transpose", f"dimensions={_braced(values[0])}"
    if op == "Concat":
        return "concatenate", f"dimensions={{{values[0]}}}"
    if op == "Slice":
        (operand,) = shapes
        assert operand is not None
        bounds = [(0, size) for size in operand.dimensions]
        dim, begin, end = (value for value in values if isinstance(value, int))
        bounds[dim] = (begin, end)
        return "slice", f"slice={{{', '.join(f'[{a}:{b}]' for a, b in bounds)}}}"
    (attributes,) = values
    assert isinstance(attributes, tuple)
    kind, *numbers = attributes
    if kind == "Plain":
        lhs, rhs, _ = numbers
        return "dot", f"lhs_contracting_dims={{{lhs}}}, rhs_contracting_dims={{{rhs}}}"
    text = terms.products[numbers[0]]
    return ("convolution" if "dim_labels" in text else "dot"), text


def _braced(values: object) -> str:
    assert isinstance(values, tuple)
    return f"{{{','.join(map(str, values))}}}"
