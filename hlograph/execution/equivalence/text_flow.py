"""Data flow of a module's text, as jaxlib prints it: for programs that the engine does not hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import ArraySpec, Signature, dtype_of
from hlograph.execution.equivalence.flow import Flow
from hlograph.reading.hlo_text import InstructionText, numbers, read_module, split

# The layout may have tiles, or the bits of an element.
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{.*\})?")
_COMMENT = re.compile(r"/\*.*?\*/")


class TextFlow(Flow):
    """The data flow of a module, read from its text. It needs no engine.

    It has what is known of a program's data flow from its graph, but for the graph. The nodes are
    instructions, and in another order than those of the graph.

    Attributes:
        instructions: The instruction of each node.

    Args:
        text: The module as HLO text; large constants may be left out.

    Raises:
        HloError: The text has a form that XLA does not print.
    """

    def __init__(self, text: str) -> None:
        _, computations = read_module(text)
        self.instructions = [each for called in computations for each in called.instructions]
        self.opcodes = [each.opcode for each in self.instructions]
        self.operands: list[list[int]] = [[] for _ in self.instructions]
        self.users: list[list[tuple[int, int]]] = [[] for _ in self.instructions]
        self.callers: list[list[int]] = [[] for _ in computations]
        self.roots = [0] * len(computations)
        self.parameters: list[dict[int, int]] = [{} for _ in computations]
        places = {each.name: number for number, each in enumerate(computations)}
        self.called = [[places[name] for name in each.calls] for each in self.instructions]
        self.computation = [
            number for number, each in enumerate(computations) for _ in each.instructions
        ]
        self._entry = next(number for number, each in enumerate(computations) if each.is_entry)
        self._leaves = [list(_leaves(each.shape, ())) for each in self.instructions]
        self.elements = [sum(math.prod(dims) for _, dims, _ in each) for each in self._leaves]
        self._connect()

    def _connect(self) -> None:
        nodes: dict[tuple[int, str], int] = {}
        for node, each in enumerate(self.instructions):
            computation = self.computation[node]
            nodes[computation, each.name] = node
            for position, name in enumerate(each.operands):
                operand = nodes[computation, name]
                self.operands[node].append(operand)
                self.users[operand].append((node, position))
            for callee in self.called[node]:
                self.callers[callee].append(node)
            if each.is_root:
                self.roots[computation] = node
            if each.opcode == "parameter":
                self.parameters[computation][int(each.argument)] = node

    @property
    def entry(self) -> int:
        """The number of the entry computation."""
        return self._entry

    @cached_property
    def signature(self) -> Signature:
        """The leaves of the module's parameters and of its result.

        Raises:
            HloError: One of them is not an array of fixed size (a token, a dynamic dimension), or
                has a type that numpy and ml_dtypes do not support.
        """
        parameters = sorted(self.parameters[self.entry].items())
        shapes = [self.instructions[node].shape for _, node in parameters]
        return signature_of_shapes(shapes, self.instructions[self.roots[self.entry]].shape)

    def attribute(self, node: int, name: str, default: Any = None) -> Any:
        """Returns a decoded attribute of a node, or the default.

        They are integers, lists of integers and the target of a call, under the names that graphs
        have for them.
        """
        each = self.instructions[node]
        if name in _DECODED:
            return _DECODED[name](each)
        value = each.attribute(_PRINTED.get((each.opcode, name), name))
        return numbers(value) if value else default

    def window_sizes(self, node: int) -> tuple[int, ...]:
        """Returns the sizes of the window of a node that has one."""
        size = re.search(r"size=([\dx]+)", self.instructions[node].attribute("window"))
        return tuple(map(int, size[1].split("x"))) if size else ()

    def dims(self, node: int) -> tuple[int, ...]:
        """Returns the sizes of a node's dimensions; none of a tuple."""
        return () if self.element_type(node) == "tuple" else self._leaves[node][0][1]

    def element_type(self, node: int) -> str:
        """Returns the element type of a node."""
        shape = self.instructions[node].shape
        return "tuple" if shape.startswith("(") else self._leaves[node][0][0]


def signature_of_shapes(parameters: Iterable[str], result: str) -> Signature:
    """Returns the signature of a module.

    Args:
        parameters: Shapes of its parameters as XLA prints them, in order.
        result: Shape of its result.

    Raises:
        HloError: One of them is not an array of fixed size (a token, a dynamic dimension), or has a
            type that numpy and ml_dtypes do not support.
    """
    signature = Signature(
        tuple(spec for n, shape in enumerate(parameters) for spec in _specs(shape, (n,))),
        tuple(_specs(result, ())),
    )
    for spec in signature.parameters + signature.results:
        dtype_of(spec.element_type)
    return signature


def _leaves(shape: str, path: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...], Any]]:
    """Yields element type, sizes and path of the arrays of a shape's text.

    A dynamic dimension has the size of its bound; an opaque value has no sizes.
    """
    if shape.startswith("("):
        for number, part in enumerate(split(_COMMENT.sub("", shape)[1:-1])):
            yield from _leaves(part, (*path, number))
        return
    match = _ARRAY.fullmatch(shape.replace("<=", ""))
    yield (match[1], numbers(match[2]), path) if match else (shape, (), path)


def _specs(shape: str, path: tuple[int, ...]) -> Iterator[ArraySpec]:
    if "<=" in shape:
        raise HloError(f"expected arrays of fixed size, got {shape}")
    return (ArraySpec(*leaf) for leaf in _leaves(shape, path))


def _literal(each: InstructionText) -> tuple[float, ...]:
    """Returns the value of a constant with one number; nothing of others."""
    try:
        return (float(each.argument),) if each.opcode == "constant" else ()
    except ValueError:
        return ()


def _kernel(each: InstructionText) -> tuple[int, ...]:
    """Returns the dimensions of a convolution's kernel: input and output features, then space."""
    labels = each.attribute("dim_labels").partition("_")[2].partition("->")[0]
    spatial = (labels.index(str(number)) for number in range(len(labels) - 2))
    return labels.index("i"), labels.index("o"), *spatial


_DECODED: Mapping[str, Callable[[InstructionText], Any]] = MappingProxyType(
    {
        "parameter_number": lambda each: int(each.argument),
        "custom_call_target": lambda each: each.attribute("custom_call_target").strip('"'),
        "tuple_index": lambda each: int(each.attribute("index")),
        "literal": _literal,
        "conv_kernel": _kernel,
    }
)

# Names in the text of attributes that a graph has by other names.
_PRINTED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("iota", "dimensions"): "iota_dimension",
        ("scatter", "operand_batching_dims"): "input_batching_dims",
    }
)
