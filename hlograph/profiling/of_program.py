"""Profiles of programs that are compiled here, by jaxlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, dtype_of
from hlograph.plans import Plan, compile_program
from hlograph.profiling.profile import Profile, profile_executable
from hlograph.programs import Program
from hlograph.timing.runs import on_device


def profile_program(
    program: Program,
    inputs: Sequence[Array],
    *,
    plan: Plan | None = None,
    runs: int = 20,
    max_seconds: float = 20.0,
) -> Profile:
    """Compiles a program by jaxlib, and profiles it.

    Donated inputs are copied before each run, outside of its time.

    Args:
        program: The program.
        inputs: One array for each parameter, of its shape and type.
        plan: Plan to compile it with; None is jaxlib's default.
        runs: Number of runs without and under XLA's profiler.
        max_seconds: Seconds for all runs, which lowers their number.

    Raises:
        HloError: jaxlib does not compile or run it, or the inputs do not fit its parameters.
        PlanError: The plan cannot be carried out.
    """
    import jax

    check_inputs(program, inputs)
    executable = compile_program(program, plan)
    placed = on_device(inputs)

    def place_donated() -> None:
        if any(array.is_deleted() for array in placed):
            placed[:] = on_device(inputs)

    def run() -> Any:
        return jax.block_until_ready(executable.execute(placed))

    try:
        return profile_executable(
            executable, run, runs=runs, max_seconds=max_seconds, before=place_donated
        )
    except jax.errors.JaxRuntimeError as error:
        raise HloError(f"jaxlib does not run {program.name}: {error}") from error


def check_inputs(program: Program, inputs: Sequence[Array]) -> None:
    """Checks that inputs have the number, shapes and types of a program's parameters.

    jaxlib compares only their sizes in bytes.

    Raises:
        HloError: They do not.
    """
    expected = program.signature.parameters
    if len(inputs) != len(expected):
        raise HloError(
            f"expected {len(expected)} inputs, one for each parameter, got {len(inputs)}"
        )
    for number, (spec, array) in enumerate(zip(expected, inputs, strict=True)):
        if (array.shape, array.dtype) != (spec.dims, dtype_of(spec.element_type)):
            raise HloError(
                f"expected {spec} as input {number}, got {array.dtype}{list(array.shape)}"
            )
