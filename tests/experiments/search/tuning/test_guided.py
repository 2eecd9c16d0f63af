"""Evolution that a cost model guides: what it proposes."""

from __future__ import annotations

import math

import pytest

from experiments.cost_model.predictor import SHIPPED, Predictor
from experiments.search.tuning.guided import Guided
from hlograph import HloError
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.tuning.knobs import Point, Stage
from hlograph.tuning.searchers import Evolution
from tests.hlograph.tuning.searchers.spaces import EFFECTS, Effects, Separable, search

POINTS = 24
# Values of flags are JSON.
WIDE = {"flags wide": {"true": 0.15}}
SOME = {name: values for name, values in EFFECTS.items() if not name.startswith("flags")} | WIDE


class Known(Separable):
    """A space whose kernels say how fast a point is.

    Args:
        effects: Effects of the values.
        refused: Stage whose knobs keep a point from being compiled.
    """

    def __init__(self, effects: Effects = SOME, refused: Stage | None = None) -> None:
        super().__init__(effects)
        self._refused: Stage | None = refused

    def kernels(self, point: Point) -> list[KernelModule]:
        if self._refused and point.at(self._refused):
            raise HloError("this does not compile")
        return [KernelModule("k", "while", math.exp(-self.gain(point)))]


@pytest.fixture(scope="module")
def predictor():
    return Predictor.load(SHIPPED)


def best(searcher, space):
    results = search(searcher, space, POINTS).points
    return max(space.gain(point) for point in results)


def test_it_finds_faster_points_than_evolution_alone(predictor):
    guided, alone = [], []
    for seed in range(4):
        space = Known()
        guided.append(best(Guided(space, seed, predictor=predictor), space))
        alone.append(best(Evolution(space, seed), space))
    assert sum(guided) > sum(alone)


def test_no_point_is_proposed_twice_and_points_that_do_not_compile_come_last(predictor):
    space = Known(refused="layout")
    found = search(Guided(space, 0, predictor=predictor), space, POINTS).points
    assert len(set(found)) == len(found)
    assert sum(bool(point.at("layout")) for point in found) < POINTS / 4


def test_it_ends_where_the_space_ends(predictor):
    space = Known(WIDE)
    found = search(Guided(space, 0, predictor=predictor), space, POINTS).points
    assert found == [Point.of({"flags wide": "true"})]
