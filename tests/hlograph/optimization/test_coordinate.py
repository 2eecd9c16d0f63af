"""Coordinate search over knobs, alone and in turns with evolution."""

from hlograph.optimization.methods.coordinate import Coordinate, Gains, JointSearch, Kind
from hlograph.optimization.methods.knob_search import PointSpeed
from hlograph.plans.knobs import Knob, Point, stage_of
from tests.hlograph.optimization.spaces import Large, Separable, search


class Equal(Separable):
    """All knobs have a tenth of the time."""

    def knobs(self, point: Point) -> list[Knob]:
        return [Knob(name, tuple(values), share=0.1) for name, values in self.effects.items()]


KINDS = {f"kernel {index}": {"partitions 2": 0.0, "library ynn": 0.0} for index in range(8)}


def test_one_value_changes_at_a_time_and_the_best_point_is_kept() -> None:
    space = Separable()
    found = search(Coordinate(space), space, 50)
    best = Point()
    for point in found.points:
        assert len({name for name, _ in set(best.items) ^ set(point.items)}) == 1
        if space.gain(point) > space.gain(best):
            best = point
    assert found.ended
    assert best == space.optimum


def test_the_largest_share_comes_first_and_priors_change_the_order() -> None:
    space = Separable()
    assert Coordinate(space).propose() == Point.of({"kernel e": "library ynn"})
    priors: dict[Kind, float] = {("layout", "{0,1}"): 2.0}
    assert Coordinate(space, gains=Gains(priors)).propose() == Point.of({"layout w": "{0,1}"})


class Shared(Separable):
    """Knobs with shares of the time that their names end with."""

    def knobs(self, point: Point) -> list[Knob]:
        return [Knob(name, tuple(v), float(name.split()[-1])) for name, v in self.effects.items()]


def test_each_stage_has_a_value_tried_before_any_has_two() -> None:
    names = [f"flags f{n} 1.0" for n in range(9)]
    names += ["layout w 0.5", "layout v 0.4", "kernel k 0.2", "fusion f 0.05"]
    space = Shared({name: {"x": 0.0} for name in names})
    priors: dict[Kind, float] = {("flags", f"f{n} 1.0"): 0.3 for n in range(9)}
    found = search(Coordinate(space, gains=Gains(priors, 0.01)), space, 13)
    stages = [stage_of(name) for point in found.points for name, _ in point.items]
    # The only fusion takes too little of the time to stand for its stage.
    assert stages == ["flags", "layout", "kernel", *["flags"] * 8, "layout", "fusion"]


def test_kinds_of_values_that_hurt_are_tried_last() -> None:
    space = Equal(KINDS)
    searcher = Coordinate(space)
    words = []
    while (point := searcher.propose()) is not None and len(words) < 16:
        ((_, value),) = point.items
        words.append(value.split()[0])
        hurts = value.startswith("partitions")
        searcher.note(point, PointSpeed(0.9, 0.89, 0.91) if hurts else PointSpeed(1.0, 0.99, 1.01))
    assert words[1:9] == ["library"] * 8


def test_values_that_hurt_clearly_are_not_tried_on_a_better_point() -> None:
    effects = {"kernel a": {"x": -0.2}, "kernel b": {"x": -0.01}, "kernel c": {"x": 0.1}}
    space = Equal(effects)
    found = search(Coordinate(space), space, 50)
    with_c = [point for point in found.points if "kernel c" in point.values]
    assert Point.of({"kernel b": "x", "kernel c": "x"}) in with_c
    assert Point.of({"kernel a": "x", "kernel c": "x"}) not in with_c


def test_a_lead_within_the_noise_is_not_accepted() -> None:
    space = Equal({"kernel a": {"x": 0.0}, "kernel b": {"x": 0.0}})
    searcher = Coordinate(space)
    searcher.note(searcher.propose() or Point(), PointSpeed(1.02, 0.98, 1.05))
    assert searcher.propose() == Point.of({"kernel b": "x"})
    searcher.note(Point.of({"kernel b": "x"}), PointSpeed(1.02, 1.01, 1.03))
    assert searcher.propose() == Point.of({"kernel a": "x", "kernel b": "x"})


