"""Kernels of an optimized module, each as a module of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlograph.profiling.kernel_categories import FREE, is_kernel_call
from hlograph.profiling.optimized_module import CONTROL, OptimizedModule, known_trips
from hlograph.reading.hlo_text import InstructionText, without_metadata

_HEADER = "HloModule kernel"
_NAME = re.compile(r"%[\w.\-]+")
_SIGNATURE = re.compile(r"^(%\S+) \(.*\) -> .* \{$", re.M)
_PREDECESSORS = re.compile(r",? ?control-predecessors=\{[^}]*\}")

# The guess of hlograph/native/module/trip_count.cc: the time of a loop as one kernel is predicted
# by it, and is compared with that of the kernels of a loop.
_UNKNOWN_TRIPS = 8.0


class KernelModule(NamedTuple):
    """A kernel, as a module that depends on nothing else.

    Attributes:
        name: Name of its instruction in the optimized module.
        text: HLO text, in which names are numbers, so that equal kernels have equal texts: an entry
            computation of its operands and the instruction, and what it calls. Of a loop or branch
            whose body has steps of its own, only the opcode.
        calls: Number of times that it runs in a run, if each loop runs as often as XLA knows, or
            eight times where it does not know, and each branch once.
    """

    name: str
    text: str
    calls: float


def kernel_modules(program: OptimizedModule) -> list[KernelModule]:
    """Returns the kernels of a program, in the order of its schedule.

    Args:
        program: The module that jaxlib generated code from.
    """
    texts = computation_texts(program)
    return [
        KernelModule(instruction.name, _text(instruction, program, texts), calls)
        for computation, calls in _running(program, program.entry, 1.0)
        for instruction in program.computations[computation]
        if instruction.opcode not in FREE
    ]


def computation_texts(program: OptimizedModule) -> dict[str, str]:
    """Returns the text of each computation, without ENTRY and metadata."""
    texts = {}
    for part in without_metadata(program.text).split("\n\n"):
        text = part.strip().removeprefix("ENTRY ")
        if text.startswith("%"):
            texts[text[1:].split(" ", 1)[0]] = text
    return texts


def reachable(program: OptimizedModule, *computations: str) -> list[str]:
    """Returns computations and all that they call, each after all that it calls."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for instruction in program.computations[name]:
                for called in instruction.calls:
                    visit(called)
            order[name] = None

    for computation in computations:
        visit(computation)
    return list(order)


def is_kernel_text(text: str) -> bool:
    """Returns False for the opcode that is the text of a loop or branch with steps inside."""
    return text.startswith(_HEADER)


def has_steps_inside(instruction: InstructionText) -> bool:
    """Returns True for a loop, branch or call whose computations have steps of their own."""
    return instruction.opcode in CONTROL and not is_kernel_call(instruction)


def _running(
    program: OptimizedModule, computation: str, calls: float
) -> Iterator[tuple[str, float]]:
    """Yields the computations that have steps, and how often they run."""
    yield computation, calls
    for instruction in program.computations[computation]:
        if has_steps_inside(instruction):
            trips = known_trips(instruction.attributes) if instruction.opcode == "while" else []
            unknown = _UNKNOWN_TRIPS if instruction.opcode == "while" else 1.0
            times = float(trips[0]) if trips else unknown
            for called in instruction.calls:
                yield from _running(program, called, calls * times)


def _text(instruction: InstructionText, program: OptimizedModule, texts: dict[str, str]) -> str:
    if has_steps_inside(instruction):
        return instruction.opcode
    # A signature repeats the names of parameters.
    called = [
        _SIGNATURE.sub(r"\1 {", texts[name]) for name in reachable(program, *instruction.calls)
    ]
    operands = dict.fromkeys(instruction.operands)
    parameters = [
        f"  %{name} = {program.instructions[name].shape} parameter({number})"
        for number, name in enumerate(operands)
    ]
    attributes = _PREDECESSORS.sub("", instruction.attributes)
    arguments = ", ".join(f"%{name}" for name in instruction.operands)
    tail = f", {attributes}" if attributes else ""
    root = (
        f"  ROOT %{instruction.name} = {instruction.shape} {instruction.opcode}({arguments}){tail}"
    )
    entry = "\n".join(["ENTRY %entry {", *parameters, root, "}"])
    return _numbered("\n\n".join([_HEADER, *called, entry]) + "\n")


def _numbered(text: str) -> str:
    """Returns a text with numbers for names, in the order of their first use."""
    numbers: dict[str, str] = {}
    return _NAME.sub(lambda match: numbers.setdefault(match[0], f"%n{len(numbers)}"), text)
