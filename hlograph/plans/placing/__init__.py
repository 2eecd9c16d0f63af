"""Placements carried out on the module that XLA:CPU has optimized.

Each decision has a module here. They edit the text of the module, which jaxlib writes and reads.
A module that a placement has changed loses what is known of its source code, and jaxlib 0.10.2
forgets which arguments were donated: they are kept, and copied where they were written in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlograph.plans import jaxlib_modules
from hlograph.plans.jaxlib_modules import literals_in, with_literals
from hlograph.plans.placement import Placement
from hlograph.plans.placing.placements import place_one, written
from hlograph.reading.hlo_editing import ModuleText


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
    module = jaxlib_modules.module_text(proto)
    for placement in placements:
        place_one(module, placement)
    return with_old_literals(written(module), module, literals_in(proto))


def with_old_literals(proto: bytes, module: ModuleText, values: Mapping[str, bytes]) -> bytes:
    """Returns an edited module with the constants of the original one.

    Args:
        proto: The serialized ``HloModuleProto`` of the edited module.
        module: Its text.
        values: Serialized literals of the original module, by instruction.
    """
    origins = {op.name: op.origin for _, op in module.instructions() if op.opcode == "constant"}
    return with_literals(
        proto, {name: values[old] for name, old in origins.items() if old in values}
    )