def test_values_can_be_set_back() -> None:
    effects = {"kernel a": {"x": -0.05}, "kernel b": {"x": 0.1}}
    space = Equal(effects)
    searcher = Coordinate(space)
    searcher.note(Point.of({"kernel a": "x"}), PointSpeed(1.04, 1.0, 1.08))  # by noise
    found = search(searcher, space, 20)
    assert space.optimum in found.points


def test_gains_are_means_of_log_ratios_by_share() -> None:
    gains = Gains({("kernel", "x"): 0.1})
    small, large = (Knob(f"kernel {share}", ("x 1", "y"), share) for share in (0.1, 1.0))
    assert gains.expected(small, "x 1", "") == 0.1 * gains.mean(("kernel", "x"))
    before = gains.mean(("kernel", "x"))
    gains.tell(small, "x 1", "", 0.1)
    slightly = gains.mean(("kernel", "x"))
    assert before < slightly
    for _ in range(3):
        gains.tell(large, "x 1", "", -0.5)
    assert gains.mean(("kernel", "x")) < 0 < gains.mean(("kernel", "y"))
    assert gains.expected(large, "", "x 1") == -gains.expected(large, "x 1", "")


LOOP = Knob("kernel aaaaaaaaaaaa", ("one-kernel",), 0.5)
SUM = Knob("kernel bbbbbbbbbbbb", ("library none",), 0.4)
LAYOUT = Knob("layout cccccccccccc 0", ("{0,1}",), 0.9)
WIDTH = Knob("flags xla_cpu_prefer_vector_width", ("512", "128"))


class Space:
    """Knobs of which two help only together."""

    def __init__(self):
        self.versions = []

    def knobs(self, point):
        self.versions.append(point)
        return [WIDTH, LAYOUT, SUM, LOOP]

    def result(self, point):
        both = {LOOP.name, SUM.name} <= set(point.values)
        ratio = 1.6 if both else 0.9 ** len(point.items)
        return PointSpeed(ratio, 0.99 * ratio, 1.01 * ratio)


def test_what_promises_most_comes_first_of_each_stage_and_then_of_all():
    search = JointSearch(Space())
    asked = [search.propose() for _ in range(7)]
    assert asked[::2] == [  # the others are several values, by evolution
        Point.of({LOOP.name: "one-kernel"}),
        Point.of({WIDTH.name: "512"}),
        Point.of({LAYOUT.name: "{0,1}"}),
        Point.of({SUM.name: "library none"}),
    ]


def test_values_that_help_only_together_are_found():
    space = Space()
    search, told = JointSearch(space), {}
    while len(told) < 12:  # of 24 points
        point = search.propose()
        assert point is not None
        assert point not in told
        told[point] = space.result(point)
        search.note(point, told[point])
    assert max(result.ratio for result in told.values()) == 1.6


def test_knobs_are_listed_for_the_fastest_version_only():
    space = Space()
    search = JointSearch(space)
    search.propose()
    for width, ratio in (("512", 1.2), ("128", 0.8)):
        search.note(Point.of({WIDTH.name: width}), PointSpeed(ratio, ratio, ratio))
    space.versions.clear()
    while (point := search.propose()) is not None:
        search.note(point, PointSpeed(0.0))
    assert {version.values.get(WIDTH.name) for version in space.versions} == {"512"}


def test_evolution_changes_the_fastest_points_from_the_first_turn():
    space = Large()
    search = JointSearch(space)
    first = search.propose()
    assert first is not None
    search.note(first, PointSpeed(3.0, 2.9, 3.1))
    proposed = [search.propose() for _ in range(10)][::2]  # those in between change one value
    kept = [point for point in proposed if point and set(first.items) <= set(point.items)]
    assert len(kept) >= 3  # of points around the default, hardly any has the value
