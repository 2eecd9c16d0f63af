"""Layouts of instructions, arguments and results, which XLA has to keep.

XLA copies an array where another layout is needed, and whatever has no layout of its own follows
its neighbours. What the optimized module shows is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hlograph.errors import HloError, PlanError
from hlograph.plans import jaxlib_modules, mlir_modules
from hlograph.plans.jaxlib_modules import literals_in, with_literals
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape, numbers

_SIGNATURE = re.compile(r"(argument|result):(\d{1,9})")
_LAYOUT = re.compile(r"\{(?:\d+(?:,\d+)*)?\}")
_TARGET = '"LayoutConstraint"'


def check(layouts: Mapping[str, str]) -> None:
    """Checks that layouts are written as minor-to-major orders.

    Raises:
        PlanError: One of them is not.
    """
    for name, layout in layouts.items():
        order = numbers(layout) if isinstance(layout, str) and _LAYOUT.fullmatch(layout) else None
        if order is None or sorted(order) != list(range(len(order))):
            raise PlanError(
                f"expected a minor-to-major order such as {{0,1}} as the layout of {name}, got "
                f"{layout!r}"
            )


def needs_module(layouts: Mapping[str, str]) -> bool:
    """Returns True if some layouts are those of instructions."""
    return not all(map(_SIGNATURE.fullmatch, layouts))


def concerns_signature(layouts: Mapping[str, str]) -> bool:
    """Returns True if some layouts are those of arguments or results."""
    return any(map(_SIGNATURE.fullmatch, layouts))


def constrain(proto: bytes, layouts: Mapping[str, str]) -> bytes:
    """Returns a module in which instructions have given layouts.

    Each gets a custom call ``LayoutConstraint``, to which
    ``jax.experimental.layout.with_layout_constraint`` is lowered too. Constraints of arguments and
    results are left to ``constrain_signature``.

    Args:
        proto: Serialized ``HloModuleProto`` before XLA's optimizations.
        layouts: Minor-to-major orders such as ``{0,1}``, by the instructions' names.

    Raises:
        PlanError: There is no such instruction, or the layout does not fit it.
    """
    check(layouts)
    inner = {name: order for name, order in layouts.items() if not _SIGNATURE.fullmatch(name)}
    if not inner:
        return proto
    module = jaxlib_modules.module_text(proto)
    for name, layout in inner.items():
        try:
            computation, op = module.find(name)
        except HloError as error:
            raise PlanError(str(error)) from error
        _constrain(module, computation, op, layout)
    return with_literals(jaxlib_modules.proto_of(str(module)), literals_in(proto))


def constrain_signature(module: Any, layouts: Mapping[str, str]) -> None:
    """Sets layouts of the arguments and results of an ``ir.Module``.

    Args:
        module: The ``ir.Module``; it is changed.
        layouts: Minor-to-major orders by ``argument:N`` and ``result:N``; others are left out.

    Raises:
        PlanError: There is no such argument or result, or the layout does not fit it.
    """
    for name, layout in layouts.items():
        if match := _SIGNATURE.fullmatch(name):
            try:
                mlir_modules.set_layout(module, match[1] == "result", int(match[2]), layout)
            except ValueError as error:
                raise PlanError(f"the layout {layout} does not fit {name}: {error}") from error


def _constrain(module: ModuleText, home: Computation, op: Instruction, layout: str) -> None:
    shape = array_shape(op.shape)
    if shape is None or len(numbers(layout)) != len(shape.dimensions):
        raise PlanError(
            f"expected a layout of {op.name}, which is {op.shape}, got {layout}: only arrays "
            "have layouts, with one number for each dimension"
        )
    for _, caller in module.called_from().get(home.name, ()):
        if caller.opcode not in ("while", "call", "conditional"):
            raise PlanError(f"{op.name} is computed within {caller.name} and has no layout")
    text = op.shape.split("{")[0] + layout
    attributes = {"custom_call_target": _TARGET, "operand_layout_constraints": f"{{{text}}}"}
    name = module.fresh(f"{op.name}_layout")
    for user in home.instructions:
        user.operands = [name if operand == op.name else operand for operand in user.operands]
    made = Instruction(name, text, "custom-call", [op.name], attributes, op.is_root)
    op.is_root = False
    home.instructions.insert(home.instructions.index(op) + 1, made)
