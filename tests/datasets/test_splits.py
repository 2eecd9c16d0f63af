"""Sets and splits: no structure on two sides, whole families held out."""

from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FAMILIES = ("gpt2", "gpt-j", "bert", "mlp")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(FAMILIES),
        st.sampled_from("abcdef"),
        st.integers(0, 12),
        st.sampled_from(("training-step", "model")),
    ),
    max_size=40,
)


@pytest.fixture
def splits(script: Callable[[str], ModuleType]) -> ModuleType:
    """The module under test."""
    return script("splits")


def assigned(splits: ModuleType, drawn: list[tuple[str, str, int, str]]) -> list[Any]:
    """Returns rows of drawn families, models, structures and scopes, with their splits."""
    return splits.assign(
        splits.Row(
            f"{family}/{model}/{number}",
            *(family, "lib", "1", scope, "", "", 1, 1, 1, 1, str(number), str(structure), ""),
        )
        for number, (family, model, structure, scope) in enumerate(drawn)
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(drawn=ROWS)
def test_nothing_leaks(splits: ModuleType, drawn: list[tuple[str, str, int, str]]) -> None:
    rows = assigned(splits, drawn)
    by_structure, by_family = defaultdict(set), defaultdict(set)
    for row in rows:
        by_structure[row.structure].add(row.split)
        by_family[row.family].add(row.split)
        assert (row.split == "test-unseen") == (row.family in splits.HELD_OUT)
        kin = row.family in {"gpt2", *splits.GPT2_KIN} and row.scope == "training-step"
        assert row.set == ("gpt2-train" if kin else "diverse")
    for sides in by_structure.values():
        # A seen family that is built like a held-out one is for tests, too.
        assert len(sides) == 1 or sides == {"test-seen", "test-unseen"}
    configurations = defaultdict(set)
    for row in rows:
        configurations[splits.configuration_of(row.name)].add(row.split)
    assert all(len(sides) == 1 for sides in configurations.values())


def test_a_family_that_is_alone_is_trained_on(splits: ModuleType) -> None:
    for model in "abcdefghij":
        (row,) = assigned(splits, [("mlp", model, 0, "model")])
        assert row.split == "train"


def test_a_benchmark_keeps_its_split_when_others_come(splits: ModuleType) -> None:
    few = [("mlp", model, number, "model") for number, model in enumerate("abcdef")]
    more = [*few, *(("gpt2", model, 20 + n, "model") for n, model in enumerate("abcdef"))]
    before = {row.name: row.split for row in assigned(splits, few)}
    after = {row.name: row.split for row in assigned(splits, more)}
    assert {name: after[name] for name in before} == before


def test_equal_structures_tie_configurations_together(splits: ModuleType) -> None:
    drawn = [("mlp", "a", 0, "model"), ("mlp", "b", 0, "model"), ("mlp", "b", 1, "model")]
    drawn += [("gpt2", "c", 1, "model"), ("gpt2", "d", 2, "model")]
    groups = splits.configuration_groups(assigned(splits, drawn))
    assert len({groups[name] for name in groups if "/d/" not in name}) == 1
    assert groups["gpt2/d/4"] == "gpt2/d"
