"""Tests the choice of shipped modules: a share of bytes for each family, novel structures first."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "datasets"


@pytest.fixture
def shipping(script: Callable[[str], ModuleType]) -> ModuleType:
    """The module under test."""
    return script("shipping")


def row(shipping: ModuleType, name: str, structure: str) -> Any:
    family = name.split("/")[0]
    return shipping.Row(
        name, family, "lib", "1", "model", "", "", *(9, 9, 9, 9), name, structure, ""
    )


def test_a_family_has_its_share(shipping: ModuleType) -> None:
    rows = [row(shipping, f"f/m/{number}", str(number)) for number in range(30)]
    passed_over = shipping.beyond_shares(rows, lambda name: shipping.SHARE // 10)
    assert len(rows) - len(passed_over) == 10
    assert passed_over == sorted(passed_over)
    assert shipping.beyond_shares(reversed(rows), lambda name: shipping.SHARE // 10) == passed_over


def test_small_ones_follow_one_that_does_not_fit(shipping: ModuleType) -> None:
    rows = [row(shipping, f"f/m/{number}", str(number)) for number in range(9)]
    large = "f/m/4"
    sizes = {large: shipping.SHARE + 1}
    assert shipping.beyond_shares(rows, lambda name: sizes.get(name, 1)) == [large]


def test_novel_structures_come_first(shipping: ModuleType) -> None:
    rows = [row(shipping, f"f/m/{number}", "the same") for number in range(20)]
    rows += [row(shipping, f"f/n/{number}", str(number)) for number in range(9)]
    passed_over = shipping.beyond_shares(rows, lambda name: shipping.SHARE // 10)
    assert len(passed_over) == 19
    assert all(name.startswith("f/m/") for name in passed_over)


def test_what_is_not_shipped_is_not_in_the_manifest(shipping: ModuleType) -> None:
    left = shipping.read_not_shipped()
    assert left == sorted(set(left))
    assert not set(left) & {one.name for one in shipping.read_manifest()}
