"""Steps of Enzyme-JAX: their text, the patterns that they leave out, and what they do."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.errors import PlanError
from hlograph.plans import Plan, Program, compile_lowered, compile_program
from hlograph.plans.enzyme import (
    PIPELINES,
    EnzymeStep,
    as_lowered,
    pattern_names,
    rewritten_program,
    rewritten_text,
)

is_installed = importlib.util.find_spec("enzyme_ad") is not None
needs_enzyme = pytest.mark.skipif(not is_installed, reason="enzyme-ad is not installed")


@pytest.mark.parametrize(
    "step",
    ["enzyme(full)", "enzyme(one-round only dot*)", "enzyme(full without transpose* *_pad)"],
)
def test_a_step_is_what_it_is_read_as(step):
    assert str(EnzymeStep.parse(step)) == step


@pytest.mark.parametrize("step", ["enzyme(some)", "enzyme(full with x)", "enzyme full"])
def test_another_step_is_an_error(step):
    with pytest.raises(PlanError, match="expected a step such as 'enzyme"):
        EnzymeStep.parse(step)


def test_globs_leave_patterns_out_or_alone():
    names = ["dot_transpose", "transpose_pad", "cse_add"]
    assert EnzymeStep("full").excluded(names) == []
    without = EnzymeStep("full", "without", ("transpose*", "cse*"))
    assert without.excluded(names) == ["transpose_pad", "cse_add"]
    assert EnzymeStep("full", "only", ("dot*",)).excluded(names) == ["transpose_pad", "cse_add"]


@pytest.mark.skipif(is_installed, reason="enzyme-ad is installed")
def test_a_missing_library_is_named():
    with pytest.raises(PlanError, match="pip install enzyme-ad"):
        pattern_names("full")
    with pytest.raises(PlanError, match="pip install enzyme-ad"):
        compile_lowered(jax.jit(jnp.sin).lower(jnp.ones(3)), Plan(steps=("enzyme(full)",)))


def test_shardings_on_one_device_are_left_out():
    text = (
        '  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{replicated}"} : '
        "(tensor<2xui32>) -> tensor<2xui32>\n  return %0\n"
    )
    assert as_lowered(text) == (
        "  %0 = stablehlo.reshape %arg0 : (tensor<2xui32>) -> tensor<2xui32>\n  return %0\n"
    )


@needs_enzyme
def test_patterns_are_left_out():
    names = pattern_names("full")
    assert len(names) > 400
    assert "transpose_transpose" in names
    step = EnzymeStep("full", "without", ("transpose_transpose",))
    assert "transpose_transpose" not in step.passes()
    assert "transpose_transpose" in EnzymeStep("full").passes()


@needs_enzyme
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_pipeline_rewrites_and_keeps_results(pipeline):
    function = jax.jit(lambda x, y: (x.T @ y).T + 1, donate_argnums=1)
    x, y = jnp.ones((4, 4)), jnp.arange(16.0).reshape(4, 4)
    expected = np.asarray((x.T @ y).T + 1)
    lowered = function.lower(x, y)
    assert "transpose" not in rewritten_text(lowered.as_text(), f"enzyme({pipeline})")
    compiled = compile_lowered(lowered, Plan(steps=(f"enzyme({pipeline})",)))
    np.testing.assert_array_equal(compiled(x, y), expected)
    assert y.is_deleted()


@needs_enzyme
def test_a_program_from_hlo_keeps_its_donation():
    function = jax.jit(lambda x, y: (x.T @ x.T, y + 1), donate_argnums=1)
    program = Program.of(function.lower(jnp.ones((4, 4)), jnp.ones((4, 4))))
    module = Program(program.name, "hlo", program.hlo)
    rewritten = rewritten_program(module.stablehlo(), "enzyme(full)")
    assert b"may_alias" in rewritten
    assert len(compile_program(module, Plan(steps=("enzyme(full)",))).hlo_modules()) == 1


@needs_enzyme
def test_what_it_cannot_read_is_an_error():
    with pytest.raises(PlanError, match="Enzyme-JAX fails in"):
        rewritten_text("no module", "enzyme(full)")
