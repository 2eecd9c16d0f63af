"""The instructions of one state of a module, with the lines that HLO text has for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.module import Module

_COMPUTATION = re.compile(r"(?:ENTRY )?([\w.\-]+) (?:\(.*)?\{$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?([\w.\-]+) = ")
_DATA, _CONTROL = EDGE_TYPES.index("data"), EDGE_TYPES.index("control")


@dataclass(frozen=True)
class Instructions:
    """The N instructions of one state of a module, operands before users.

    Attributes:
        names: Name of each, which is unique in its computation.
        computations: Name of its computation.
        opcodes: XLA's name of its opcode.
        lines: Its line of HLO text, without the indentation.
        operand_offsets: int64 ``[N + 1]``, offsets in the next.
        operands: int64 ``[M]``, instruction numbers of operands, in order, then of control
            predecessors.
        user_offsets: int64 ``[N + 1]``, offsets in the next.
        users: int64 ``[M]``, instruction numbers of users.
    """

    names: list[str]
    computations: list[str]
    opcodes: list[str]
    lines: list[str]
    operand_offsets: NDArray[np.int64]
    operands: NDArray[np.int64]
    user_offsets: NDArray[np.int64]
    users: NDArray[np.int64]

    @classmethod
    def of(cls, module: Module) -> Instructions:
        """Returns the instructions of a module as it is now."""
        graph = module.graph()
        names = graph.names()
        count = graph.num_nodes - graph.num_computations
        computation = [names[count + number] for number in graph.computation[:count].tolist()]
        lines = dict(_lines(module.to_text()))
        own = [lines.get(key, key[1]) for key in zip(computation, names[:count], strict=True)]
        opcodes = [graph.opcode_name(node) for node in range(count)]
        source, target = _edges(graph)
        return cls(
            names[:count],
            computation,
            opcodes,
            own,
            *_grouped(target, source, count),
            *_grouped(source, target, count),
        )

    def __len__(self) -> int:
        return len(self.names)

    def operands_of(self, number: int) -> list[int]:
        """Returns the operands of an instruction, then its control predecessors."""
        begin, end = self.operand_offsets[number], self.operand_offsets[number + 1]
        return self.operands[begin:end].tolist()

    def users_of(self, number: int) -> list[int]:
        """Returns the instructions that use an instruction, or wait for it; each once."""
        begin, end = self.user_offsets[number], self.user_offsets[number + 1]
        return list(dict.fromkeys(self.users[begin:end].tolist()))

    def is_root(self, number: int) -> bool:
        """Returns True for the root of a computation."""
        return self.lines[number].startswith("ROOT ")

    def parts(self, number: int) -> tuple[str, str]:
        """Returns the shape of an instruction, and the text behind its operands.

        The text of a constant or parameter begins with its value or number.
        """
        rest = self.lines[number].partition(" = ")[2]
        shape, _, after = rest.partition(f" {self.opcodes[number]}(")
        if self.opcodes[number] in ("constant", "parameter"):
            return shape, after
        return shape, after.partition(")")[2]


def _lines(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yields computation and name, and the line, of each instruction of an HLO text."""
    computation = ""
    for line in text.splitlines():
        if found := _INSTRUCTION.match(line):
            yield (computation, found[1]), line.strip()
        elif found := _COMPUTATION.match(line):
            computation = found[1]


def _edges(graph: HloGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns sources and targets of operands, in their order, then of control dependencies."""
    kept = (graph.edge_type == _DATA) | (graph.edge_type == _CONTROL)
    order = np.lexsort((graph.edge_position[kept], graph.edge_type[kept] == _CONTROL))
    source, target = graph.edge_index[:, kept][:, order]
    return source, target


def _grouped(
    key: NDArray[np.int64], value: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns offsets by key, and the values of each key in their order."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=count), out=offsets[1:])
    return offsets, value[np.argsort(key, kind="stable")]
