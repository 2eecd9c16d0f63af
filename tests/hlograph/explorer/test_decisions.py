from hlograph.explorer.plan_pages import decisions_of
from hlograph.plans import Plan
from hlograph.plans.placement import Placement

PLAN = Plan(
    program="p",
    steps=("call-inliner", "sine-by-polynomial(a.1)", "cse", "sine-by-polynomial(b.2)"),
    layouts={"argument:0": "{0,1}"},
    flags={"xla_cpu_prefer_vector_width": 512},
    placements=(
        Placement("dot.1", "library", "ynn"),
        Placement("dot.2", "library", "none"),
        Placement("dot.3", "library", "ynn"),
        Placement("fusion.1", "fuse", "fusion.2"),
        Placement("fusion.3", "fuse", "fusion.4"),
    ),
    placed="0123",
)


def test_decisions_of_all_kinds_in_order():
    shown = [str(one) for one in decisions_of(PLAN)]
    assert shown == [
        "step call-inliner",
        "step sine-by-polynomial at 2 places",
        "step cse",
        "layout argument:0 = {0,1}",
        "flag xla_cpu_prefer_vector_width = 512",
        "library kernels = ynn at 2 places",
        "library dot.2 = none",
        "fuse kernels at 2 places",
    ]


def test_the_plan_without_a_decision_has_all_others():
    for decision in decisions_of(PLAN):
        left = decision.without
        lost = set(PLAN.describe()) - set(left.describe())
        assert len(lost) == max(1, len(decision.places))
        assert set(left.describe()) < set(PLAN.describe())
        assert left.placed == "0123"


def test_without_its_last_placement_a_plan_is_about_no_optimized_module():
    (decision,) = decisions_of(Plan(placements=PLAN.placements[:1], placed="0123"))
    assert decision.without.is_empty
    assert decision.without.placed == ""


def test_the_empty_plan_decides_nothing():
    assert decisions_of(Plan()) == []
