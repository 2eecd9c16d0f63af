"""Tests of profiles: shares, memory, work, text, and programs compiled from text."""

import dataclasses
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from hlograph.errors import HloError
from hlograph.plans import Plan, Program
from hlograph.profiling import Peaks, profile_executable, profile_program
from hlograph.profiling.profile import shortened, without_layouts
from tests.hlograph.profiling.programs import LOOP_TRIPS, branch, halve, multiply, normal, scan


def _lowered(function, *inputs, **options):
    return jax.jit(function, **options).lower(*inputs)


def _profile(function, *inputs, runs=2, **options):
    return profile_program(Program.of(_lowered(function, *inputs, **options)), inputs, runs=runs)


@pytest.fixture(scope="module")
def loop():
    return _profile(scan, normal(8, 16), normal(16, 16))


def test_shares_sum_to_one(loop):
    shares = loop.by_kind()
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert {"dot", "loop overhead", "outside kernels"} <= set(shares)


def test_memory_is_that_of_the_arrays():
    memory = _profile(multiply, normal(8, 16), normal(16, 4)).memory
    assert memory.arguments == 4 * (8 * 16 + 16 * 4)
    assert memory.outputs == 4 * 8 * 4
    assert memory.aliased == 0


def test_work_of_a_dot():
    cost = _profile(multiply, normal(8, 16), normal(16, 4)).cost
    assert cost.flops == 2 * 8 * 16 * 4
    assert cost.bytes_accessed == 4 * (8 * 16 + 16 * 4 + 8 * 4)


def test_work_of_a_loop_counts_each_trip(loop):
    once = _profile(multiply, normal(8, 16), normal(16, 16)).cost
    assert LOOP_TRIPS * once.flops < loop.cost.flops < 1.5 * LOOP_TRIPS * once.flops


def test_work_follows_the_trips_and_the_branch_that_ran():
    few, many = (_profile(halve, np.full(8000, start, np.float32)).cost for start in (4, 1000))
    assert 3 < many.flops / few.flops < 5  # 2 and 10 trips, and one more test in each
    up, down = (_profile(branch, sign * abs(normal(16, 512))).cost.flops for sign in (1, -1))
    assert up != down


def test_roofline(loop):
    by_flops = Peaks(flops=loop.cost.flops, bytes=1e30)
    assert loop.roofline_seconds(by_flops) == pytest.approx(1)
    assert loop.headroom(by_flops) == pytest.approx(loop.seconds)
    by_bytes = Peaks(flops=1e30, bytes=loop.cost.bytes_accessed / 2)
    assert loop.roofline_seconds(by_bytes) == pytest.approx(2)


def test_table_has_what_it_should(loop):
    table = loop.table(limit=3, peaks=Peaks(1e11, 1e10))
    assert table.startswith("jit_scan: ")
    assert "headroom" in table
    assert "headroom" not in loop.table()
    assert f"{len(loop.kernels) - 3} more" in table
    assert len(loop.table(limit=0).splitlines()) == 5 + len(loop.by_kind())
    assert len(loop.table(limit=100).splitlines()) > len(loop.kernels)
    assert all(line == line.rstrip() for line in table.splitlines())


@pytest.mark.parametrize(
    ("accounted", "rough"), [(0.5, True), (0.9, False), (1.1, False), (2, True)]
)
def test_table_says_if_the_times_are_rough(loop, accounted, rough):
    table = dataclasses.replace(loop, accounted=accounted).table()
    assert ("rough" in table) is rough


@pytest.mark.parametrize(
    ("shape", "without"),
    [
        ("f32[8,16]{1,0}", "f32[8,16]"),
        ("(f32[8]{0}, bf16[4,4]{0,1:T(8,128)}, s32[])", "(f32[8], bf16[4,4], s32[])"),
        ("pred[]", "pred[]"),
    ],
)
def test_shapes_are_shown_without_layouts(shape, without):
    assert without_layouts(shape) == without


def test_long_texts_are_shown_shortened():
    whole = shortened("a" * 44)
    cut = shortened("b" * 45)
    assert whole == "a" * 44
    assert cut == "b" * 43 + "…"


def test_json_has_all_and_is_json(loop):
    content = json.loads(json.dumps(loop.to_json()))
    assert content["by_kind"] == loop.by_kind()
    assert len(content["kernels"]) == len(loop.kernels)
    assert content["kernels"][0]["seconds"] == loop.kernels[0].seconds
    assert content["memory"]["arguments"] == loop.memory.arguments
    assert content["cost"]["flops"] == loop.cost.flops


def test_profile_with_a_plan():
    inputs = [normal(512, 512), normal(512, 512)]
    program = Program.of(_lowered(multiply, *inputs))
    plan = Plan(flags={"xla_cpu_experimental_ynn_fusion_type": ""})
    libraries = [
        {kernel.library for kernel in profile_program(program, inputs, plan=which, runs=1).kernels}
        for which in (None, plan)
    ]
    assert "ynn" in libraries[0]
    assert "ynn" not in libraries[1]


def test_profile_of_an_executable_of_jax():
    inputs = [normal(8, 16), normal(16, 4)]
    compiled = _lowered(multiply, *inputs).compile()
    profile = profile_executable(
        compiled.runtime_executable(), lambda: jax.block_until_ready(compiled(*inputs)), runs=2
    )
    assert profile.name == "jit_multiply"
    assert profile.cost.flops == 2 * 8 * 16 * 4


def test_donated_inputs_are_copied():
    profile = _profile(lambda x: x + 1, normal(64, 64), donate_argnums=0)
    assert profile.memory.aliased == 4 * 64 * 64


def test_inputs_of_64_bits_stay_so():
    with jax.enable_x64(True):
        program = Program.of(_lowered(multiply, np.ones((4, 4)), np.ones((4, 4))))
    profile = profile_program(program, [np.ones((4, 4)), np.ones((4, 4))], runs=1)
    assert profile.memory.arguments == 2 * 8 * 16


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([normal(8, 16)], "expected 2 inputs, one for each parameter, got 1"),
        ([normal(8, 16), normal(8, 16)], r"expected f32\[16,4\] as input 1, got float32\[8, 16\]"),
        ([normal(8, 16), np.ones((16, 4), np.int32)], r"as input 1, got int32\[16, 4\]"),
        ([normal(8, 16), np.full((16, 4), "a")], r"expected f32\[16,4\] as input 1, got <U1"),
    ],
)
def test_inputs_that_do_not_fit_are_rejected(inputs, message):
    program = Program.of(_lowered(multiply, normal(8, 16), normal(16, 4)))
    with pytest.raises(HloError, match=message):
        profile_program(program, inputs)


def test_import_needs_no_jax():
    code = (
        "import sys, hlograph.profiling; sys.exit('jax' in sys.modules or 'jaxlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
