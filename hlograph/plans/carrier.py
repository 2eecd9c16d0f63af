"""Compilation of an optimized module as it is, without XLA's optimizations.

jaxlib has no way to ask for that. So a carrier is compiled, a program of the same arguments and
results that does nothing else, and its module is replaced when XLA has optimized it.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from hlograph.plans import jaxlib_modules
from hlograph.plans.client import PlannedClient
from hlograph.plans.compiling import compiled_by
from hlograph.plans.errors import PlanError
from hlograph.plans.hook import editing
from hlograph.plans.literals import with_name
from hlograph.plans.plan import Plan
from hlograph.programs import mlir_modules
from hlograph.programs.program import to_stablehlo
from hlograph.reading.hlo_editing import Computation
from hlograph.reading.hlo_text import ArrayShape, array_shape

# Names of modules are waited for by the hook, so each compilation has its own.
_NAME, _NUMBERS = "carrier__", itertools.count()
_ZEROS = {"pred": "false", "c64": "(0, 0)", "c128": "(0, 0)"}


def compile_optimized(proto: bytes, plan: Plan | None = None) -> Any:
    """Compiles a module that XLA has optimized, without optimizing it again.

    Args:
        proto: Serialized ``HloModuleProto``. Its parameters are row-major arrays, and so are the
            elements of its result, or the result itself. Each one is a buffer of its own.
        plan: Plan whose flags the code is generated with; all else of it is left out.

    Returns:
        The ``jaxlib._jax.LoadedExecutable``.

    Raises:
        PlanError: The module has other parameters or results, or XLA does not compile it.
    """
    from jax.extend import backend

    plan = replace(plan or Plan(), steps=(), layouts={}, placements=(), placed="")
    name = f"{_NAME}{next(_NUMBERS)}"
    data = mlir_modules.renamed(to_stablehlo(_carrier(proto)), name)
    client = PlannedClient(backend.get_backend("cpu"), plan)
    with editing(name, lambda _: with_name(proto, name)) as waiting:
        executable = compiled_by(client, plan, name, data)
    if not waiting.seen:
        raise PlanError("jaxlib did not show the module of the carrier, and compiled that one")
    return executable


def _carrier(proto: bytes) -> bytes:
    """Returns a module with the parameters and the results of another one."""
    entry = jaxlib_modules.module_text(proto).entry
    instructions = entry.by_name
    is_tuple = entry.root.opcode == "tuple"
    names = entry.root.operands if is_tuple else [entry.root.name]
    _check_own(entry, names)
    results = [_row_major(instructions[name].shape) for name in names]
    lines = [
        f"  p{number} = {_text(_row_major(one.shape))} parameter({number})"
        for number, one in enumerate(entry.parameters)
    ]
    for number, shape in enumerate(results):
        zero = _ZEROS.get(shape.type, "0")
        lines.append(f"  z{number} = {shape.type}[] constant({zero})")
        lines.append(f"  r{number} = {_text(shape)} broadcast(z{number}), dimensions={{}}")
    if is_tuple:
        shapes = ", ".join(map(_text, results))
        made = ", ".join(f"r{number}" for number in range(len(results)))
        lines.append(f"  ROOT r = ({shapes}) tuple({made})")
    else:
        lines[-1] = lines[-1].replace("  ", "  ROOT ", 1)
    text = "\n".join(["HloModule carrier\n", "ENTRY carrier {", *lines, "}"])
    return jaxlib_modules.proto_of(text)


def _check_own(entry: Computation, results: list[str]) -> None:
    """Checks that results are buffers of their own. XLA copies others before this stage."""
    instructions, seen = entry.by_name, set[str]()
    for name in results:
        one = instructions[name]
        while one.opcode == "bitcast":
            one = instructions[one.operands[0]]
        if one.opcode in ("parameter", "constant") or one.name in seen:
            raise PlanError(
                f"expected results that are buffers of their own, got the {one.opcode} {one.name} "
                "as one, or twice: a run would not end. Copy it"
            )
        seen.add(one.name)


def _row_major(text: str) -> ArrayShape:
    shape = array_shape(text)
    if shape is None or not shape.is_row_major:
        raise PlanError(f"expected row-major arrays as parameters and results, got {text}")
    return shape


def _text(shape: ArrayShape) -> str:
    return f"{shape.type}[{','.join(map(str, shape.dimensions))}]"
