"""Plans: what is done to one program, and how jaxlib is made to do it.

    plan = Plan.load("step.plan.json")
    compiled = compile_lowered(jax.jit(step).lower(params, batch), plan)   # jax.stages.Compiled

A plan reaches jaxlib in four ways: passes and rewrites before XLA's own (``stablehlo``), layouts
(``layouts``), flags of the compilation (``flags``), and decisions about single instructions of the
optimized module, such as its fusions, partitions and libraries (``placement``).

A ``Program`` is what a plan is for: a lowered jax function, StableHLO or an HLO module.

    program = Program.of("step.hlo")
    program.module()       # hlograph.Module, in the XLA that hlograph links
    program.stablehlo()    # bytecode, for the jaxlib that runs it
"""

from hlograph.errors import PlanError, PlanRefusedError
from hlograph.execution.measured import Measured
from hlograph.plans.compiling import compile_lowered, compile_program
from hlograph.plans.placement import Placement
from hlograph.plans.plan import NUMERICS, Numerics, Plan
from hlograph.plans.program import Program

__all__ = [
    "NUMERICS",
    "Measured",
    "Numerics",
    "Placement",
    "Plan",
    "PlanError",
    "PlanRefusedError",
    "Program",
    "compile_lowered",
    "compile_program",
]
