"""Words about flags and decisions, which are columns of a cost model."""

import json

import pytest

from hlograph.errors import HloError
from hlograph.plans.knobs import STAGES, Point
from hlograph.profiling.plan_words import decision_words, flag_words


def test_a_flag_is_a_word_with_its_value():
    flags = {"fast": True, "slow": False, "width": 512, "kind": "A,B", "none": ""}
    words = flag_words(flags)
    assert words == ["fast=true", "slow=false", "width=512", 'kind="A,B"', 'none=""']
    assert flag_words({}) == []


def test_values_that_differ_are_different_words():
    words = [flag_words({"flag": value})[0] for value in (True, 1, "1", "true")]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("flags xla_cpu_fast", "true", ["flags xla_cpu_fast=true"]),
        ("steps rules", json.dumps(["dot-swap(a, b)", "dce"]), ["steps dot-swap", "steps dce"]),
        ("steps rules", "[]", []),
        ("layout dot f32[8,16]", "{0,1}", ["layout {0,1}", "layout {0,1}"]),
        ("fusion add 2", "unfuse all", ["fusion unfuse all", "fusion unfuse"]),
        ("kernel dot", "library eigen", ["kernel library eigen", "kernel library"]),
    ],
)
def test_words_of_a_decision(name, value, words):
    assert decision_words({name: value}) == words


def test_where_a_decision_is_made_is_no_word():
    one, other = ({f"fusion {place}": "unfuse"} for place in ("add 2", "dot 7"))
    assert decision_words(one) == decision_words(other)


def test_words_are_in_the_order_of_the_decisions_and_begin_with_their_stage():
    decisions = Point.of(
        {"flags wide": "true", "kernel dot": "eigen", "steps a": '["dce"]', "layout x": "{0}"}
    ).values
    words = decision_words(decisions)
    assert words == [word for item in decisions.items() for word in decision_words(dict([item]))]
    assert {word.split()[0] for word in words} == {"flags", "kernel", "layout", "steps"}
    assert {word.split()[0] for word in words} <= set(STAGES)


def test_other_decisions_are_refused():
    with pytest.raises(HloError, match="expected a knob of the stages"):
        decision_words({"colour": "red"})
