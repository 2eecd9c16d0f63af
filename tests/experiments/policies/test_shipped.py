"""Names of the policies that come with the project."""

import pytest

from experiments.policies.shipped import available, kind_of


def test_names_say_what_a_policy_was_trained_for():
    assert kind_of("op_counts", {"reward": "log-drop", "call_cost": 0.02}) == "op-counts"
    assert kind_of("rewrites", {"reward": "log-drop"}) == "rewrites"
    assert kind_of("rewrites", {"reward": "log-drop", "sweeps": False}) == "rewrites"
    assert kind_of("rewrites", {"reward": "log-drop", "sweeps": True}) == "sweeps"
    assert kind_of("rewrites", {"reward": "cost-drop"}) == "rewrites-cost"
    assert kind_of("tuning", {"call_cost": 0.2}) == "tuning"
    assert kind_of("tuning_counts", {"call_cost": 0.2}) == "tuning-op-counts"


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("rewrites", {"reward": "final-run-time"}),
        ("gnn", {"reward": "op-count", "call_cost": 0.02}),
        ("fusion", {"reward": "bytes-drop"}),
    ],
)
def test_a_policy_of_another_kind_does_not_take_the_name_of_one(learner, settings):
    with pytest.raises(ValueError, match=settings["reward"]):
        kind_of(learner, settings)


def test_a_kind_is_not_another_that_begins_alike(tmp_path):
    for name in ("rewrites-seed0", "rewrites-cost-seed0"):
        (tmp_path / f"{name}.checkpoint").touch()
    assert list(available(tmp_path, ["rewrites"])) == ["rewrites-seed0"]
