"""Interleaving, medians, ratios and exponents, on a clock that the test moves."""

import pytest

from benchmarks.timing import Call, Timings, exponent, interleaved


class FakeClock:
    """Stands still until somebody works."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def __call__(self):
        return self.now

    def call(self, name, seconds):
        """Returns a call that takes so long; a list gives each call's duration."""
        durations = iter(seconds) if isinstance(seconds, list) else None

        def run(_):
            self.log.append(name)
            self.now += next(durations) if durations else seconds

        return Call(run)


def test_each_call_has_its_turn_in_every_round_and_none_always_goes_first():
    clock = FakeClock()
    calls = {name: clock.call(name, 1.0) for name in "abc"}
    interleaved(calls, rounds=3, clock=clock)
    assert "".join(clock.log) == "abc" + "abc" + "bca" + "cab"


def test_the_first_turn_is_not_counted():
    clock = FakeClock()
    found = interleaved({"slow": clock.call("slow", [100.0, 1.0, 2.0, 3.0])}, 3, clock=clock)
    assert found.seconds["slow"] == [1.0, 2.0, 3.0]
    assert found.of("slow", 1e3) == (2_000.0, 1_500.0, 2_500.0)


def test_a_machine_that_slows_down_changes_times_but_not_ratios():
    clock = FakeClock()
    speeds = [1.0, 1.0, 2.0, 8.0]
    calls = {
        "a": clock.call("a", [3.0 * speed for speed in speeds]),
        "b": clock.call("b", [1.5 * speed for speed in speeds]),
    }
    found = interleaved(calls, rounds=3, clock=clock)
    assert found.ratio("a", "b") == (2.0, 2.0, 2.0)
    assert found.of("a").high > 2 * found.of("a").low


def test_the_ratio_is_the_median_of_the_rounds_not_the_ratio_of_the_medians():
    found = Timings({"a": [1.0, 4.0, 9.0], "b": [1.0, 8.0, 3.0]})
    assert found.ratio("a", "b").value == 1.0
    assert found.of("a").value / found.of("b").value == pytest.approx(4 / 3)


def test_what_is_made_ready_is_not_timed_and_is_made_anew():
    clock = FakeClock()
    made = []

    def prepare():
        clock.now += 50.0
        made.append(len(made))
        return made[-1]

    seen = []

    def run(prepared):
        seen.append(prepared)
        clock.now += 1.0

    found = interleaved({"a": Call(run, prepare)}, rounds=2, clock=clock)
    assert found.seconds["a"] == [1.0, 1.0]
    assert seen == [0, 1, 2]


def test_several_calls_in_one_measurement_are_averaged():
    clock = FakeClock()
    call = clock.call("a", [100.0, 1.0, 2.0, 6.0])
    found = interleaved({"a": Call(call.run, number=3)}, rounds=1, clock=clock)
    assert found.seconds["a"] == [3.0]


def test_the_budget_ends_the_rounds_but_not_before_two():
    clock = FakeClock()
    assert len(interleaved({"a": clock.call("a", 10.0)}, 9, 25.0, clock).seconds["a"]) == 3
    assert len(interleaved({"a": clock.call("a", 10.0)}, 9, 0.0, clock).seconds["a"]) == 2
    with pytest.raises(ValueError, match="at least 1 round, got 0"):
        interleaved({}, 0)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.1, 2.0])
def test_exponents_of_power_laws_are_found(power):
    sizes = [1_000, 10_000, 100_000]
    assert exponent(sizes, [3e-7 * size**power for size in sizes]) == pytest.approx(power)


def test_exponents_weigh_all_sizes():
    # Slopes of 0 and of 2 in turn: the line through all three has 1.
    assert exponent([10, 100, 1_000], [1.0, 1.0, 100.0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("sizes", "values"), [([1_000], [1.0]), ([10, 100], [1.0]), ([10, 100], [0.0, 1.0])]
)
def test_what_has_no_exponent_is_refused(sizes, values):
    with pytest.raises(ValueError, match="expected"):
        exponent(sizes, values)
