"""The module that jaxlib generated code from, read from its text.

Every step of XLA:CPU's runtime implements an instruction of this module. Its text is read, because
jaxlib has neither the attributes of instructions nor classes for the proto.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlograph.errors import HloError
from hlograph.plans import jaxlib_modules
from hlograph.reading.hlo_text import InstructionText, read_module

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable

CONTROL = frozenset({"while", "conditional", "call"})
"""Opcodes whose computations have steps of their own at run time."""

_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


@dataclass(frozen=True)
class OptimizedModule:
    """An optimized module.

    Attributes:
        name: Its name.
        text: Its HLO text.
        entry: Name of the entry computation.
        parameters: Names of its parameters, in order.
        computations: The instructions of each computation, in the order of its schedule.
        instructions: All instructions by name.
    """

    name: str
    text: str
    entry: str
    parameters: tuple[str, ...]
    computations: dict[str, tuple[InstructionText, ...]]
    instructions: dict[str, InstructionText] = field(repr=False)

    @classmethod
    def of(cls, executable: LoadedExecutable) -> OptimizedModule:
        """Returns the module of an executable.

        Raises:
            HloError: It is no executable of jaxlib, or one of several modules.
        """
        from jaxlib._hlo import HloPrintOptions

        if not hasattr(executable, "hlo_modules"):
            raise HloError(
                "expected an executable of jaxlib, such as Compiled.runtime_executable(), got "
                f"{type(executable).__name__}"
            )
        modules = executable.hlo_modules()
        if len(modules) != 1:
            raise HloError(f"expected an executable of one module, got one of {len(modules)}")
        options = HloPrintOptions()
        options.print_large_constants = False
        return cls.from_text(modules[0].to_string(options))

    @classmethod
    def from_proto(cls, proto: bytes) -> OptimizedModule:
        """Returns the module of a serialized ``HloModuleProto``, without its large constants.

        Raises:
            PlanError: jaxlib does not read it.
        """
        return cls.from_text(jaxlib_modules.text_of(proto, literals=False))

    @classmethod
    def from_text(cls, text: str) -> OptimizedModule:
        """Returns the module of a text that XLA printed with its default options.

        Raises:
            HloError: The text has no entry computation.
        """
        _, computations = read_module(text)
        entry = next((each for each in computations if each.is_entry), None)
        if entry is None:
            raise HloError(f"expected the text of an HLO module, got {text[:80]!r}")
        parameters = [each for each in entry.instructions if each.opcode == "parameter"]
        return cls(
            name=text.removeprefix("HloModule ").partition(",")[0].split()[0],
            text=text,
            entry=entry.name,
            parameters=tuple(
                each.name for each in sorted(parameters, key=lambda each: int(each.argument))
            ),
            computations={each.name: each.instructions for each in computations},
            instructions={i.name: i for each in computations for i in each.instructions},
        )

    def callers(self) -> dict[str, tuple[str, ...]]:
        """Returns the loops, branches and calls that run each computation, by computation."""
        callers: dict[str, tuple[str, ...]] = {}
        for instruction in self.instructions.values():
            for called in instruction.calls if instruction.opcode in CONTROL else ():
                callers[called] = (*callers.get(called, ()), instruction.name)
        return callers


def known_trips(text: str) -> list[int]:
    """Returns how often the loops in a text run, of those for which XLA has found it out.

    Args:
        text: Text of instructions or of their attributes.
    """
    return [int(trips) for trips in _TRIPS.findall(text)]
