"""jaxlib's CPU client, with a plan for the one program that it compiles."""

from __future__ import annotations

from typing import Any

from hlograph.plans import flags, jaxlib_modules
from hlograph.plans.errors import PlanRefusedError
from hlograph.plans.hook import editing
from hlograph.plans.placing import place
from hlograph.plans.plan import Plan
from hlograph.programs import mlir_modules


class PlannedClient:
    """Stands in for ``jaxlib._jax.Client`` and compiles one program as a plan says.

    jax hands its client the lowered module and the options of the compilation. This one adds the
    flags that jax refuses and applies the placements. Everything else is the client's.

    Attributes:
        placed: Fingerprint of the optimized module of the last compilation; empty without
            placements.

    Args:
        client: jaxlib's client.
        plan: The plan; its steps and layouts are those of the lowered module already.
    """

    def __init__(self, client: Any, plan: Plan) -> None:
        self._client, self._plan = client, plan
        self.placed = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def compile_and_load(
        self, computation: Any, executable_devices: Any, compile_options: Any, **more: Any
    ) -> Any:
        """Compiles a module as ``jaxlib._jax.Client.compile_and_load`` does.

        Raises:
            PlanRefusedError: The optimized module is not the one that the placements are about.
            PlanError: A placement does not apply.
        """
        extra = flags.serialized_extra_options(self._plan.flags)
        if extra:
            serialized = compile_options.SerializeAsString() + extra
            compile_options = type(compile_options).ParseFromString(serialized)
        arguments = (computation, executable_devices, compile_options)
        if not self._plan.placements:
            return self._client.compile_and_load(*arguments, **more)
        with editing(_name(computation), self._edit):
            return self._client.compile_and_load(*arguments, **more)

    def _edit(self, proto: bytes) -> bytes:
        self.placed = jaxlib_modules.fingerprint(proto)
        if self._plan.placed and self._plan.placed != self.placed:
            raise PlanRefusedError(
                f"this plan's placements are about an optimized module with fingerprint "
                f"{self._plan.placed}, and XLA made one with {self.placed}: another jaxlib, other "
                "flags or another CPU. Make a new plan with hlograph.optimize"
            )
        return place(proto, self._plan.placements)


def _name(computation: Any) -> str:
    module = mlir_modules.parse(computation) if isinstance(computation, bytes) else computation
    return mlir_modules.name_of(module)
