"""Plans that reach jaxlib by each way, and give the results of ``jit``."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import (
    Placement,
    Plan,
    PlanError,
    PlanRefusedError,
    Program,
    compile_lowered,
    compile_program,
)
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint
from hlograph.plans.placing.placements import placements_of
from tests.hlograph.plans import functions as f

CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (f.step, f.step_arguments()),
    (f.loop, (f.array(16), f.array(16, 16))),
    (f.waves, (f.array(128, 128),)),
    (f.constants, (f.array(64, 64),)),
    (jax.vmap(f.waves), (f.array(3, 64, 64),)),
    (jax.grad(lambda x, m: f.loop(x, m)[0].sum()), (f.array(16), f.array(16, 16))),
    (lambda x, i, u: (x.at[i].add(u), x[i]), (f.array(64, 8), jnp.arange(9) * 3, f.array(9, 8))),
]
NAMES = ["step", "loop", "waves", "constants", "vmap", "grad", "scatter"]


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=NAMES)
def test_each_kind_of_decision_keeps_the_results(function: Any, arguments: Any) -> None:
    lowered = jax.jit(function).lower(*arguments)
    expected = jax.jit(function)(*arguments)
    first = {one.decision: one for one in placements_of(f.program_of(lowered)[0])}
    assert first
    for placement in first.values():
        f.assert_same(f.planned(lowered, placement)(*arguments), expected)


@pytest.mark.parametrize(
    "plan",
    [
        Plan(steps=("xla-simplify",)),
        Plan(flags={"xla_cpu_experimental_ynn_fusion_type": ""}),
        Plan(flags={"xla_cpu_small_while_loop_byte_threshold": 1 << 30}),
        Plan(steps=("algsimp",), flags={"xla_cpu_optimize_for_size": True}),
    ],
    ids=["passes", "flag", "extra", "both"],
)
@pytest.mark.parametrize(("function", "arguments"), CASES[:2], ids=NAMES[:2])
def test_passes_and_flags_keep_the_results(function: Any, arguments: Any, plan: Plan) -> None:
    compiled = compile_lowered(jax.jit(function).lower(*arguments), plan)
    f.assert_same(compiled(*arguments), jax.jit(function)(*arguments))


def test_flags_are_seen_in_the_executable() -> None:
    lowered = jax.jit(lambda x: x @ x).lower(f.array(64, 64))
    assert "__ynn_fusion" in f.text_of(lowered.compile())
    plan = Plan(flags={"xla_cpu_experimental_ynn_fusion_type": ""})
    assert "__ynn_fusion" not in f.text_of(compile_lowered(lowered, plan))


def test_donated_arguments_are_used_again_without_placements() -> None:
    params, batch = f.step_arguments()
    expected = jax.jit(f.step)(params, batch)
    lowered = jax.jit(f.step, donate_argnums=0).lower(params, batch)
    compiled = compile_lowered(lowered, Plan(steps=("xla-simplify",)))
    f.assert_same(compiled(params, batch), expected)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(params))


def test_donated_arguments_are_never_damaged_by_placements() -> None:
    def write(cache: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        cache = jax.lax.dynamic_update_slice(cache, x[None], (3, 0))
        return cache, jax.nn.softmax(cache @ x)

    cache, x = f.array(512, 32), f.array(32)
    kept, expected = np.array(cache), jax.jit(write)(cache, x)
    lowered = jax.jit(write, donate_argnums=0).lower(cache, x)
    for placement in placements_of(f.program_of(lowered)[0]):
        given = jnp.array(kept)
        f.assert_same(f.planned(lowered, placement)(given, x), expected)
        assert given.is_deleted() or np.array_equal(np.asarray(given), kept)


def test_placements_of_another_module_are_refused() -> None:
    lowered = jax.jit(f.waves).lower(f.array(128, 128))
    placement = placements_of(f.program_of(lowered)[0])[0]
    with pytest.raises(PlanRefusedError, match="another jaxlib"):
        compile_lowered(lowered, Plan(placements=(placement,), placed="0" * 32))


def test_a_plan_for_another_program_is_refused() -> None:
    lowered = jax.jit(f.waves).lower(f.array(128, 128))
    with pytest.raises(PlanRefusedError, match="other shapes"):
        compile_lowered(lowered, Plan(fingerprint="ab", steps=("dce",)))


def test_a_placement_that_does_not_apply_fails_its_own_compilation_only() -> None:
    lowered = jax.jit(f.waves).lower(f.array(128, 128))
    with pytest.raises(PlanError, match=r"partitions\(nobody, 2\)"):
        f.planned(lowered, Placement("nobody", "partitions", "2"))
    with pytest.raises(PlanError, match="step 1 of 1"):
        compile_lowered(lowered, Plan(steps=("no-such-pass",)))
    f.assert_same(lowered.compile()(jnp.ones((128, 128))), f.waves(jnp.ones((128, 128))))


def test_jit_and_compile_program_make_the_same_module() -> None:
    lowered = jax.jit(f.step).lower(*f.step_arguments())
    again = jax.jit(f.step).lower(*f.step_arguments())
    program = Program.of(lowered)
    assert fingerprint(optimized_module(program)) == f.program_of(again)[1]
    placement = placements_of(optimized_module(program))[0]
    plan = Plan(placements=(placement,), placed=f.program_of(again)[1])
    assert compile_program(program, plan) is not None
    compile_lowered(lowered, plan)
