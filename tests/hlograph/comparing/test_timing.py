"""Tests which of two programs is faster, by their times in each round."""

import numpy as np
import pytest

from hlograph.comparing.timing import TwoTimes, joined, verdict_of
from hlograph.execution.measured import Measured
from hlograph.execution.turns import Turns


def turns(first: float, second: float, control: float = 0.0, noise: float = 0.01) -> Turns:
    """Returns turns with medians in seconds; the control is as the first by default."""
    factors = 1 + noise * np.linspace(-1, 1, 21)
    medians = np.array([first, second, control or first])
    seconds = np.stack([factors, factors[::-1], factors], axis=1) * medians
    return Turns(seconds, np.zeros_like(seconds))


@pytest.mark.parametrize(
    ("rounds", "faster"),
    [
        ([turns(1e-3, 2e-3)], "first"),
        ([turns(2e-3, 1e-3), turns(3e-3, 1e-3)], "second"),
        ([turns(1e-3, 1.001e-3)], "neither"),
        ([turns(1e-3, 2e-3), turns(2e-3, 1e-3)], "neither"),  # the rounds contradict each other
        ([turns(1e-3, 2e-3), turns(1e-3, 1e-3)], "neither"),
        ([turns(1e-3, 1.2e-3, control=1.5e-3)], "neither"),  # no more than the first from itself
        ([turns(1e-3, 1.2e-3, control=0.6e-3)], "neither"),
        ([turns(1e-6, 1.9e-6)], "neither"),  # less than a microsecond
        ([turns(1e-3, 1.2e-3, noise=0.9)], "neither"),
    ],
)
def test_a_side_is_faster_if_each_round_says_so(rounds: list[Turns], faster: str) -> None:
    assert verdict_of([Measured.of(each) for each in rounds]) == faster
    times = TwoTimes.of(rounds)
    assert times.faster == faster
    names = {"first": "this", "second": "other", "neither": "neither"}
    assert times.to_json()["faster"] == names[faster]


def test_times_are_medians_over_all_rounds_with_their_intervals() -> None:
    times = TwoTimes.of([turns(1e-3, 2e-3), turns(1e-3, 4e-3)])
    first, second = times.seconds
    assert first.value == pytest.approx(1e-3, rel=0.01)
    assert first.low <= first.value <= first.high
    assert 2e-3 <= second.value <= 4.04e-3
    assert times.measured.pairs == 42
    assert [each.pairs for each in times.rounds] == [21, 21]


def test_joined_turns_are_those_of_all_rounds() -> None:
    both = joined([turns(1, 2), turns(3, 4)])
    assert both.seconds.shape == both.load.shape == (42, 3)
    assert both.seconds[:21].max() < both.seconds[21:, 0].min() * 3
