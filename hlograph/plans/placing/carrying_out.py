"""Placements carried out one by one on the text of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hlograph.errors import HloError, PlanError
from hlograph.plans import jaxlib_modules
from hlograph.plans.placement import Decision, Placement
from hlograph.plans.placing.fusing import place_fuse
from hlograph.plans.placing.kernels import place_one_kernel
from hlograph.plans.placing.library import place_library
from hlograph.plans.placing.partitions import place_partitions
from hlograph.plans.placing.splitting import place_unfuse
from hlograph.reading.hlo_editing import ModuleText

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
