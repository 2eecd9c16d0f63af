"""Parts of a module as programs of their own, and a module whose instructions have names for good.

A final module names its instructions anew, but keeps the metadata of those that they come from. So
what is compared is the module with the name of each instruction as its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from hlograph.errors import HloError
from hlograph.plans import Program, jaxlib_modules
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

ORIGIN = "origin/"
"""Mark before the name of an instruction in metadata; XLA may put names of calls before it."""

# Operands that a part computes itself, since they hold no data or say what others mean.
_TAKEN_ALONG = frozenset({"constant", "iota", "tuple"})
_DROPPED = ("metadata", "control-predecessors", "sharding")


def text_of(program: Program) -> ModuleText:
    """Returns the module of a program to edit, with all of its constants.

    Raises:
        HloError: jaxlib prints it in a form that is not known.
    """
    return ModuleText.parse(jaxlib_modules.text_of(program.hlo))


def program_of(text: ModuleText, name: str) -> Program:
    """Returns the program of a module's text.

    Raises:
        HloError: jaxlib does not read it.
    """
    try:
        return Program(name, "hlo", jaxlib_modules.proto_of(str(text)))
    except RuntimeError as error:  # jax.errors.JaxRuntimeError
        raise HloError(f"jaxlib does not read a part of the program: {error}") from error


def with_origins(program: Program) -> Program:
    """Returns a program in whose metadata each instruction has its own name.

    Raises:
        HloError: jaxlib prints the module in a form that is not known.
    """
    text = text_of(program)
    for _, instruction in text.instructions():
        name = json.dumps(ORIGIN + instruction.name)
        instruction.attributes["metadata"] = f"{{op_name={name}}}"
    return program_of(text, program.name)


def kept_by(computation: Computation, names: Collection[str]) -> set[str]:
    """Returns the instructions of a part: those of some names, and what they take along."""
    by_name = computation.by_name
    kept: set[str] = set()
    waiting = [name for name in names if by_name[name].opcode != "parameter"]
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        kept.add(name)
        waiting += [
            operand for operand in by_name[name].operands if by_name[operand].opcode in _TAKEN_ALONG
        ]
    return kept


def cut(module: ModuleText, computation: Computation, names: Collection[str]) -> ModuleText | None:
    """Returns a module of some instructions of a computation; None if it would compute nothing.

    Operands that are not among them become parameters. The result is what no other instruction of
    the part uses.

    Args:
        module: The module.
        computation: One of its computations, which becomes the entry.
        names: Names of instructions of the computation; parameters among them stay parameters.
    """
    kept = kept_by(computation, names)
    body = [op.copy(op.name) for op in computation.instructions if op.name in kept]
    used = {operand for op in body for operand in op.operands}
    free = [op for op in computation.instructions if op.name in used - kept]
    results = [op for op in body if op.name not in used and op.opcode not in _TAKEN_ALONG]
    if not results or any(op.shape.startswith("(") for op in free):
        return None
    parameters = [
        Instruction(op.name, op.shape, "parameter", [], argument=str(number), sign=op.sign)
        for number, op in enumerate(free)
    ]
    for op in body:
        op.is_root = False
        for attribute in _DROPPED:
            op.attributes.pop(attribute, None)
    if len(results) == 1:
        results[0].is_root = True
    else:
        shape = f"({', '.join(op.shape for op in results)})"
        operands = [op.name for op in results]
        root = Instruction(
            module.fresh("results"), shape, "tuple", operands, is_root=True, sign=body[0].sign
        )
        body.append(root)
    entry = Computation(
        module.fresh("entry"), True, [*parameters, *body], computation.tail, computation.sign
    )
    return _reachable(module, entry)


def _reachable(module: ModuleText, entry: Computation) -> ModuleText:
    """Returns a module of an entry and the computations that it needs, without metadata."""
    computations: dict[str, Computation] = {}
    waiting = [name for op in entry.instructions for name in op.calls]
    while waiting:
        name = waiting.pop()
        if name in computations:
            continue
        called = module.computations[name].copy()
        called.is_entry = False
        for op in called.instructions:
            op.attributes.pop("metadata", None)
        computations[name] = called
        waiting += [name for op in called.instructions for name in op.calls]
    return ModuleText("HloModule minimal", {**computations, entry.name: entry})
