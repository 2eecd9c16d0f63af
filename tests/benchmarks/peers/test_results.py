"""Times of peers: ratios in turns, files, summaries, tables."""

import csv
import math

import pytest

from benchmarks.peers.page import beside, findings, of_own, tables, write_results
from benchmarks.peers.results import DEFAULT, PeersRow, PeerTimes, csv_of, summary_of
from hlograph.errors import DamagedFileError

MADE = {"time": "now", "commit": "0" * 40, "cpus": 2, "processor": "x", "versions": {"jaxlib": "1"}}


def row(name, default=(1.0, 2.0, 4.0), **peers):
    times = {DEFAULT: PeerTimes(tuple(default), 0.1)}
    for peer, value in peers.items():
        times[peer] = PeerTimes(error=value) if isinstance(value, str) else PeerTimes(value, 2.0)
    return PeersRow(name, "some", times, PeerTimes((9.0,), note="numpy"))


def test_a_ratio_is_taken_turn_by_turn():
    ratio = row("a", fast=(0.5, 1.0, 2.0)).ratio("fast")
    assert ratio == (2.0, 2.0, 2.0)


def test_a_peer_that_was_not_timed_has_no_ratio():
    of_failed = row("a", fast="no such operation")
    assert of_failed.ratio("fast") is None
    assert of_failed.ratio("other") is None


def test_what_was_saved_is_read_again(tmp_path):
    saved = row("a/b", fast=(0.5, 1.0, 2.0), lost="it died")
    saved.save(tmp_path)
    assert PeersRow.load(tmp_path, "a/b") == saved
    assert PeersRow.load(tmp_path, "other") is None


def test_a_damaged_file_is_an_error(tmp_path):
    row("a").save(tmp_path)
    (tmp_path / "programs" / "a.json").write_text('{"format": 99}')
    with pytest.raises(DamagedFileError, match="choose another folder with --out"):
        PeersRow.load(tmp_path, "a")


def test_a_summary_counts_failures_among_all_programs():
    rows = [
        row("twice", peer=(0.5, 1.0, 2.0)),
        row("eight times", peer=(0.125, 0.25, 0.5)),
        row("slower", peer=(2.0, 4.0, 8.0)),
        row("lost", peer="it died"),
    ]
    summary = summary_of(rows, "peer")
    assert summary.mean == pytest.approx(2.0)
    assert (summary.faster, summary.slower, summary.programs) == (2, 1, 4)
    assert summary.failures == {"lost": "it died"}
    assert [summary.fast(times) for times in (1, 1.5, 2)] == [0.5, 0.5, 0.25]


def test_a_summary_counts_programs_near_the_fastest():
    rows = [
        row("first", peer=(0.5, 1.0, 2.0), other=(0.6, 1.2, 2.4)),
        row("nearly first", peer=(0.52, 1.04, 2.08), other=(0.5, 1.0, 2.0)),
        row("behind the default", peer=(2.0, 4.0, 8.0), other="it died"),
    ]
    assert summary_of(rows, "peer").near == 2
    assert summary_of(rows, "other").near == 1


def test_the_longest_search_is_compared_with_all_others():
    rows = [
        PeersRow(
            "a",
            "some",
            {
                DEFAULT: PeerTimes((8.0,)),
                "optimize 10 s": PeerTimes((4.0,)),
                "optimize 60 s": PeerTimes((1.0,)),
                "other": PeerTimes((2.0,)),
                "lost": PeerTimes(error="it died"),
            },
        )
    ]
    names = ["optimize 10 s", "optimize 60 s", "other", "lost"]
    assert of_own(rows, names) == (
        "- optimize 60 s takes 0.500 of the time of other in the geometric mean of 1 programs, and "
        "is ahead on 1 of them."
    )
    assert of_own(rows, ["other"]) == ""


def test_no_program_has_no_mean():
    summary = summary_of([row("lost", peer="it died")], "peer")
    assert math.isnan(summary.mean)
    assert summary.fast(1) == 0


def test_the_tables_name_ratios_and_reasons():
    same = row("same", peer=(1.0, 2.0, 4.0))
    text = tables(
        [row("a", peer=(0.5, 1.0, 2.0)), same, row("b", peer="it | died")], ["peer"], MADE
    )
    assert "| a | 2,000 | 2.00 (2.00 to 2.00) |" in text
    assert "| same | 2,000 | default |" in text
    assert "| b | 2,000 | failed |" in text
    assert "- peer: b: it | died" in text


def test_what_peers_chose_to_run_is_told():
    chosen = PeerTimes((0.5, 1.0, 2.0), note="flag a | flag b")
    rows = [PeersRow("x", "some", {DEFAULT: PeerTimes((1.0, 2.0, 4.0)), "peer": chosen})]
    assert "| x | peer | 2.00 (2.00 to 2.00) | flag a / flag b |" in tables(rows, ["peer"], MADE)
    assert "what it ran" not in tables([row("x", peer=(0.5, 1.0, 2.0))], ["peer"], MADE)


def test_two_peers_are_compared_where_both_ran():
    rows = [
        row("a", one=(0.5, 1.0, 2.0), two=(1.0, 2.0, 4.0)),
        row("b", one=(4.0, 8.0, 16.0), two=(1.0, 2.0, 4.0)),
        row("c", one=(1.0, 2.0, 4.0), two="it died"),
    ]
    text = beside(rows, "one", "two")
    assert "1.414 of the time of two" in text
    assert "2 programs, and is ahead on 1" in text
    assert "No program" in beside(rows, "one", "three")


def test_the_csv_has_a_line_for_each_program_and_peer():
    lines = list(
        csv.DictReader(csv_of([row("a", peer=(0.5, 1.0, 2.0), lost="it died")]).split("\n"))
    )
    assert [line["peer"] for line in lines] == [DEFAULT, "peer", "lost"]
    assert lines[1]["ratio"] == "2"
    assert lines[2]["error"] == "it died"
    assert lines[2]["ratio"] == ""


def test_all_is_written_with_a_bar_for_each_program(tmp_path):
    rows = [row("a", peer=(0.5, 1.0, 2.0)), row("b", peer="it died")]
    text = write_results(rows, ["peer"], tmp_path, MADE)
    assert (tmp_path / "times.md").read_text() == text
    assert "<svg" in (tmp_path / "programs.svg").read_text()
    assert "2.000 times as fast" in findings(rows, ["peer"])[0]


def test_a_peer_that_ran_nothing_has_no_figures():
    rows = [row("a", peer="it died")]
    assert "| peer | 0 |  |  |  |  |  |  |  |  | 1 |  |" in tables(rows, ["peer"], MADE)
    assert findings(rows, ["peer"]) == ["peer: ran no program, 1 failed"]
