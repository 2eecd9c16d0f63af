"""Order that instructions of a computation must keep, and buffers that are written again.

XLA inserts the copies that values need before this stage. An instruction that is moved to a later
reader must not find its operand overwritten there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlograph.errors import PlanError
from hlograph.plans.placing.kinds import IN_PLACE
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_THROUGH = ("bitcast", "get-tuple-element", "tuple")
# Instructions that may write into the buffer of an operand.
_WRITERS = IN_PLACE | frozenset(
    [
        "while",
        "call",
        "conditional",
        "custom-call",
        "sort",
        "async-start",
        "async-update",
        "async-done",
        "all-reduce",
        "copy-start",
    ]
)
_ALIASED = re.compile(r"\((\d+),")


def depends_on(computation: Computation, later: str, earlier: str) -> bool:
    """Returns True if one instruction has to run after another one."""
    instructions, seen, waiting = computation.by_name, {later}, [later]
    while waiting:
        one = instructions[waiting.pop()]
        for name in (*one.operands, *one.predecessors):
            if name == earlier:
                return True
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return False


def check_read_later(
    module: ModuleText, computation: Computation, values: list[str], reader: str
) -> None:
    """Checks that values still hold when an instruction reads them that did not before.

    Raises:
        PlanError: One of them may be overwritten by then.
    """
    for value in values:
        for writer in _writers(module, computation, value):
            if writer == reader or not depends_on(computation, writer, reader):
                raise PlanError(
                    f"{reader} would read {value}, which {writer} may have overwritten by then"
                )


def _writers(module: ModuleText, computation: Computation, value: str) -> Iterator[str]:
    base = _base(computation, value)
    seen, waiting = {base}, [base]
    while waiting:
        for user in computation.users(waiting.pop()):
            if user.name in seen:
                continue
            seen.add(user.name)
            if user.opcode in _THROUGH:
                waiting.append(user.name)
            elif _writes(module, user):
                yield user.name
    if computation.by_name[base].opcode == "parameter":
        yield from _last_writers(module, computation, base)


def _writes(module: ModuleText, user: Instruction) -> bool:
    if user.opcode != "fusion":
        return user.opcode in _WRITERS
    return not IN_PLACE.isdisjoint(module.computations[user.calls[0]].opcodes)


def _last_writers(module: ModuleText, computation: Computation, base: str) -> Iterator[str]:
    """Yields what is written to the place of a loop's state or of a donated argument."""
    root, instructions = computation.root, computation.by_name
    callers = module.called_from().get(computation.name, ())
    results = root.operands if root.opcode == "tuple" else [root.name]
    if any(one.attributes.get("body") == f"%{computation.name}" for _, one in callers):
        for number, result in enumerate(results):
            one = instructions[result]
            kept = one.opcode == "get-tuple-element" and one.operands == [base]
            if not (kept and one.attributes.get("index") == str(number)):
                yield _source(computation, result)
    elif computation.is_entry and int(instructions[base].argument) in _aliases(module):
        yield from (_source(computation, result) for result in results)


def _aliases(module: ModuleText) -> set[int]:
    start = module.header.find("input_output_alias={")
    if start < 0:
        return set()
    end = module.header.find("entry_computation_layout", start)
    return {int(number) for number in _ALIASED.findall(module.header[start : max(end, start)])}


def _base(computation: Computation, name: str) -> str:
    one = computation.by_name[name]
    while one.opcode in ("bitcast", "get-tuple-element"):
        one = computation.by_name[one.operands[0]]
    return one.name


def _source(computation: Computation, name: str) -> str:
    one = computation.by_name[name]
    while one.opcode == "bitcast":
        one = computation.by_name[one.operands[0]]
    return one.name
