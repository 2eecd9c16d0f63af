"""Kernels of two final modules of one program, matched by the instructions that they come from."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hlograph.comparing.module_cuts import ORIGIN
from hlograph.profiling import Kernel, Profile
from hlograph.profiling.kernel_categories import FREE, OUTSIDE, is_kernel_call
from hlograph.profiling.optimized_module import CONTROL, OptimizedModule
from hlograph.reading.hlo_text import InstructionText

# Instructions that XLA copies into many kernels say little about what a kernel is.
_COPIED = FREE | {"broadcast", "iota", "reshape", "copy", "convert"}
# Words of paths of operations that jax changes from version to version.
_PATH = re.compile(r"jit\([^)]*\)|closed_call|eval_jaxpr|pjit|while|body|cond|branch_\d+_fun")
_LAYOUT = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True)
class MatchedKernel:
    """A kernel of one side.

    Attributes:
        kernel: The kernel with its time.
        origins: Instructions of the program before optimizations that it computes.
        opcodes: Opcodes within it.
        is_loop: True for a whole loop that is one kernel.
    """

    kernel: Kernel
    origins: frozenset[str]
    opcodes: Counter[str]
    is_loop: bool


@dataclass(frozen=True)
class KernelGroup:
    """Kernels of both sides that compute the same part of the program.

    Attributes:
        first: Kernels of the first side, slowest first; may be empty.
        second: Kernels of the second side.
        names: Names of the sides.
    """

    first: tuple[MatchedKernel, ...]
    second: tuple[MatchedKernel, ...]
    names: tuple[str, str]

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds of a run in the kernels of each side."""
        return _seconds(self.first), _seconds(self.second)

    @property
    def origins(self) -> frozenset[str]:
        """Instructions of the program before optimizations that the kernels compute."""
        return frozenset().union(*(each.origins for each in (*self.first, *self.second)))

    @property
    def reasons(self) -> list[str]:
        """Says in words why the sides differ."""
        return list(_reasons(self.first, self.second, self.names))

    def to_json(self) -> dict[str, Any]:
        """Returns the group as a JSON object."""
        return {
            "seconds": dict(zip(self.names, self.seconds, strict=True)),
            "reasons": self.reasons,
            "instructions": sorted(self.origins),
            "kernels": {
                name: [each.kernel.to_json() for each in side]
                for name, side in zip(self.names, (self.first, self.second), strict=True)
            },
        }


def matched(
    first: tuple[Profile, str], second: tuple[Profile, str], names: tuple[str, str]
) -> list[KernelGroup]:
    """Returns the kernels of two sides in groups, that with the largest difference first.

    Kernels that compute a common instruction are in one group.

    Args:
        first: Profile of the first side, and text of its final module with metadata.
        second: The same of the second side.
        names: Names of the sides.
    """
    sides = [_kernels(*first), _kernels(*second)]
    groups: list[KernelGroup] = []
    for members in _connected(
        [*((0, each) for each in sides[0]), *((1, each) for each in sides[1])]
    ):
        parts = [
            tuple(sorted((k for side, k in members if side == number), key=_slowest))
            for number in (0, 1)
        ]
        groups.append(KernelGroup(parts[0], parts[1], names))
    return sorted(groups, key=lambda group: -abs(group.seconds[0] - group.seconds[1]))


def _slowest(each: MatchedKernel) -> tuple[float, str]:
    return -each.kernel.seconds, each.kernel.name


def _seconds(kernels: Iterable[MatchedKernel]) -> float:
    return sum(each.kernel.seconds for each in kernels)


def _kernels(profile: Profile, text: str) -> list[MatchedKernel]:
    module = OptimizedModule.from_text(text)
    callers = module.callers()
    kernels = []
    for kernel in profile.kernels:
        instruction = module.instructions.get(kernel.name)
        if instruction is None:
            kernels.append(MatchedKernel(kernel, frozenset(), Counter(), False))
            continue
        inner = _computed(instruction, module)
        origins = {_origin(each) for each in inner if each.opcode not in _COPIED}
        origins = origins - {""} or {_origin(instruction)} - {""}
        if not origins:  # what XLA adds to a loop belongs to the loop
            around = callers.get(instruction.computation, ())
            origins = {_origin(module.instructions[name]) for name in around} - {""}
        opcodes = Counter(each.opcode for each in inner if each.opcode not in FREE)
        is_loop = is_kernel_call(instruction)
        kernels.append(MatchedKernel(kernel, frozenset(origins), opcodes, is_loop))
    return kernels


