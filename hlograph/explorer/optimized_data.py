"""An optimized module as columns, for the browser: its kernels and what is within fusions."""

from __future__ import annotations

from typing import Any

from hlograph.profiling.kinds import kind_of
from hlograph.profiling.optimized_module import OptimizedModule

# Attributes of a large convolution or a library's fusion are thousands of characters.
_MOST_CHARACTERS = 300


def optimized_data(module: OptimizedModule) -> dict[str, Any]:
    """Returns an optimized module as columns.

    Returns:
        A JSON object. Opcodes, shapes and names of operations are numbers of rows in tables.
        ``operands`` of instruction n are ``targets[offsets[n]:offsets[n + 1]]``. ``called`` has
        the numbers of the computations that an instruction calls, for those that call any.
        ``parameter`` has the numbers of parameters, and ``roots`` the roots of computations.
    """
    computations = list(module.computations)
    number_of = {name: number for number, name in enumerate(computations)}
    rows = [one for name in computations for one in module.computations[name]]
    row_of = {one.name: number for number, one in enumerate(rows)}
    opcodes, shapes, scopes, kinds = _Table(), _Table(), _Table(), _Table()
    offsets, targets = [0], []
    for one in rows:
        targets += [row_of[name] for name in one.operands if name in row_of]
        offsets.append(len(targets))
    return {
        "name": module.name,
        "entry": number_of[module.entry],
        "computations": computations,
        "names": [one.name for one in rows],
        "opcode": [opcodes(one.opcode) for one in rows],
        "shape": [shapes(one.shape) for one in rows],
        "computation": [number_of[one.computation] for one in rows],
        "scope": [scopes(one.op_name) for one in rows],
        "kind": [kinds(kind_of(one, module)) for one in rows],
        "attributes": [_cut(one.attributes) for one in rows],
        "offsets": offsets,
        "targets": targets,
        "called": {
            number: [number_of[name] for name in one.calls if name in number_of]
            for number, one in enumerate(rows)
            if one.calls
        },
        "parameter": {
            number: int(one.argument)
            for number, one in enumerate(rows)
            if one.opcode == "parameter"
        },
        "roots": [number for number, one in enumerate(rows) if one.is_root],
        "opcodes": opcodes.rows,
        "shapes": shapes.rows,
        "scopes": scopes.rows,
        "kinds": kinds.rows,
    }


class _Table:
    """Collects distinct texts as the rows of a table; returns the row of each."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def rows(self) -> list[str]:
        return list(self._numbers)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
