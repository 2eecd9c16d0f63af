"""Placements: what each changes in the executable, and what is refused."""

import jax
import jax.numpy as jnp
import pytest

from hlograph.plans import Placement, Plan, PlanError, Program, compile_lowered
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint, proto_of, text_of
from hlograph.plans.placing import place
from hlograph.plans.placing.placements import placements_of
from hlograph.reading.hlo_editing import ModuleText
from tests.hlograph.plans import functions as f

WAVES = jax.jit(f.waves).lower(f.array(128, 128))
LOOP = jax.jit(f.loop).lower(f.array(16), f.array(16, 16))


def only(lowered: object, decision: str, value: str = "") -> Placement:
    found = [
        one
        for one in placements_of(f.program_of(lowered)[0])
        if one.decision == decision and value in ("", one.value)
    ]
    assert found, f"no {decision} applies"
    return found[0]


def test_partitions_are_in_the_executable() -> None:
    placement = only(WAVES, "partitions")
    text = f.text_of(f.planned(WAVES, Placement(placement.instruction, "partitions", "4,2")))
    assert '"outer_dimension_partitions":["4","2"]' in text
    text = f.text_of(f.planned(WAVES, Placement(placement.instruction, "partitions", "1")))
    assert "outer_dimension_partitions" not in text


@pytest.mark.parametrize("value", ["0", "-1", "", "129", "2,2,2", "a", "1e3", "99999999999", "4,"])
def test_partitions_that_would_end_the_process_are_refused(value: str) -> None:
    placement = only(WAVES, "partitions")
    with pytest.raises(PlanError, match=r"partitions|parts"):
        f.planned(WAVES, Placement(placement.instruction, "partitions", value))


def test_a_library_is_left_and_taken() -> None:
    x = f.array(64, 64)
    lowered = jax.jit(lambda x: jnp.tanh(x @ x)).lower(x)
    plain = f.planned(lowered, only(lowered, "library", "none"))
    assert "__ynn_fusion" not in f.text_of(plain)
    f.assert_same(plain(x), jnp.tanh(x @ x))
    plan = Plan(flags={"xla_cpu_experimental_ynn_fusion_type": ""})
    proto = optimized_module(Program.of(lowered), plan)
    for library in ("ynn", "onednn"):
        found = [one for one in placements_of(proto) if one.value == library]
        flags = {"xla_cpu_experimental_ynn_fusion_type": ""}
        plan = Plan(flags=flags, placements=tuple(found), placed=fingerprint(proto))
        compiled = compile_lowered(lowered, plan)
        assert f"__{library}_fusion" in f.text_of(compiled)
        f.assert_same(compiled(x), jnp.tanh(x @ x))


def test_a_loop_becomes_one_kernel_as_in_xla() -> None:
    assert 'xla_cpu_small_call="true"' in f.text_of(f.planned(LOOP, only(LOOP, "one-kernel")))


def test_nothing_is_divided_within_one_kernel() -> None:
    proto, _ = f.program_of(LOOP)
    placement = only(LOOP, "one-kernel")
    body = next(one for one in placements_of(proto) if one.decision == "unfuse")
    place(proto, [placement, body])
    for value in ("partitions", "library"):
        with pytest.raises(PlanError):
            place(proto, [placement, Placement(body.instruction, value, "2")])  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="one kernel already"):
        place(proto, [placement, placement])


def test_a_part_of_a_fusion_becomes_a_kernel() -> None:
    proto, _ = f.program_of(WAVES)
    module = ModuleText.parse(text_of(proto))
    _, fusion = module.find(only(WAVES, "unfuse").instruction)
    transposed = [
        one.name
        for one in module.computations[fusion.calls[0]].instructions
        if one.opcode in ("transpose", "sine")
    ]
    text = f.text_of(f.planned(WAVES, Placement(transposed[0], "unfuse")))
    assert f"%{transposed[0]}_part = " in text


def test_unfused_parts_are_fused_again() -> None:
    proto, _ = f.program_of(WAVES)
    apart = place(proto, [only(WAVES, "unfuse")])
    fuses = [one for one in placements_of(apart) if one.decision == "fuse"]
    while fuses:
        apart = place(apart, fuses[:1])
        fuses = [one for one in placements_of(apart) if one.decision == "fuse"]
    before, after = (ModuleText.parse(text_of(one)) for one in (proto, apart))
    assert len(after.entry.instructions) == len(before.entry.instructions)


def test_a_value_that_is_overwritten_is_not_read_later() -> None:
    text = """HloModule m, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

%a (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %s = f32[8]{0} sine(%p)
}
%b (q: f32[8], z: f32[1], i: s32[]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %z = f32[1]{0} parameter(1)
  %i = s32[] parameter(2)
  ROOT %d = f32[8]{0} dynamic-update-slice(%q, %z, %i)
}
%c (r: f32[8], t: f32[8]) -> f32[8] {
  %r = f32[8]{0} parameter(0)
  %t = f32[8]{0} parameter(1)
  ROOT %u = f32[8]{0} add(%r, %t)
}
ENTRY %e (x: f32[8], y: f32[1], n: s32[]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %y = f32[1]{0} parameter(1)
  %n = s32[] parameter(2)
  %copied = f32[8]{0} copy(%x)
  %sines = f32[8]{0} fusion(%copied), kind=kLoop, calls=%a
  %written = f32[8]{0} fusion(%copied, %y, %n), kind=kLoop, calls=%b, control-predecessors={}
  ROOT %sum = f32[8]{0} fusion(%sines, %written), kind=kLoop, calls=%c
}
"""
    proto = proto_of(text.replace(", control-predecessors={}", ""))
    with pytest.raises(PlanError, match="may have overwritten"):
        place(proto, [Placement("sines", "fuse", "sum")])
    assert not [one for one in placements_of(proto) if one.decision == "fuse"]


def test_every_listed_placement_is_accepted() -> None:
    for lowered in (WAVES, LOOP, jax.jit(f.step).lower(*f.step_arguments())):
        proto, _ = f.program_of(lowered)
        for placement in placements_of(proto):
            place(proto, [placement])


def test_large_constants_and_nans_are_kept_bit_by_bit() -> None:
    lowered = jax.jit(f.constants).lower(f.array(64, 64))
    proto, _ = f.program_of(lowered)
    assert sorted(text_of(place(proto, [])).splitlines()) == sorted(text_of(proto).splitlines())
