"""Kernels of two compilations of one program, matched by what they compute."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.comparing.kernel_groups import KernelGroup, matched
from hlograph.comparing.module_cuts import with_origins
from hlograph.comparing.side import JaxlibPrograms
from hlograph.plans import Plan, Program

NAMES = "plain", "planned"
X = np.random.default_rng(0).standard_normal((64, 64), np.float32)


def looped(x: jax.Array) -> jax.Array:
    def step(_: int, y: jax.Array) -> jax.Array:
        return jnp.tanh(y @ x) / (1 + jnp.sum(jnp.abs(y), axis=1, keepdims=True))

    return jax.lax.fori_loop(0, 20, step, x) + 1


def small_loop(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y) * 0.5 + jnp.roll(y, 1), x[0]) + 1


def groups_of(
    plan: Plan, function: Callable[[jax.Array], jax.Array] = looped, *, origins: bool = True
) -> list[KernelGroup]:
    program = Program.of(jax.jit(function).lower(X))
    named = with_origins(program) if origins else program
    programs = JaxlibPrograms()
    sides = []
    for key, each in zip(NAMES, (Plan(), plan), strict=True):
        final = programs.compile(key, named, each)
        programs.place(key, [X])
        sides.append((programs.profile(key), final.text))
    return matched(sides[0], sides[1], NAMES)


def with_opcode(groups: list[KernelGroup], opcode: str) -> KernelGroup:
    (group,) = (
        group
        for group in groups
        if any(opcode in each.opcodes for each in (*group.first, *group.second))
    )
    return group


@pytest.fixture(scope="module")
def alike() -> list[KernelGroup]:
    return groups_of(Plan())


def test_equal_compilations_have_equal_kernels(alike: list[KernelGroup]) -> None:
    for group in alike:
        names = [sorted(each.kernel.name for each in side) for side in (group.first, group.second)]
        assert names[0] == names[1]
        assert group.reasons in ([], ["the same operations, as other machine code"])


def test_each_kernel_is_in_one_group_and_times_sum_up(alike: list[KernelGroup]) -> None:
    for number in (0, 1):
        kernels = [each.kernel for group in alike for each in (group.first, group.second)[number]]
        assert len({kernel.name for kernel in kernels}) == len(kernels)
        total = sum(group.seconds[number] for group in alike)
        assert total == pytest.approx(sum(kernel.seconds for kernel in kernels))
    differences = [abs(group.seconds[0] - group.seconds[1]) for group in alike]
    assert differences == sorted(differences, reverse=True)


def test_origins_are_instructions_of_the_program(alike: list[KernelGroup]) -> None:
    program = Program.of(jax.jit(looped).lower(X))
    names = {each.name for each in program.flow.instructions}
    origins = frozenset[str]().union(*(group.origins for group in alike))
    assert origins
    assert origins <= names


@pytest.mark.parametrize("origins", [True, False], ids=["named", "by operation"])
def test_a_loop_that_is_one_kernel_is_beside_its_steps(origins: bool) -> None:
    plan = Plan(flags={"xla_cpu_small_while_loop_byte_threshold": 4_000_000})
    group = with_opcode(groups_of(plan, small_loop, origins=origins), "tanh")
    assert len(group.first) > 1
    assert any(each.is_loop for each in group.second)
    assert group.reasons == ["kernel by kernel under plain, one kernel for the loop under planned"]


def test_another_library_is_named() -> None:
    group = with_opcode(groups_of(Plan(flags={"xla_cpu_experimental_ynn_fusion_type": ""})), "dot")
    assert any("library ynn under plain" in reason for reason in group.reasons), group.reasons
    assert group.to_json()["reasons"] == group.reasons
