from experiments.tune.decisions import counts, decisions_of
from hlograph.plans import Plan
from tests.experiments.tune.known_results import PLAN


def test_decisions_of_a_plan():
    assert decisions_of(Plan()) == set()
    assert decisions_of(PLAN) == {
        ("steps", "call-inliner"),
        ("steps", "dot-merger"),
        ("layout", "arguments"),
        ("layout", "instructions"),
        ("fusion", "fuse"),
        ("kernel", "library none"),
        ("kernel", "partitions"),
        ("flags", "xla_cpu_prefer_vector_width"),
        ("flags", "xla_cpu_optimize_for_size"),
    }


def test_plans_are_counted_once_for_each_kind_of_decision():
    wide = Plan(flags={"xla_cpu_prefer_vector_width": 256})
    found = counts([PLAN, wide])
    assert found["steps"] == {"": 1, "call-inliner": 1, "dot-merger": 1}
    assert found["flags"] == {
        "": 2,
        "xla_cpu_prefer_vector_width": 2,
        "xla_cpu_optimize_for_size": 1,
    }
    assert list(found) == ["steps", "layout", "fusion", "kernel", "flags"]
