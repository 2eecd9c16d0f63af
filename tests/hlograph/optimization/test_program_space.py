"""The space of a program: which knobs it has, and what the plans of points do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph import HloError
from hlograph.decisions.plan_states import PlanStates
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import Job, MeasurementRequest
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.knobs import Point, Recipe
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.optimized_module import OptimizedModule

RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((96, 96)).astype(np.float32) for _ in range(2))


def network(x):
    for _ in range(2):
        x = jnp.tanh(x @ W)
    return jnp.sin(x)


@pytest.fixture(scope="module")
def program():
    return Program.of(jax.jit(network).lower(X))


@pytest.fixture(scope="module")
def space(program):
    found = ProgramSpace(program)
    yield found
    found.close()


def named(space, stage, value, point=None):
    return next(k for k in space.knobs(point or Point()) if k.stage == stage and value in k.values)


def test_knobs_of_a_program(space):
    knobs = space.knobs(Point())
    names = [knob.name for knob in knobs]
    assert len(set(names)) == len(names)
    assert all(0 <= knob.share <= 1 and knob.values for knob in knobs)
    dots = named(space, "kernel", "library none")
    assert dots.places == 2  # equal layers are decided together
    assert dots.share > 0.01
    assert any(knob.stage == "layout" and "dot" in knob.about for knob in knobs)
    # Nothing loops and nothing is fast math.
    assert not any("while" in name or "fast_math" in name for name in names)


def test_the_kernels_of_a_state_are_those_that_are_compiled(program, space):
    library, process = named(space, "kernel", "library none"), PlanStates(program)
    points = [Point(), Point.of({library.name: "library none"})]
    kernels = [
        {one.text for one in kernel_modules(OptimizedModule.from_proto(module.to_proto()))}
        for module in (process.state(point).module for point in points)
    ]
    for point, found in zip(points, kernels, strict=True):
        executable = compile_program(program, space.plan(point))
        compiled = kernel_modules(OptimizedModule.of(executable))
        assert found == {kernel.text for kernel in compiled}
    assert kernels[0] != kernels[1]
    with pytest.raises(HloError):
        process.state(Point.of({"flags xla_no_such_flag": "true"}))


def test_the_plan_of_a_point_does_what_it_says_and_computes_the_same(program, space):
    dots = named(space, "kernel", "library none")
    layout = next(knob for knob in space.knobs(Point()) if knob.stage == "layout")
    width = named(space, "flags", "512")
    assert space.plan(Point()).is_empty
    point = Point.of({dots.name: "library none", layout.name: layout.values[0], width.name: "512"})
    plan = space.plan(point)
    assert plan.flags == {"xla_cpu_prefer_vector_width": 512}
    assert len(plan.layouts) == layout.places
    alone = space.plan(Point.of({dots.name: "library none"}))
    assert [one.decision for one in alone.placements] == ["library", "library"]
    with Measurer(Job(program), workers=1) as measurer:
        for outcome in measurer.measure([MeasurementRequest(plan), MeasurementRequest(alone)]):
            assert outcome.measured is not None, outcome.error


def test_placements_are_those_of_the_version_that_flags_make(space):
    none = Point.of({"flags xla_cpu_experimental_ynn_fusion_type": '""'})
    with pytest.raises(StopIteration):
        named(space, "kernel", "library none", none)
    given = named(space, "kernel", "library ynn", none)
    plan = space.plan(none.but(given.name, "library ynn"))
    assert {one.value for one in plan.placements} == {"ynn"}


def test_values_that_a_program_does_not_have_decide_nothing(space):
    point = Point.of({"kernel 0123456789ab": "library none", "layout 0123456789ab 0": "{0,1}"})
    assert space.plan(point).is_empty


def test_steps_of_a_plan_are_a_value(space):
    point = space.point_of(Plan(steps=("call-inliner", "dce")))
    (knob,) = [knob for knob in space.knobs(point) if knob.stage == "steps"]
    assert point.values[knob.name] in knob.values
    assert space.plan(point).steps == ("call-inliner", "dce")


def test_a_point_that_does_not_compile_is_an_error_and_the_space_goes_on(space):
    wrong = space.point_of(Plan(steps=("no-such-pass",)))
    with pytest.raises(HloError, match="no-such-pass"):
        space.plan(wrong.but("kernel 0123456789ab", "unfuse"))
    with pytest.raises(HloError, match="no-such-pass"):
        space.knobs(wrong)
    assert space.plan(Point()).is_empty


def test_a_recipe_of_one_version_holds_in_another(space):
    dots = named(space, "kernel", "library none")
    flag = "flags xla_cpu_prefer_vector_width"
    recipe = space.recipe_of(space.plan(Point.of({dots.name: "library none", flag: "512"})))
    assert recipe.point == Point.of({dots.name: "library none", flag: "512"})
    assert Recipe.from_json(recipe.to_json()) == recipe
    recipe = replace(recipe, steps=("call-inliner", "sort-prefix-as-top-k", "gone"))

    def longer(images):
        return network(images), jnp.sort(images)[:, :5]

    other = ProgramSpace(Program.of(jax.jit(longer).lower(X)))
    plan = other.plan_by(recipe)
    other.close()
    assert plan.fingerprint != space.plan(Point()).fingerprint
    assert [step.partition("(")[0] for step in plan.steps] == list(recipe.steps[:2])
    assert plan.flags == {"xla_cpu_prefer_vector_width": 512}
    assert "library" in {one.decision for one in plan.placements}


def test_a_recipe_of_layouts(space):
    layout = next(knob for knob in space.knobs(Point()) if knob.stage == "layout")
    point = Point.of({layout.name: layout.values[0]})
    assert space.recipe_of(space.plan(point)) == Recipe((), point)
    assert Recipe().is_empty
    assert space.plan_by(Recipe()).is_empty


@pytest.mark.parametrize("text", ["", "{}", '{"kind": "hlograph recipe", "version": 9}'])
def test_what_is_no_recipe(text):
    with pytest.raises(HloError, match="expected the JSON of a recipe"):
        Recipe.from_json(text)