def _computed(instruction: InstructionText, module: OptimizedModule) -> list[InstructionText]:
    """Returns what a kernel computes: the instructions within a fusion or a loop that is one."""
    if instruction.opcode in CONTROL and not is_kernel_call(instruction):
        return [instruction]
    inner = [
        each
        for name in instruction.calls
        for called in module.computations.get(name, ())
        for each in (_computed_whole(called, module))
    ]
    return inner if inner and instruction.opcode in ("fusion", "call") else [instruction]


def _computed_whole(instruction: InstructionText, module: OptimizedModule) -> list[InstructionText]:
    """Returns an instruction, and all that the computations which it calls compute."""
    inner = [
        each
        for name in instruction.calls
        for called in module.computations.get(name, ())
        for each in _computed_whole(called, module)
    ]
    return (
        [instruction, *inner]
        if instruction.opcode in ("while", "conditional")
        else (inner if instruction.opcode in ("fusion", "call") and inner else [instruction])
    )


def _origin(instruction: InstructionText) -> str:
    """Returns the name of the instruction that another one comes from, or of the operation."""
    _, mark, name = instruction.op_name.rpartition(ORIGIN)
    if mark:
        return name
    parts = (part for part in instruction.op_name.split("/") if not _PATH.fullmatch(part))
    return "/".join(parts)


_Member = tuple[int, MatchedKernel]  # of the first side, 0, or the second


def _connected(kernels: Sequence[_Member]) -> list[list[_Member]]:
    """Returns groups of kernels that share an origin; those without share what they are."""
    leader = list(range(len(kernels)))

    def first_of(number: int) -> int:
        while leader[number] != number:
            number = leader[number]
        return number

    holder: dict[str, int] = {}
    for number, (_, each) in enumerate(kernels):
        kernel = each.kernel
        alike = f" {kernel.kind} {_LAYOUT.sub('', kernel.shape)}"  # no name begins with a blank
        for key in each.origins or {alike}:
            other = holder.setdefault(key, number)
            leader[first_of(number)] = first_of(other)
    groups: dict[int, list[_Member]] = defaultdict(list)
    for number, each in enumerate(kernels):
        groups[first_of(number)].append(each)
    return list(groups.values())


def _reasons(
    first: Sequence[MatchedKernel], second: Sequence[MatchedKernel], names: tuple[str, str]
) -> Iterable[str]:
    if not first or not second:
        here = names[0] if first else names[1]
        if (first or second)[0].kernel.kind != OUTSIDE:
            yield f"kernels of their own under {here} alone"
        return

    def differ(words: Callable[[Sequence[MatchedKernel]], str]) -> str:
        values = words(first), words(second)
        if values[0] == values[1]:
            return ""
        return f"{values[0]} under {names[0]}, {values[1]} under {names[1]}"

    both = (_loops, _fusions, _libraries, _layouts, _calls)
    given = [said for words in both if (said := differ(words))]
    if any(each.is_loop for each in first) != any(each.is_loop for each in second):
        given = given[:1]  # whatever else differs follows from that
    yield from given
    if not given and first[0].kernel.kind != OUTSIDE:
        other = (_opcodes(first) - _opcodes(second)) + (_opcodes(second) - _opcodes(first))
        some = ", ".join(sorted(other)[:4])
        yield f"other operations: {some}" if some else "the same operations, as other machine code"


def _loops(kernels: Sequence[MatchedKernel]) -> str:
    return (
        "one kernel for the loop" if any(each.is_loop for each in kernels) else "kernel by kernel"
    )


def _fusions(kernels: Sequence[MatchedKernel]) -> str:
    number = len(kernels)
    return f"fused to {number} kernel{'s' if number != 1 else ''}"


def _libraries(kernels: Sequence[MatchedKernel]) -> str:
    used = sorted({each.kernel.library for each in kernels} - {"none"})
    return f"library {' and '.join(used)}" if used else "no library"


def _layouts(kernels: Sequence[MatchedKernel]) -> str:
    orders = {
        layout.partition(":")[0].rstrip("}") + "}"
        for each in kernels
        if each.kernel.opcode not in CONTROL
        for layout in _LAYOUT.findall(each.kernel.shape)
    }
    return f"layout {' '.join(sorted(orders))}" if orders else "no layout"


def _calls(kernels: Sequence[MatchedKernel]) -> str:
    most = max(each.kernel.calls for each in kernels)
    return f"{most:g} call{'s' if most != 1 else ''}"


def _opcodes(kernels: Sequence[MatchedKernel]) -> Counter[str]:
    return sum((each.opcodes for each in kernels), Counter[str]())
