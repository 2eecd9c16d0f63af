"""Optimized modules that are compiled as they are."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from hlograph.plans import Plan, PlanError, jaxlib_modules
from hlograph.plans.carrier import compile_optimized
from hlograph.timing.runs import Run
from tests.hlograph.plans import functions as f

# XLA would fuse these, and would take neither the bitcasts nor the transposed layout.
APART = """HloModule apart

ENTRY apart {
  x = f32[8,4]{1,0} parameter(0)
  turned = f32[4,8]{0,1} bitcast(x)
  sine = f32[4,8]{0,1} sine(turned)
  twice = f32[4,8]{0,1} add(sine, sine)
  result = f32[8,4]{1,0} bitcast(twice)
  finite = pred[8,4]{1,0} is-finite(x)
  ROOT both = (f32[8,4]{1,0}, pred[8,4]{1,0}) tuple(result, finite)
}
"""
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)


def test_a_module_is_compiled_as_it_is() -> None:
    executable = compile_optimized(jaxlib_modules.proto_of(APART))
    (module,) = executable.hlo_modules()
    text = module.to_string()
    assert "fusion" not in text
    assert "f32[4,8]{0,1} sine" in text
    result, finite = Run(executable, [X]).outputs()
    np.testing.assert_allclose(result, 2 * np.sin(X), rtol=1e-5)
    assert finite.all()


def test_code_is_generated_with_the_flags_of_a_plan() -> None:
    proto, _ = f.program_of(jax.jit(f.waves).lower(f.array(64, 64)))
    x = np.asarray(f.array(64, 64))
    executable = compile_optimized(proto, Plan(flags={"xla_cpu_prefer_vector_width": 128}))
    (result,) = Run(executable, [x]).outputs()
    f.assert_same(result, jax.jit(f.waves)(x))


def test_other_layouts_of_parameters_are_refused() -> None:
    text = APART.replace("f32[8,4]{1,0} parameter(0)", "f32[4,8]{0,1} parameter(0)")
    with pytest.raises(PlanError, match="row-major"):
        compile_optimized(jaxlib_modules.proto_of(text.replace("bitcast(x)", "copy(x)")))


@pytest.mark.parametrize("name", ["x", "zero", "turned"])
def test_results_that_are_no_buffers_of_their_own_are_refused(name: str) -> None:
    text = f"""HloModule shared

ENTRY shared {{
  x = f32[4] parameter(0)
  zero = f32[4] constant({{0, 0, 0, 0}})
  turned = f32[4] bitcast(x)
  sine = f32[4] sine(x)
  ROOT both = (f32[4], f32[4]) tuple(sine, {name})
}}
"""
    with pytest.raises(PlanError, match="buffers of their own"):
        compile_optimized(jaxlib_modules.proto_of(text))
