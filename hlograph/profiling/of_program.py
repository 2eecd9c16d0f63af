"""Profiles of programs that are compiled here, by jaxlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, dtype_of
from hlograph.execution.runs import on_device
from hlograph.plans import Plan, Program, compile_program
from hlograph.profiling.profile import Profile, profile_executable
from hlograph.profiling.trace import Run

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable


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
    check_inputs(program, inputs)
    executable = compile_program(program, plan)
    return profile_compiled(executable, program, inputs, runs=runs, max_seconds=max_seconds)


def profile_compiled(
    executable: LoadedExecutable,
    program: Program,
    inputs: Sequence[Array],
    *,
    runs: int = 20,
    max_seconds: float = 20.0,
) -> Profile:
    """Profiles a program that was compiled before.

    Args:
        executable: What ``compile_program`` made of the program.
        program: The program.
        inputs: As for ``profile_program``.
        runs: As for ``profile_program``.
        max_seconds: As for ``profile_program``.

    Raises:
        HloError: jaxlib does not run it, or the inputs do not fit its parameters.
    """
    import jax

    check_inputs(program, inputs)
    run, before = runner(executable, inputs)
    try:
        return profile_executable(
            executable, run, runs=runs, max_seconds=max_seconds, before=before
        )
    except jax.errors.JaxRuntimeError as error:
        raise HloError(f"jaxlib does not run {program.name}: {error}") from error


def runner(executable: Any, inputs: Sequence[Array]) -> tuple[Run, Run]:
    """Returns a function that runs an executable, and one to call before each run of it.

    The latter copies inputs that the run before has used up, because they are donated.

    Args:
        executable: A ``jaxlib._jax.LoadedExecutable``.
        inputs: One array for each parameter.
    """
    import jax

    placed = on_device(inputs)

    def place_donated() -> None:
        if any(array.is_deleted() for array in placed):
            placed[:] = on_device(inputs)

    def run() -> Any:
        return jax.block_until_ready(executable.execute(placed))

    return run, place_donated


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
