"""Modules as instructions in order, for an interpreter in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlograph import Module
from hlograph.execution.equivalence.arrays import dtype_of
from hlograph.reading.xla_protos import leaves_of_literal, message_class


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        number: Its id in the module.
        opcode: XLA's name of the opcode.
        element_type: XLA's name of the type, such as ``f32``, or ``tuple``.
        dims: Sizes of the dimensions; none of a tuple.
        operands: Numbers of the operands.
        called: Numbers of the computations that it calls.
        proto: The ``xla.HloInstructionProto``, for attributes.
        literal: The value of a constant.
    """

    number: int
    opcode: str
    element_type: str
    dims: tuple[int, ...]
    operands: tuple[int, ...]
    called: tuple[int, ...]
    proto: Any
    literal: NDArray[Any] | None

    @property
    def is_float(self) -> bool:
        """True for real and complex numbers."""
        return self.element_type[0] in "fbc"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the elements."""
        return dtype_of(self.element_type)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The attribute of this name."""
        return tuple(self.proto.dimensions)


@dataclass(frozen=True)
class Computation:
    """The instructions of a computation, operands first, and the number of its root."""

    instructions: tuple[Instruction, ...]
    root: int


@dataclass(frozen=True)
class HloProgram:
    """A module's computations by their numbers, and the number of the entry."""

    computations: dict[int, Computation]
    entry: int

    @property
    def branches(self) -> int:
        """Largest number of branches of a conditional in the entry computation."""
        return max(
            (
                len(each.called)
                for each in self.computations[self.entry].instructions
                if each.opcode == "conditional"
            ),
            default=0,
        )

    @classmethod
    def of(cls, module: Module) -> HloProgram:
        """Reads the proto of a module."""
        proto = message_class("xla.HloModuleProto").FromString(module.to_proto())
        computations = {
            each.id: Computation(tuple(map(_instruction, each.instructions)), each.root_id)
            for each in proto.computations
        }
        return cls(computations, proto.entry_computation_id)


def _instruction(proto: Any) -> Instruction:
    kinds = proto.shape.DESCRIPTOR.fields_by_name["element_type"].enum_type.values_by_number
    element_type = kinds[proto.shape.element_type].name.lower()
    is_array = proto.opcode == "constant" and element_type != "tuple"
    return Instruction(
        proto.id,
        proto.opcode,
        element_type,
        tuple(proto.shape.dimensions),
        tuple(proto.operand_ids),
        tuple(proto.called_computation_ids),
        proto,
        leaves_of_literal(proto.literal)[0] if is_array else None,
    )
