"""Placements carried out on the module that XLA:CPU has optimized (way B).

Each decision has a module here. They edit the text of the module, which jaxlib writes and reads.
A module that a placement has changed loses what is known of its source code, and jaxlib 0.10.2
forgets which arguments were donated: they are kept, and copied where they were written in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hlograph.plans import jaxlib_modules
from hlograph.plans.errors import PlanError
from hlograph.plans.literals import literals, with_literals
from hlograph.plans.placement import Decision, Placement
from hlograph.plans.placing.fusing import place_fuse
from hlograph.plans.placing.hlo_text import ModuleText
from hlograph.plans.placing.kernels import place_one_kernel
from hlograph.plans.placing.library import place_library
from hlograph.plans.placing.partitions import place_partitions
from hlograph.plans.placing.splitting import place_unfuse

_PLACES: Mapping[Decision, Callable[[ModuleText, str, str], None]] = {
    "partitions": place_partitions,
    "library": place_library,
    "one-kernel": place_one_kernel,
    "unfuse": place_unfuse,
    "fuse": place_fuse,
}


def place(proto: bytes, placements: Sequence[Placement]) -> bytes:
    """Returns a module with placements carried out, in order.

    Args:
        proto: Serialized ``HloModuleProto`` of the optimized module.
        placements: The placements.

    Returns:
        The serialized ``HloModuleProto`` of the new module.

    Raises:
        PlanError: A placement does not apply.
    """
    module = ModuleText.parse(jaxlib_modules.text_of(proto, literals=False))
    for placement in placements:
        if placement.decision not in _PLACES:
            raise PlanError(f"expected one of {', '.join(_PLACES)}, got {placement.decision!r}")
        try:
            _PLACES[placement.decision](module, placement.instruction, placement.value)
        except PlanError as error:
            raise PlanError(f"{placement}: {error}") from error
        module.changed()
    try:
        result = jaxlib_modules.proto_of(str(module))
    except Exception as error:  # of classes that jaxlib does not export
        raise PlanError(f"jaxlib does not read the module with the placements: {error}") from error
    values = literals(proto)
    origins = {one.name: one.origin for _, one in module.instructions() if one.opcode == "constant"}
    return with_literals(
        result, {name: values[old] for name, old in origins.items() if old in values}
    )
