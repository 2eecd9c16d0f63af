"""Cuts compute what the program computes there, by the same instructions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import Placement, jaxlib_modules
from hlograph.plans.carrier import compile_optimized
from hlograph.plans.optimized import optimized_module
from hlograph.plans.placing import place
from hlograph.programs import Program
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.timing.runs import Run
from hlograph.tuning.cutting.region import CutError, Cutter, parsed

RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((64, 64)).astype(np.float32) for _ in range(2))


def network(x, w):
    """Returns all that its parts read and compute."""
    product = x @ w
    waves = jnp.sin(product.T) * jnp.exp(-product * product)
    return product, waves


def steps(x, w):
    """Returns the state of a loop, of which ``w`` is not changed, and what it has recorded."""

    def step(carry, _):
        carry = jnp.tanh(carry @ w) + 0.1
        return carry, carry[0]

    return jax.lax.scan(step, x, None, length=5)


def until_small(x):
    return jax.lax.while_loop(lambda x: jnp.sum(x) > 1, lambda x: jnp.tanh(x @ x) / 3, x)


def cutter_of(function, *arguments) -> Cutter:
    return Cutter(optimized_module(Program.of(jax.jit(function).lower(*arguments))))


def one_of(cutter: Cutter, opcode: str, kind: str = "") -> tuple[Computation, Instruction]:
    found = [
        (home, one)
        for home, one in cutter.module.instructions()
        if one.opcode == opcode and (not kind or one.kind == kind)
    ]
    return max(found, key=lambda pair: len(pair[1].shape))


def run(proto: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    return Run(compile_optimized(proto), inputs).outputs()


def inputs_of(proto: bytes) -> list[Instruction]:
    return parsed(proto).entry.parameters


@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("kind", ["kLoop", "kCustom"])
def test_a_fusion_computes_the_same_as_in_the_program(kind, turns):
    cutter = cutter_of(network, X, W)
    _, one = one_of(cutter, "fusion", kind)
    product, waves = jax.jit(network)(X, W)
    given, expected = {"kLoop": ([product], waves), "kCustom": ([X, W], product)}[kind]
    cut = cutter.cut([one.name], turns)
    inputs = [np.asarray(array) for array in given]
    assert [p.shape.split("{")[0] for p in inputs_of(cut)] == ["f32[64,64]"] * len(inputs)
    results = run(cut, *inputs)
    np.testing.assert_array_equal(results[0], expected)


def test_the_instruction_is_the_same():
    cutter = cutter_of(network, X, W)
    _, one = one_of(cutter, "fusion", "kLoop")
    (found,) = [i for _, i in parsed(cutter.cut([one.name])).instructions() if i.name == one.name]
    assert (found.shape, found.opcode, found.attributes) == (one.shape, one.opcode, one.attributes)


@pytest.mark.parametrize("turns", [1, 2])
def test_a_loop_turns_as_often_as_in_the_program(turns):
    cutter = cutter_of(steps, X, W)
    _, loop = one_of(cutter, "while")
    cut = cutter.cut([loop.name], turns)
    # The counter is no parameter, so that no value of it makes the loop endless or empty.
    assert not any(one.shape.startswith("s32") for one in inputs_of(cut))
    state, recorded = jax.jit(steps)(X, W)
    # The state and the weights have one shape: the weights are those that the loop only reads.
    read = _only_read(cutter.module, loop)
    names = [one.name for one in inputs_of(cutter.cut([loop.name]))]
    inputs = [
        W if name in read else np.zeros(_dims(one), np.float32) if _dims(one) == (5, 64) else X
        for name, one in zip(names, inputs_of(cut), strict=True)
    ]
    results = {array.shape: array for array in run(cut, *inputs)}
    np.testing.assert_array_equal(results[64, 64], state)
    np.testing.assert_array_equal(results[5, 64], recorded)


def test_layouts_are_those_of_the_program():
    text = """HloModule turned

