from hlograph.timing.ratio import MedianRatio


def test_equal_turns_leave_no_doubt() -> None:
    assert MedianRatio.of([2.0] * 5) == (2.0, 2.0, 2.0)


def test_the_interval_holds_the_median_of_the_turns() -> None:
    found = MedianRatio.of([1.0, 1.1, 1.2, 1.3, 9.0])
    assert found.ratio == 1.2
    assert 0.99 < found.low < found.ratio < found.high < 9.01
