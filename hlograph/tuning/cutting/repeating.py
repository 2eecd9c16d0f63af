"""A cut that runs several times in a run.

A call of an executable takes as long as many a kernel. In a loop a kernel runs as in the loops of
programs, with some tenths of a microsecond between two turns.
"""

from __future__ import annotations

import json

from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_ZEROS = {"pred": "false", "c64": "(0, 0)", "c128": "(0, 0)"}
_COUNTER = "s32[]"


def repeat(module: ModuleText, turns: int) -> None:
    """Makes the entry of a module the body of a loop, whose results are those of the last turn.

    Args:
        module: The module; it is changed. Its results are its own buffers, not its parameters'.
        turns: How often the loop turns.
    """
    body = module.entry
    parameters, names = body.parameters, _result_names(body)
    shapes = [_COUNTER, *(one.shape for one in parameters)]
    shapes += [body.by_name[name].shape for name in names]
    state = f"({', '.join(shapes)})"
    entry = _entry(module, state, body, parameters, names, turns)
    _make_body(module, body, state, parameters, names)
    body.is_entry = False
    module.add(entry)


def _result_names(entry: Computation) -> list[str]:
    root = entry.root
    return list(root.operands) if root.opcode == "tuple" else [root.name]


def _entry(
    module: ModuleText,
    state: str,
    body: Computation,
    parameters: list[Instruction],
    results: list[str],
    turns: int,
) -> Computation:
    """Returns the computation that runs the loop."""

    def made(name: str, shape: str, opcode: str, *operands: str, **more: str) -> Instruction:
        return Instruction(module.fresh(f"repeat.{name}"), shape, opcode, list(operands), more)

    given = [one.copy(module.fresh(f"{one.name}.given")) for one in parameters]
    zero = made("zero", _COUNTER, "constant")
    zero.argument = "0"
    instructions, elements = [*given, zero], [zero.name, *(one.name for one in given)]
    shapes = [body.by_name[name].shape for name in results]
    for shape in shapes:
        kind = shape.partition("[")[0]
        value = made("value", f"{kind}[]", "constant")
        value.argument = _ZEROS.get(kind, "0")
        first = made("first", shape, "broadcast", value.name, dimensions="{}")
        instructions += [value, first]
        elements.append(first.name)
    start = made("start", state, "tuple", *elements)
    config = {
        "known_trip_count": {"n": str(turns)},
        "known_init_step": {"init": "0", "step": "1"},
        "known_induction_variable": {"tuple_index": "0"},
    }
    condition = _condition(module, state, turns)
    loop = made("loop", state, "while", start.name, condition=f"%{condition.name}")
    loop.attributes |= {"body": f"%{body.name}", "backend_config": json.dumps(config)}
    found = [
        made("result", shape, "get-tuple-element", loop.name, index=str(1 + len(given) + number))
        for number, shape in enumerate(shapes)
    ]
    instructions += [start, loop, *found]
    if len(found) > 1:
        names = (one.name for one in found)
        instructions.append(made("results", f"({', '.join(shapes)})", "tuple", *names))
    instructions[-1].is_root = True
    return Computation(module.fresh("repeat_entry"), True, instructions)


def _condition(module: ModuleText, state: str, turns: int) -> Computation:
    names = [module.fresh(f"repeat.{name}") for name in ("state", "turn", "turns", "less")]
    instructions = [
        Instruction(names[0], state, "parameter", [], argument="0"),
        Instruction(names[1], _COUNTER, "get-tuple-element", [names[0]], {"index": "0"}),
        Instruction(names[2], _COUNTER, "constant", [], argument=str(turns)),
        Instruction(
            names[3], "pred[]", "compare", [names[1], names[2]], {"direction": "LT"}, is_root=True
        ),
    ]
    found = Computation(module.fresh("repeat_condition"), False, instructions)
    module.add(found)
    return found


def _make_body(
    module: ModuleText,
    body: Computation,
    state: str,
    parameters: list[Instruction],
    results: list[str],
) -> None:
    """Makes the parameters of a computation elements of a state, and its results the next state."""
    name = module.fresh("repeat.body_state")
    turn, one, following = (module.fresh(f"repeat.{n}") for n in ("at", "one", "next"))
    for number, parameter in enumerate(parameters):
        parameter.opcode, parameter.operands, parameter.argument = "get-tuple-element", [name], ""
        parameter.attributes = {"index": str(1 + number)}
    root = body.root
    root.is_root = False
    kept = body.instructions[:-1] if root.opcode == "tuple" else body.instructions
    body.instructions = [
        Instruction(name, state, "parameter", [], argument="0"),
        Instruction(turn, _COUNTER, "get-tuple-element", [name], {"index": "0"}),
        Instruction(one, _COUNTER, "constant", [], argument="1"),
        Instruction(following, _COUNTER, "add", [turn, one]),
        *kept,
        Instruction(
            module.fresh("repeat.next_state"),
            state,
            "tuple",
            [following, *(parameter.name for parameter in parameters), *results],
            is_root=True,
        ),
    ]
