"""Layouts of instructions, arguments and results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import Plan, PlanError, compile_lowered
from tests.hlograph.plans import functions as f


def function(params: dict[str, jax.Array], x: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
    product = params["w"] @ x
    return jnp.sin(product), {"sum": product.sum(0), "twice": product * 2}


ARGUMENTS = ({"w": f.array(64, 32)}, f.array(32, 48))
LOWERED = jax.jit(function).lower(*ARGUMENTS)


@pytest.mark.parametrize(
    ("layouts", "seen"),
    [
        ({"argument:0": "{0,1}"}, "(f32[64,32]{0,1}, f32[32,48]{1,0})->"),
        ({"result:0": "{0,1}"}, "->(f32[64,48]{0,1}, f32[48]{0}, f32[64,48]{1,0})"),
        ({"argument:1": "{0,1}", "result:2": "{0,1}"}, "f32[32,48]{0,1})->"),
        ({"dot_general.1": "{0,1}"}, "f32[64,48]{0,1} "),
    ],
)
def test_layouts_are_in_the_executable_and_ordinary_arrays_are_taken(
    layouts: dict[str, str], seen: str
) -> None:
    compiled = compile_lowered(LOWERED, Plan(layouts=layouts))
    assert seen in f.text_of(compiled)
    expected = jax.jit(function)(*ARGUMENTS)
    for _ in range(2):
        f.assert_same(compiled(*ARGUMENTS), expected)
    f.assert_same(compiled(*jax.tree.map(np.asarray, ARGUMENTS)), expected)


def test_results_of_another_layout_are_read_rightly_by_jit() -> None:
    first, _ = compile_lowered(LOWERED, Plan(layouts={"result:0": "{0,1}"}))(*ARGUMENTS)
    expected, _ = jax.jit(function)(*ARGUMENTS)
    f.assert_same(jax.jit(lambda x: x + 1)(first), expected + 1)
    f.assert_same(jnp.abs(first - expected), jnp.zeros_like(expected))


@pytest.mark.parametrize(
    "layouts",
    [
        {"argument:2": "{0,1}"},
        {"result:1": "{0,1}"},
        {"nobody.1": "{0,1}"},
        {"dot_general.1": "{0}"},
        {"reduce_sum.5": "{}"},
    ],
)
def test_layouts_that_do_not_fit_are_refused(layouts: dict[str, str]) -> None:
    with pytest.raises(PlanError):
        compile_lowered(LOWERED, Plan(layouts=layouts))
