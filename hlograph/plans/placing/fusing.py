"""Placement ``fuse``: a loop fusion is computed within another one that uses it."""

from __future__ import annotations

from hlograph.errors import PlanError
from hlograph.plans.placing.dependences import check_read_later
from hlograph.plans.placing.kinds import ELEMENTWISE, LOOP, is_loop_fusion
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

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
    for one in (producer, consumer):
        if not is_loop_fusion(one) or array_shape(one.shape) is None:
            raise PlanError(f"cannot fuse {names}: {one.name} is no loop fusion of one array")
        if one.predecessors:
            raise PlanError(f"cannot fuse {names}: {one.name} has control dependencies")
        if others := sorted(module.computations[one.calls[0]].opcodes - _FUSED):
            raise PlanError(f"cannot fuse {names}: {one.name} has a {others[0]}")
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
    users: dict[str, list[Instruction]] = {one.name: [] for one in instructions}
    for one in instructions:
        for operand in one.operands:
            users[operand].append(one)
    copies: dict[str, int] = {}
    for one in reversed(instructions):
        same = [copies[user.name] for user in users[one.name] if user.opcode in ELEMENTWISE]
        other = [copies[user.name] for user in users[one.name] if user.opcode not in ELEMENTWISE]
        copies[one.name] = max(1, max(same, default=0) + sum(other))
        if one.opcode in ("parameter", "constant"):
            copies[one.name] = 1
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
        for one in body.instructions:
            if one.opcode == "parameter":
                renamed[one.name] = values[fusion.operands[int(one.argument)]]
                continue
            copy = one.copy(f"{prefix}.{one.name}" if owner else one.name)
            copy.operands = [renamed[operand] for operand in one.operands]
            copy.is_root = one.is_root and not owner
            renamed[one.name] = copy.name
            merged.append(copy)
        if owner:
            values[producer.name] = renamed[body.root.name]
    return merged, operands


def _shapes(body: Computation, fusion: Instruction) -> dict[str, str]:
    return {fusion.operands[int(one.argument)]: one.shape for one in body.parameters}
