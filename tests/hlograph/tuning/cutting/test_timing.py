"""Heavy places of a program, and the times of their cuts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.programs import Program
from hlograph.tuning.cutting.searcher import CutSearch
from hlograph.tuning.knobs import Point
from hlograph.tuning.space import ProgramSpace

RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((96, 96)).astype(np.float32) for _ in range(2))


def network(x):
    for _ in range(2):
        x = jnp.tanh(x @ W)
    return jax.lax.fori_loop(0, 50, lambda _, x: jnp.sin(x @ x) / 10, x)


@pytest.fixture(scope="module")
def space():
    found = ProgramSpace(Program.of(jax.jit(network).lower(X)))
    yield found
    found.close()


def test_equal_places_are_one_and_loops_have_what_is_in_them(space):
    places = space.heavy_places(Point())
    assert [one.share for one in places] == sorted((one.share for one in places), reverse=True)
    assert len({one.kind for one in places}) == len(places)
    knobs = {knob.name: knob for knob in space.knobs(Point())}
    for one in places:
        assert 0 < one.share <= 1
        for name, values in one.values.items():
            assert set(values) <= set(knobs[name].values)
    loop = next(one for one in places if one.about.startswith("while"))
    assert loop.inside & {one.kind for one in places}


def test_a_cut_is_timed_beside_itself(space):
    for place in space.heavy_places(Point()):
        name, values = next(iter(place.values.items()))
        time = space.cut_time(Point(), place.kind, {name: values[0]})
        assert not time.error
        assert time.low <= time.ratio <= time.high
        assert time.ratio > 0


def test_the_composed_point_is_a_plan_of_the_program(space):
    search = CutSearch(space)
    while (point := search.ask()) is not None:
        plan = space.plan(point)
        assert plan.placements
    assert search.tuned
    assert all(one.trials or one.error for one in search.tuned.values())
    assert 0 <= search.predicted_saving() < 1
