"""Custom calls to native kernels: registered where a program has them, and refused where not."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.execution.runs import Run
from hlograph.plans import Plan, PlanRefusedError, Program, compile_lowered
from hlograph.plans.compiling import compile_program
from hlograph.plans.native_kernels import can_run

CALL = """HloModule call
ENTRY main {{
  x = {type} parameter(0)
  ROOT y = {result} custom-call(x), custom_call_target="{target}",
    api_version=API_VERSION_TYPED_FFI, backend_config={{descending = false, canonical = true}}
}}"""

SORTED_TWICE = """
import sys
import jax
import jax.numpy as jnp
from hlograph.plans import Plan, Program, compile_lowered

jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name))
values = jnp.arange(96.0).reshape(2, 48)[:, ::-1]
lowered = jax.jit(lambda x: jnp.sort(x, axis=-1)).lower(values)
program = Program.of(lowered)
plan = Plan(program.name, program.fingerprint, ("call-inliner", sys.argv[2]))
hits.clear()
compiled = compile_lowered(lowered, plan)
is_hit = "/jax/compilation_cache/cache_hits" in hits
assert (compiled(values) == values[:, ::-1]).all()
print(is_hit)
"""


def _program(target: str, shape: str = "f32[3,8]", result: str = "") -> Program:
    text = CALL.format(type=shape, result=result or shape, target=target)
    return Program.of(hlograph.Module.from_text(text))


def _place(lowered) -> str:
    module = Program.of(lowered).module()
    module.run("call-inliner")
    (rewrite,) = module.rewrites(["kernel-sort"])
    return rewrite.place


def test_every_kernel_of_a_rule_can_run():
    targets = {rule.kernel for rule in hlograph.rules.of_kernels}
    assert targets
    assert all(map(can_run, targets))


def test_a_plan_with_a_kernel_keeps_every_bit_of_special_values():
    values = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32).round(1)
    special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf], np.float32)
    values[:, ::7] = np.resize(special, values[:, ::7].shape)
    function = jax.jit(lambda x: jnp.sort(x, axis=-1))
    lowered = function.lower(values)
    program = Program.of(lowered)
    plan = Plan(program.name, program.fingerprint, ("call-inliner", _place(lowered)))
    result = np.asarray(compile_lowered(lowered, plan)(values))
    expected = np.asarray(function(values))
    np.testing.assert_array_equal(result.view(np.uint32), expected.view(np.uint32))


def test_a_kernel_that_is_missing_is_refused():
    with pytest.raises(PlanRefusedError, match=r"got hlograph\.kernel\.of_another_version"):
        compile_program(_program("hlograph.kernel.of_another_version"))


@pytest.mark.parametrize(
    ("shape", "result", "reason"),
    [
        ("s8[3,8]", "s8[3,8]", "numbers of 16, 32 or 64 bits"),
        ("f32[3,8]", "f32[3,7]", "of the type and sizes"),
        ("f32[3,8]", "s32[3,8]", "of the type and sizes"),
    ],
)
def test_a_kernel_refuses_what_it_is_not_made_for(shape, result, reason):
    executable = compile_program(_program("hlograph.kernel.sort", shape, result))
    values = np.zeros((3, 8), np.int8 if shape.startswith("s8") else np.float32)
    with pytest.raises(jax.errors.JaxRuntimeError, match=reason):
        Run(executable, [values]).outputs()


def test_jax_keeps_an_executable_with_a_kernel_on_disk(tmp_path: Path):
    values = jnp.arange(96.0).reshape(2, 48)[:, ::-1]
    place = _place(jax.jit(lambda x: jnp.sort(x, axis=-1)).lower(values))
    command = [sys.executable, "-c", SORTED_TWICE, str(tmp_path), place]
    found = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert found == ["False", "True"]
