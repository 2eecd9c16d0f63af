"""Placements of an optimized module: those that apply, and carrying them out one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from hlograph.errors import HloError, PlanError
from hlograph.plans import jaxlib_modules
from hlograph.plans.placement import Decision, Placement
from hlograph.plans.placing.fusing import check_fuse, place_fuse
from hlograph.plans.placing.library import check_library, check_no_library, place_library
from hlograph.plans.placing.operations import ELEMENTWISE, is_library_fusion, is_loop_fusion
from hlograph.plans.placing.partitions import (
    check_one_kernel,
    partition_values,
    place_one_kernel,
    place_partitions,
)
from hlograph.plans.placing.splitting import parts_of, place_unfuse
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_PLACES: Mapping[Decision, Callable[[ModuleText, str, str], None]] = {
    "partitions": place_partitions,
    "library": place_library,
    "one-kernel": place_one_kernel,
    "unfuse": place_unfuse,
    "fuse": place_fuse,
}


def place_one(module: ModuleText, placement: Placement) -> None:
    """Carries out a placement. A module in which it does not apply stays as it is.

    Raises:
        PlanError: It does not apply.
    """
    if placement.decision not in _PLACES:
        raise PlanError(f"expected one of {', '.join(_PLACES)}, got {placement.decision!r}")
    # The number of parts is a note at one instruction, which no look-up depends on.
    if placement.decision == "partitions":
        module.index()
    else:
        module.changed()
    try:
        _PLACES[placement.decision](module, placement.instruction, placement.value)
    except HloError as error:
        raise PlanError(f"{placement}: {error}") from error
    if placement.decision != "partitions":
        module.changed()


def written(module: ModuleText) -> bytes:
    """Returns the serialized ``HloModuleProto`` of a module.

    Raises:
        PlanError: jaxlib does not read its text.
    """
    try:
        return jaxlib_modules.proto_of(str(module))
    except Exception as error:  # of classes that jaxlib does not export
        raise PlanError(f"jaxlib does not read the module with the placements: {error}") from error


_LIBRARIES = ("ynn", "onednn")


def placements_of(proto: bytes) -> list[Placement]:
    """Returns the placements that apply to a module, each taken alone.

    ``partitions`` is listed with one thread and powers of two, ``unfuse`` for whole fusions and for
    those of their parts that move data or are read more than once.

    Args:
        proto: Serialized ``HloModuleProto`` of the optimized module.
    """
    return placements_in(jaxlib_modules.module_text(proto))


def placements_in(module: ModuleText) -> list[Placement]:
    """Returns the placements that apply to a module that was parsed; see ``placements_of``."""
    fused = {name for _, op in module.instructions() if op.opcode == "fusion" for name in op.calls}
    placements: list[Placement] = []
    for home in module.computations.values():
        if home.name in fused:
            continue
        for op in home.instructions:
            placements += _of(module, home, op)
    return placements


def _of(module: ModuleText, home: Computation, op: Instruction) -> Iterator[Placement]:
    if is_loop_fusion(op):
        for value in partition_values(module, home, op):
            yield Placement(op.name, "partitions", value)
        yield from _unfuses(module, op)
        for user in home.users(op.name):
            if _accepts(check_fuse, module, home, op, user):
                yield Placement(op.name, "fuse", user.name)
    if is_library_fusion(op) and _accepts(check_no_library, module, op):
        yield Placement(op.name, "library", "none")
    if op.opcode in ("dot", "convolution") or is_loop_fusion(op):
        for library in _LIBRARIES:
            if _accepts(check_library, module, home, op, library):
                yield Placement(op.name, "library", library)
    if op.opcode in ("call", "while") and _accepts(check_one_kernel, module, home, op):
        yield Placement(op.name, "one-kernel")


def _unfuses(module: ModuleText, op: Instruction) -> Iterator[Placement]:
    inner = module.computations[op.calls[0]]
    parts = parts_of(module, op)
    if parts:
        yield Placement(op.name, "unfuse")
    for name in parts:
        shared = len(inner.users(name)) > 1
        if len(parts) > 1 and (shared or inner.by_name[name].opcode not in ELEMENTWISE):
            yield Placement(name, "unfuse")


def _accepts(check: object, *arguments: object) -> bool:
    assert callable(check)
    try:
        check(*arguments)
    except PlanError:
        return False
    return True
