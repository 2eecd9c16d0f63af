"""Two stores whose plans were measured on different machines."""

from dataclasses import replace

import pytest

from hlograph.comparing.stores import compare_stores
from hlograph.errors import HloError
from hlograph.optimization import Store
from hlograph.optimization.cache import CacheKey
from hlograph.plans import Measured, Plan
from hlograph.storage.machine import Machine, machine

HERE, THERE = machine(), replace(machine(), cpu="Other CPU", jaxlib="0.0.1")
FLAG, OTHER_FLAG = {"xla_cpu_prefer_vector_width": 512}, {"xla_cpu_optimize_for_size": True}


def measured(default: float, ratio: float) -> Measured:
    return Measured(default, default / ratio, ratio, 0.9 * ratio, 1.1 * ratio, 1.0, 99)


def put(store: Store, name: str, on: Machine, plan: Plan, numerics: str = "close") -> CacheKey:
    key = CacheKey(f"{name.encode().hex()}-{numerics}-{on.key}")
    store.put(key, replace(plan, program=name, machine=on))
    return key


@pytest.fixture
def stores(tmp_path) -> tuple[Store, Store]:
    return Store(tmp_path / "first"), Store(tmp_path / "second")


def test_plans_of_one_program_are_compared_whatever_the_machine(stores):
    first, second = stores
    steps = ("dce", "algsimp(add.1)")
    put(first, "same", HERE, Plan(steps=steps, flags=FLAG, measured=measured(2.0, 3.0)))
    # The place of a rewrite has another name there.
    other = Plan(steps=("dce", "algsimp(add.2)"), flags=OTHER_FLAG, measured=measured(1.0, 1.5))
    put(second, "same", THERE, other)
    comparison = compare_stores(first, second)
    (pair,) = comparison.pairs
    assert (pair.name, pair.numerics, pair.default_ratio) == ("same", "close", 0.5)
    assert pair.gains_differ
    assert comparison.differs
    assert pair.decisions_apart == (
        ["flag xla_cpu_prefer_vector_width = 512"],
        ["flag xla_cpu_optimize_for_size = True"],
    )
    content = comparison.to_json()["programs"][0]
    assert content["first"]["machine"] == HERE.to_json()
    assert content["second"]["machine"]["cpu"] == "Other CPU"
    assert content["second"]["measured"]["ratio"] == 1.5
    assert content["first"]["plan"][:2] == ["step dce", "step algsimp"]


def test_gains_whose_intervals_meet_do_not_differ(stores):
    first, second = stores
    put(first, "same", HERE, Plan(flags=FLAG, measured=measured(2.0, 1.5)))
    put(second, "same", THERE, Plan(flags=FLAG, measured=measured(2.0, 1.6)))
    (pair,) = compare_stores(first, second).pairs
    assert not pair.differs


@pytest.mark.parametrize(("ratio", "differs"), [(1.05, False), (2.0, True)])
def test_where_the_default_was_kept_the_gain_is_one(stores, ratio, differs):
    first, second = stores
    key = put(first, "same", HERE, Plan())
    first.put(key, Plan(program="same"))  # as a search does
    put(second, "same", THERE, Plan(flags=FLAG, measured=measured(2.0, ratio)))
    (pair,) = compare_stores(first, second).pairs
    assert pair.gains_differ is differs
    assert pair.default_ratio is None
    assert pair.decisions_apart[0] == []
    assert pair.plans[0].machine == HERE


def test_a_plan_without_a_measurement_has_no_gain(stores):
    first, second = stores
    put(first, "same", HERE, Plan(flags=FLAG))
    put(second, "same", THERE, Plan(flags=FLAG, measured=measured(2.0, 9.0)))
    assert not compare_stores(first, second).differs


def test_programs_and_classes_of_one_store_alone_are_no_pairs(stores):
    first, second = stores
    plan = Plan(flags=FLAG, measured=measured(2.0, 1.5))
    put(first, "both", HERE, plan)
    put(first, "mine", HERE, plan)
    put(second, "both", THERE, plan)
    put(second, "both", THERE, plan, "exact")
    put(second, "theirs", THERE, plan)
    comparison = compare_stores(first, second)
    assert [(pair.name, pair.numerics) for pair in comparison.pairs] == [("both", "close")]
    assert comparison.alone == (("mine",), ("theirs",))


def test_a_plan_with_two_keys_is_one(stores):
    first, second = stores
    plan = Plan(flags=FLAG, measured=measured(2.0, 1.5))
    for name in ("engine", "jaxlib"):
        key = put(first, name, HERE, plan)
        first.put(key, replace(plan, program="both", machine=HERE))
    put(second, "jaxlib", THERE, plan)
    comparison = compare_stores(first, second)
    assert [pair.name for pair in comparison.pairs] == ["both"]
    assert comparison.alone == ((), ())


def test_one_program_may_be_chosen(stores):
    first, second = stores
    plan = Plan(flags=FLAG, measured=measured(2.0, 1.5))
    for name in ("some", "other"):
        key = put(first, name, HERE, plan)
        put(second, name, THERE, plan)
    (pair,) = compare_stores(first, second, {key}).pairs
    assert pair.name == "other"


def test_a_store_that_is_no_folder_is_an_error(tmp_path):
    with pytest.raises(HloError, match="expected a store in a folder"):
        compare_stores(Store(tmp_path), Store("memory://stores-to-compare"))
