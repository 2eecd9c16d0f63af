"""Knobs and points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph import HloError
from hlograph.plans import Plan
from hlograph.plans.flag_effects import FLAG_VALUES, flags_without_effect
from hlograph.plans.flags import FLAGS
from hlograph.plans.knobs import (
    DEFAULT,
    STAGES,
    Knob,
    Point,
    flag_knobs,
    flag_values,
    flags_of,
    stage_of,
    values_of,
)

NAMES = st.builds(lambda stage, name: f"{stage} {name}", st.sampled_from(STAGES), st.text())


@given(st.dictionaries(NAMES, st.text()))
def test_points_by_values_and_json(values):
    point = Point.of(values)
    assert point.values == {name: value for name, value in values.items() if value != DEFAULT}
    assert Point.from_json(point.to_json()) == point
    assert hash(Point.of(dict(reversed(values.items())))) == hash(point)
    assert Point.of(point.at(*STAGES)) == point


@given(st.dictionaries(NAMES, st.text()), NAMES, st.text())
def test_a_point_but_for_one_value(values, name, value):
    point = Point.of(values)
    other = point.but(name, value)
    assert other.values.get(name, DEFAULT) == value
    assert other.but(name, point.values.get(name, DEFAULT)) == point


def test_values_by_stage():
    point = Point.of({"flags a": "1", "kernel b": "x", "fusion b": "y"})
    assert point.at("kernel", "fusion") == {"kernel b": "x", "fusion b": "y"}
    assert Knob("layout c 0", ("{0,1}",)).stage == stage_of("layout c 0") == "layout"


@pytest.mark.parametrize("text", ["", "[1]", "{", "3"])
def test_what_is_no_point(text):
    with pytest.raises(HloError, match="expected the JSON of a point"):
        Point.from_json(text)


def test_a_knob_of_no_stage():
    with pytest.raises(HloError, match="expected a knob of the stages"):
        stage_of("tiles a")


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


def test_flags_without_effect_are_no_knobs_and_decide_nothing():
    dead = flags_without_effect()
    assert dead
    assert names(EVERYTHING, "fast").isdisjoint(dead)
    values = {f"flags {name}": "true" for name in dead} | {
        "flags xla_cpu_optimize_for_size": "true"
    }
    assert flags_of(values) == {"xla_cpu_optimize_for_size": True}
    # A model that chooses flags has the same kinds of choices with each jaxlib.
    assert {f"flags {name}" for name in dead & FLAG_VALUES.keys()} <= dict(flag_values()).keys()


def test_a_flag_about_libraries_is_about_what_they_compute():
    shares = {knob.name: knob.share for knob in flag_knobs(EVERYTHING, HOT, "close")}
    assert shares["flags xla_cpu_experimental_ynn_fusion_type"] == pytest.approx(0.7)
    assert shares["flags xla_cpu_multi_thread_eigen"] == 0.5
    assert shares["flags xla_cpu_small_while_loop_byte_threshold"] == 0.6
    assert shares["flags xla_cpu_prefer_vector_width"] == 1.0
