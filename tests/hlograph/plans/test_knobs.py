"""Knobs and points."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlograph import HloError
from hlograph.plans.knobs import DEFAULT, STAGES, Knob, Point, stage_of

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
