"""Runs over programs: what is measured, what was measured before, and when a run ends."""

from dataclasses import dataclass

import pytest

from benchmarks.peers.results import DEFAULT, PeersRow, PeerTimes
from benchmarks.peers.runs import left_over, rows_of, within


@dataclass(frozen=True)
class Subject:
    name: str


PROGRAMS = [Subject("a"), Subject("b"), Subject("c")]


@pytest.fixture
def run(tmp_path):
    """Returns a function that makes a run, and the names that it measures."""
    measured: list[str] = []

    def measure(program):
        measured.append(program.name)
        return PeersRow(program.name, "some", {DEFAULT: PeerTimes((1.0,))})

    def run_of(wanted="abc", minutes=None):
        written: list[int] = []
        rows = rows_of(
            PROGRAMS,
            lambda program: program.name in wanted,
            tmp_path,
            measure,
            lambda rows: written.append(len(rows)),
            minutes,
        )
        return "".join(row.program for row in rows), written

    return run_of, measured


def test_a_run_goes_on_and_keeps_the_order(run):
    run_of, measured = run
    assert run_of("b") == ("b", [1])
    assert run_of("ac") == ("abc", [2, 3])
    assert measured == ["b", "a", "c"]
    assert run_of() == ("abc", [])


def test_no_program_begins_when_the_time_is_over(run):
    run_of, measured = run
    assert run_of(minutes=0) == ("", [])
    assert measured == []
    assert list(within(1, PROGRAMS, "run")) == PROGRAMS


def test_what_is_left_is_told():
    row = PeersRow("a", "some", {})
    assert left_over(PROGRAMS, [row]) == ["2 of 3 programs are not measured yet"]
    assert left_over([PROGRAMS[0]], [row]) == []
