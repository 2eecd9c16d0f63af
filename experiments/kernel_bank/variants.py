"""Decisions that apply to one kernel: each is a point of the knobs of plans.

What a new knob, rule or native kernel brings is a new key; what was recorded stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from hlograph.plans.knobs import DEFAULT, Knob, Point, Recipe, flag_knobs
from hlograph.plans.versions import STEPS, Versions

_PAIRS = 0.3
"""Share of the kernels with a pair of decisions."""


def decisions_of(versions: Versions, most: int, random: Random) -> list[Point]:
    """Returns the default, and some of the decisions that apply to a kernel.

    The stages of compilation take turns, so that the few values of libraries are not lost among
    the many of flags. Of some kernels, the last one is the first two together.

    Args:
        versions: The versions of the kernel.
        most: Number of decisions beside the default.
        random: Draws them.

    Raises:
        HloError: The kernel does not compile.
    """
    stages = [_steps(versions), _places(versions), _layouts(versions), _flags(versions)]
    for points in stages:
        random.shuffle(points)
    random.shuffle(stages)
    chosen: list[Point] = []
    while len(chosen) < most and any(stages):
        for points in stages:
            if points and len(chosen) < most:
                chosen.append(points.pop())
    if len(chosen) > 2 and random.random() < _PAIRS:
        chosen[-1] = _both(*chosen[:2])
    return [Point(), *dict.fromkeys(chosen)]


def _both(first: Point, second: Point) -> Point:
    """Returns two decisions together; the second counts where both are about the same."""
    return Point.of({**first.values, **second.values})


def _steps(versions: Versions) -> list[Point]:
    """Returns the rules that apply, those of forms and of native kernels."""
    applying = {each.rule for each in versions.after_steps(()).rewrites(versions.rules)}
    recipes = (Recipe((rule,)) for rule in sorted(applying))
    steps = (versions.steps_by(recipe) for recipe in recipes)
    return [Point.of({STEPS: text}) for text in steps if text != DEFAULT]


def _places(versions: Versions) -> list[Point]:
    """Returns fusions, libraries, partitions, and loops as one kernel."""
    return _each(versions.places(versions.version(Point())).knobs(None))


def _layouts(versions: Versions) -> list[Point]:
    return _each(versions.layouts(()).knobs(None))


def _flags(versions: Versions) -> list[Point]:
    return _each(flag_knobs(versions.opcodes, None, versions.numerics))


def _each(knobs: Iterable[Knob]) -> list[Point]:
    return [Point.of({knob.name: value}) for knob in knobs for value in knob.values]