fused {
  p = f32[4,8]{0,1} parameter(0)
  q = f32[4,8]{1,0} parameter(1)
  r = f32[4,8]{0,1} copy(q)
  ROOT sum = f32[4,8]{0,1} add(p, r)
}

ENTRY turned {
  x = f32[4,8]{1,0} parameter(0)
  turned = f32[4,8]{0,1} copy(x)
  ROOT fusion = f32[4,8]{0,1} fusion(turned, x), kind=kLoop, calls=fused
}
"""
    cut = Cutter(jaxlib_modules.proto_of(text)).cut(["fusion"])
    module = parsed(cut)
    _, fusion = module.find("fusion")
    shapes = [module.find(name)[1].shape for name in fusion.operands]
    assert shapes == ["f32[4,8]{0,1}", "f32[4,8]{1,0}"]
    assert fusion.shape == "f32[4,8]{0,1}"
    # jax passes arrays row-major: the memory of the transposed ones is that of their transposes.
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    (result,) = run(cut, np.ascontiguousarray(x.T), x)
    np.testing.assert_array_equal(result, 2 * x.T)


def test_what_is_written_in_place_is_copied():
    def update(x, part):
        return jax.lax.dynamic_update_slice(jnp.sin(x), part, (0, 0)), jnp.cos(x)

    cutter = cutter_of(update, X, W[:2])
    fusions = {
        one.name
        for _, one in cutter.module.instructions()
        if one.opcode in ("fusion", "dynamic-update-slice")
        and cutter.module.find(one.name)[0].is_entry
    }
    for name in sorted(fusions):
        cut = cutter.cut([name])
        inputs = [np.ones(_dims(one), np.float32) for one in inputs_of(cut)]
        compiled = Run(compile_optimized(cut), inputs)
        first, again = compiled.outputs(), compiled.outputs()
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_placements_apply_to_a_cut_as_to_the_program():
    cutter = cutter_of(network, X, W)
    _, one = one_of(cutter, "fusion", "kLoop")
    cut = cutter.cut([one.name], turns=2)
    placed = place(cut, [Placement(one.name, "partitions", "2")])
    assert "outer_dimension_partitions" in str(parsed(placed))
    product, waves = jax.jit(network)(X, W)
    np.testing.assert_allclose(run(placed, np.asarray(product))[0], waves, rtol=1e-5, atol=1e-6)


def test_a_loop_that_depends_on_values_is_refused():
    cutter = cutter_of(until_small, X)
    with pytest.raises(CutError, match="how often the loop"):
        cutter.cut([one_of(cutter, "while")[1].name])


def test_a_custom_call_is_refused():
    cutter = cutter_of(jnp.linalg.cholesky, X)
    with pytest.raises(CutError, match="custom-call"):
        cutter.cut([one_of(cutter, "custom-call")[1].name])


def test_instructions_of_several_computations_are_refused():
    cutter = cutter_of(steps, X, W)
    _, loop = one_of(cutter, "while")
    inner = cutter.module.computations[loop.attributes["body"].lstrip("%")].root
    with pytest.raises(CutError, match="one computation"):
        cutter.cut([loop.name, inner.name])


def _only_read(module: ModuleText, loop: Instruction) -> set[str]:
    """Returns the names of the values that a loop has in its state and does not change."""
    home, _ = module.find(loop.name)
    body = module.computations[loop.attributes["body"].lstrip("%")]
    start = home.by_name[loop.operands[0]]
    return {
        start.operands[number]
        for number, name in enumerate(body.root.operands)
        if body.by_name[name].opcode == "get-tuple-element"
        and body.by_name[name].attributes["index"] == str(number)
    }


def _dims(one: Instruction) -> tuple[int, ...]:
    inner = one.shape.partition("[")[2].partition("]")[0]
    return tuple(int(size) for size in inner.split(",") if size)
