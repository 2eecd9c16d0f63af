"""Knobs of flags: which a program has, and their values."""

from __future__ import annotations

import pytest

from hlograph.plans import Plan
from hlograph.plans.flags import FLAGS
from hlograph.plans.knobs import flag_knobs, flags_of, values_of

EVERYTHING = ("while", "dot", "convolution", "reduce")
HOT = {"dot": 0.5, "reduce": 0.2, "while": 0.6}


def names(opcodes, numerics="close"):
    return {knob.name.removeprefix("flags ") for knob in flag_knobs(opcodes, HOT, numerics)}


def test_every_value_is_one_that_a_plan_takes():
    for knob in flag_knobs(EVERYTHING, HOT, "fast"):
        for value in knob.values:
            flags = flags_of({knob.name: value})
            assert Plan(flags=flags).flags == flags
            assert values_of(flags) == {knob.name: value}


def test_flags_are_those_that_can_matter():
    loops = "xla_cpu_small_while_loop_byte_threshold"
    assert loops in names(["while"])
    assert loops not in names(["dot"])
    assert not any(FLAGS[name].fast for name in names(EVERYTHING))
    assert any(FLAGS[name].fast for name in names(EVERYTHING, "fast"))


def test_a_flag_about_libraries_is_about_what_they_compute():
    shares = {knob.name: knob.share for knob in flag_knobs(EVERYTHING, HOT, "close")}
    assert shares["flags xla_cpu_experimental_ynn_fusion_type"] == pytest.approx(0.7)
    assert shares["flags xla_cpu_experimental_onednn_fusion_type"] == 0.5
    assert shares["flags xla_cpu_small_while_loop_byte_threshold"] == 0.6
    assert shares["flags xla_cpu_prefer_vector_width"] == 1.0
