"""Programs that jaxlib compiles: lowered jax functions, StableHLO and HLO modules.

program = Program.of(jax.jit(step).lower(params, batch))
program = Program.of("step.hlo")
program.module()       # hlograph.Module, in the XLA that hlograph links
program.stablehlo()    # bytecode, for the jaxlib that runs it
"""

from hlograph.programs.program import Program

__all__ = ["Program"]
