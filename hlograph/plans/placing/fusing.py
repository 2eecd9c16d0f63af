"""Placement ``fuse``: a loop fusion is computed within another one that uses it.

XLA inserts the copies that values need before this stage. An instruction that is moved to a later
reader must not find its operand overwritten there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlograph.errors import PlanError
from hlograph.plans.placing.operations import ELEMENTWISE, IN_PLACE, LOOP, is_loop_fusion
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

_THROUGH = ("bitcast", "get-tuple-element", "tuple")
# Instructions that may write into the buffer of an operand.
_WRITERS = IN_PLACE | frozenset((
    "while", "call", "conditional", "custom-call", "sort", "async-start", "async-update",
    "async-done", "all-reduce", "copy-start",
))  # fmt: skip
_ALIASED = re.compile(r"\((\d+),")


def depends_on(computation: Computation, later: str, earlier: str) -> bool:
    """Returns True if one instruction has to run after another one."""
    instructions, seen, waiting = computation.by_name, {later}, [later]
    while waiting:
        op = instructions[waiting.pop()]
        for name in (*op.operands, *op.predecessors):
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
    if any(op.attributes.get("body") == f"%{computation.name}" for _, op in callers):
        for number, result in enumerate(results):
            op = instructions[result]
            kept = op.opcode == "get-tuple-element" and op.operands == [base]
            if not (kept and op.attributes.get("index") == str(number)):
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
    op = computation.by_name[name]
    while op.opcode in ("bitcast", "get-tuple-element"):
        op = computation.by_name[op.operands[0]]
    return op.name


def _source(computation: Computation, name: str) -> str:
    op = computation.by_name[name]
    while op.opcode == "bitcast":
        op = computation.by_name[op.operands[0]]
    return op.name


# XLA's own limits keep code and the time of compilation from growing exponentially.
_MOST_EMITTED, _MOST_INSTRUCTIONS, _MOST_OPERANDS = 2000, 300, 64
_MOST_COPIES = 16

_FUSED = LOOP | {"parameter", "constant"}


def place_fuse(module: ModuleText, name: str, value: str) -> None:
    """Fuses a loop fusion into a user, and keeps it if it has other users.

    Raises:
        PlanError: One of them is no loop fusion, or XLA could not compile the result.
    """
    home, producer = module.find(name)
    consumer = home.by_name.get(value)
    if consumer is None:
        raise PlanError(f"expected a user of {name} as the value of fuse, got {value!r}")
    module.index()
    check_fuse(module, home, producer, consumer)
    module.changed()
    inner = module.computations[consumer.calls[0]]
    prefix = module.free_prefix(f"{consumer.name}.{producer.name}")
    inner.instructions, consumer.operands = _merged(module, producer, consumer, prefix)
    module.add(inner)
    if not home.users(name) and not producer.is_root:
        home.instructions.remove(producer)
        del module.computations[producer.calls[0]]


def check_fuse(
    module: ModuleText, home: Computation, producer: Instruction, consumer: Instruction
) -> None:
    """Checks that a fusion can be computed within a user.

    Raises:
        PlanError: It cannot.
    """
    names = f"{producer.name} into {consumer.name}"
    if producer.name not in consumer.operands:
        raise PlanError(f"cannot fuse {names}: expected an operand and its user")
    for op in (producer, consumer):
        if not is_loop_fusion(op) or array_shape(op.shape) is None:
            raise PlanError(f"cannot fuse {names}: {op.name} is no loop fusion of one array")
        if op.predecessors:
            raise PlanError(f"cannot fuse {names}: {op.name} has control dependencies")
        if others := sorted(module.computations[op.calls[0]].opcodes - _FUSED):
            raise PlanError(f"cannot fuse {names}: {op.name} has a {others[0]}")
    if home.is_predecessor(producer.name):
        raise PlanError(f"cannot fuse {names}: an instruction has to follow {producer.name}")
    check_read_later(module, home, producer.operands, consumer.name)
    instructions, operands = _merged(module, producer, consumer, "merged")
    _check_size(names, instructions, operands)


def _check_size(names: str, instructions: list[Instruction], operands: list[str]) -> None:
    if len(instructions) > _MOST_INSTRUCTIONS or len(operands) > _MOST_OPERANDS:
        raise PlanError(
            f"cannot fuse {names}: expected at most {_MOST_INSTRUCTIONS} instructions and "
            f"{_MOST_OPERANDS} operands, the fusion has {len(instructions)} and {len(operands)}"
        )
    copies = _copies(instructions)
    if max(copies.values()) > _MOST_COPIES or sum(copies.values()) > _MOST_EMITTED:
        raise PlanError(
            f"cannot fuse {names}: an instruction would be computed {max(copies.values())} times "
            "for each element; use unfuse elsewhere first"
        )


def _copies(instructions: list[Instruction]) -> dict[str, int]:
    """Returns how often the code of each instruction is emitted: once for each way of indexing."""
    users: dict[str, list[Instruction]] = {op.name: [] for op in instructions}
    for op in instructions:
        for operand in op.operands:
            users[operand].append(op)
    copies: dict[str, int] = {}
    for op in reversed(instructions):
        same = [copies[user.name] for user in users[op.name] if user.opcode in ELEMENTWISE]
        other = [copies[user.name] for user in users[op.name] if user.opcode not in ELEMENTWISE]
        copies[op.name] = max(1, max(same, default=0) + sum(other))
        if op.opcode in ("parameter", "constant"):
            copies[op.name] = 1
    return copies


def _merged(
    module: ModuleText, producer: Instruction, consumer: Instruction, prefix: str
) -> tuple[list[Instruction], list[str]]:
    """Returns the instructions and operands of a user with its operand computed within."""
    made, used = module.computations[producer.calls[0]], module.computations[consumer.calls[0]]
    operands = [name for name in dict.fromkeys(consumer.operands) if name != producer.name]
    operands += [name for name in dict.fromkeys(producer.operands) if name not in operands]
    shapes = _shapes(used, consumer) | _shapes(made, producer)
    values = {name: f"{prefix}.{number}" for number, name in enumerate(operands)}
    merged = [
        Instruction(values[name], shapes[name], "parameter", [], argument=str(number))
        for number, name in enumerate(operands)
    ]
    for body, fusion, owner in ((made, producer, "of"), (used, consumer, "")):
        renamed: dict[str, str] = {}
        for op in body.instructions:
            if op.opcode == "parameter":
                renamed[op.name] = values[fusion.operands[int(op.argument)]]
                continue
            copy = op.copy(f"{prefix}.{op.name}" if owner else op.name)
            copy.operands = [renamed[operand] for operand in op.operands]
            copy.is_root = op.is_root and not owner
            renamed[op.name] = copy.name
            merged.append(copy)
        if owner:
            values[producer.name] = renamed[body.root.name]
    return merged, operands


def _shapes(body: Computation, fusion: Instruction) -> dict[str, str]:
    return {fusion.operands[int(op.argument)]: op.shape for op in body.parameters}
