"""The instructions of one state of a module, with what HLO text says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.module import Module
from hlograph.reading.hlo_text import InstructionText, read_instructions

_DATA, _CONTROL = EDGE_TYPES.index("data"), EDGE_TYPES.index("control")


@dataclass(frozen=True)
class Instructions:
    """The N instructions of one state of a module, operands before users.

    Attributes:
        names: Name of each, which is unique in its computation.
        computations: Name of its computation.
        opcodes: XLA's name of its opcode.
        texts: What HLO text says of it.
        operand_offsets: int64 ``[N + 1]``, offsets in the next.
        operands: int64 ``[M]``, instruction numbers of operands, in order, then of control
            predecessors.
        user_offsets: int64 ``[N + 1]``, offsets in the next.
        users: int64 ``[M]``, instruction numbers of users.
    """

    names: list[str]
    computations: list[str]
    opcodes: list[str]
    texts: list[InstructionText]
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
        texts = {
            (each.computation, each.name): each for each in read_instructions(module.to_text())
        }
        own = [texts[key] for key in zip(computation, names[:count], strict=True)]
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
        return self.texts[number].is_root

    def parts(self, number: int) -> tuple[str, str, str]:
        """Returns an instruction's shape, its literal or number, and its attributes."""
        text = self.texts[number]
        return text.shape, text.argument, text.tail


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
