"""benchmarks.ranking: Kendall's tau, and a report."""

import pytest

from benchmarks.ranking import Pair, kendall_tau, read_times, report


@pytest.mark.parametrize(
    ("other", "tau"),
    [([1, 2, 3, 4], 1), ([4, 3, 2, 1], -1), ([1, 2, 4, 3], 4 / 6), ([5, 5, 5, 5], 0)],
)
def test_tau(other, tau):
    assert kendall_tau([10, 20, 30, 40], other) == pytest.approx(tau)


def test_times_without_failures(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("name,ms,error\na/b,2.5,\nc/d,,it failed\n")
    assert read_times(path) == {"a/b": 0.0025}


def test_report():
    pairs = [Pair(f"p{n}", "g", n * 1e-3, (n + (n == 3)) * 1e-3) for n in range(1, 5)]
    text = report(pairs, 1)
    assert "4 measured: tau 0.9" in text
    assert "p3" in text
    assert report([], 1) == "nothing was measured"
