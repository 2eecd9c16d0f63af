"""Functions of JAX with a rule applied to them, as jaxlib compiles and runs them."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from hlograph.plans import Plan, Program, compile_lowered


def rewritten(rule: str, function: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """Returns what a function computes in jaxlib where a rule is applied everywhere."""
    lowered = jax.jit(function).lower(*arguments)
    program = Program.of(lowered)
    module = program.module()
    module.run("call-inliner")
    places = [rewrite.place for rewrite in module.rewrites([rule])]
    assert places
    plan = Plan(program.name, program.fingerprint, ("call-inliner", *places))
    return np.asarray(compile_lowered(lowered, plan)(*arguments))
