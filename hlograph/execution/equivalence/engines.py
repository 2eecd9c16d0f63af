"""The two engines that run modules: XLA:CPU's compiler and XLA's reference evaluator."""

from __future__ import annotations

from typing import Protocol

from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import (
    Array,
    ComparedModule,
    Signature,
    from_bytes,
    to_bytes,
)
from hlograph.execution.equivalence.obstacles import Limits
from hlograph.execution.equivalence.verdict import EngineName


class Runner(Protocol):
    """Function that runs a module."""

    def __call__(self, inputs: list[Array]) -> list[Array]:
        """Returns the leaves of the result.

        Raises:
            HloError: XLA cannot run the module.
        """
        ...


def make_runner(
    engine: EngineName, module: ComparedModule, signature: Signature, limits: Limits
) -> Runner:
    """Returns a function that runs a module.

    Args:
        engine: The engine.
        module: The module; it is not changed.
        signature: Signature of the module.
        limits: Limits of the cost.

    Raises:
        HloError: The module exceeds the limits, or XLA does not compile it.
    """
    flops, transcendentals, _ = module._native.cost()
    most_ops, most_flops = (
        (limits.compiled_ops, limits.flops)
        if engine == "compiled"
        else (limits.evaluated_ops, limits.evaluated_flops)
    )
    for what, found, most in (
        ("instructions", module._native.op_count, most_ops),
        ("flops", flops + 16 * transcendentals, most_flops),
    ):
        if found > most:
            raise HloError(f"expected at most {most:.3g} {what} to run {engine}, got {found:.3g}")
    return (_compiled if engine == "compiled" else _evaluated)(module, signature, limits)


def _compiled(module: ComparedModule, signature: Signature, limits: Limits) -> Runner:
    # Strict means no fused multiply-add and no libraries with their own order of sums, so that
    # results depend less on XLA:CPU's fusions. Level 0 takes half the time of level 1.
    program = native().Program.compile(
        module._native, disabled_passes=[], strict=True, optimization_level=0
    )

    def run(inputs: list[Array]) -> list[Array]:
        return from_bytes(signature.results, program.run(to_bytes(inputs)))

    return run


def _evaluated(module: ComparedModule, signature: Signature, limits: Limits) -> Runner:
    # The evaluator runs the instructions as they are, without any pass before.
    def run(inputs: list[Array]) -> list[Array]:
        outputs = native().evaluate(
            module._native, to_bytes(inputs), max_seconds=limits.evaluator_seconds
        )
        return from_bytes(signature.results, outputs)

    return run
