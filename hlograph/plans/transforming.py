"""Passes, rewrites and layouts that a plan applies before XLA's own passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hlograph.errors import HloError, PlanError
from hlograph.module import Module, take_step
from hlograph.plans import mlir_modules
from hlograph.plans.enzyme import is_enzyme_step, rewritten_program
from hlograph.plans.layouts import constrain, constrain_signature, needs_module
from hlograph.plans.mending import STABLEHLO_STEPS
from hlograph.plans.native_kernels import register_kernels
from hlograph.plans.plan import Plan
from hlograph.plans.program import Program, to_stablehlo


def transformed(program: Program, plan: Plan) -> bytes:
    """Returns the StableHLO bytecode of a program after a plan's steps and layouts.

    XLA's own passes follow in jaxlib, and may undo what the steps did. Native kernels that the
    result calls are registered with jaxlib.

    Raises:
        PlanError: A step does not apply, or the result is not what jaxlib takes.
        PlanRefusedError: The plan is for another program, or has a kernel that cannot run here.
    """
    bytecode = _transformed(program, plan)
    register_kernels(bytecode)
    return bytecode


def _transformed(program: Program, plan: Plan) -> bytes:
    if not (plan.steps or plan.layouts):
        return program.stablehlo()
    program, steps = _after_stablehlo_steps(program, plan)
    if not steps and not needs_module(plan.layouts):
        target = mlir_modules.parse(program.stablehlo())
        constrain_signature(target, plan.layouts)
        return mlir_modules.to_bytecode(target)
    target = mlir_modules.parse(to_stablehlo(constrain(after_steps(program, steps), plan.layouts)))
    if program.form != "hlo":
        try:
            mlir_modules.copy_signature(mlir_modules.parse(program.data), target)
        except ValueError as error:
            raise PlanError(f"the steps changed the program's signature: {error}") from error
    constrain_signature(target, plan.layouts)
    return mlir_modules.to_bytecode(target)


def _after_stablehlo_steps(program: Program, plan: Plan) -> tuple[Program, tuple[str, ...]]:
    """Returns a program after those of a plan's steps that change StableHLO, and the other steps.

    Raises:
        PlanError: Enzyme-JAX is not there, or fails.
        PlanRefusedError: The plan is for another program.
    """
    if plan.steps or needs_module(plan.layouts):
        plan.check(program, here=False)
    steps = plan.steps
    while steps and (rewrite := _stablehlo_step(steps[0])) is not None:
        data = rewrite(program.stablehlo())
        program, steps = Program(program.name, "stablehlo", data), steps[1:]
    return program, steps


def _stablehlo_step(step: str) -> Callable[[bytes], bytes] | None:
    """Returns what applies a step to StableHLO; None if it is a pass or rewrite of the engine."""
    if is_enzyme_step(step):
        return partial(rewritten_program, step=step)
    return STABLEHLO_STEPS.get(step)


def after_steps(program: Program, steps: tuple[str, ...]) -> bytes:
    """Returns a program after steps, as a serialized ``HloModuleProto``.

    Raises:
        EngineUnavailableError: There are steps, and the engine cannot be loaded.
        PlanError: A step does not apply.
    """
    if not steps:
        return program.hlo
    module = program.module()
    apply_steps(module, steps)
    return module.to_proto()


def apply_steps(module: Module, steps: tuple[str, ...]) -> None:
    """Applies passes, pipelines and rewrites to a module, in order.

    Args:
        module: The module; it is changed.
        steps: Names of passes or pipelines, or places of rewrites, such as ``algebraic(add.1)``.

    Raises:
        PlanError: A step is unknown, does not apply, or fails.
    """
    for number, step in enumerate(steps):
        try:
            take_step(module, step)
        except (HloError, ValueError) as error:
            raise PlanError(f"step {number + 1} of {len(steps)}, {step}: {error}") from error
