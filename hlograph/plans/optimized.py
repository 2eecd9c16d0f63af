"""The module that XLA:CPU has optimized, as its scheduler gets it: what placements are about."""

from __future__ import annotations

from hlograph.plans.compiling import capture
from hlograph.plans.errors import PlanError
from hlograph.plans.jaxlib_modules import fingerprint, proto_of, read, text_of
from hlograph.plans.placement import Placement
from hlograph.plans.placing.listing import placements_of
from hlograph.plans.plan import Plan
from hlograph.programs import Program

__all__ = ["decisions", "fingerprint", "optimized_module", "proto_of", "read", "text_of"]


def optimized_module(program: Program, plan: Plan | None = None) -> bytes:
    """Returns the module that placements of a program are about.

    XLA optimizes the program, and is stopped before it generates code.

    Args:
        program: The program.
        plan: Steps, layouts and flags; its placements are not carried out.

    Returns:
        A serialized ``HloModuleProto``.

    Raises:
        PlanError: The plan cannot be carried out, or XLA does not compile the program.
    """
    return capture(program, plan)


def decisions(proto: bytes) -> list[Placement]:
    """Returns the placements that apply to an optimized module, each taken alone.

    Args:
        proto: Serialized ``HloModuleProto``, such as that of ``optimized_module``.

    Raises:
        PlanError: The module has a form that is not known.
    """
    try:
        return placements_of(proto)
    except (ValueError, KeyError, IndexError) as error:
        raise PlanError(f"this optimized module has an unknown form: {error!r}") from error
