"""Cuts beside whole programs: the command measures one program, and writes both tables."""

import csv

from benchmarks.cuts import DECISIONS, PLACES, main


def _flags(name: str) -> list[str]:
    return ["--benchmarks", name, "--places", "2", "--seconds", "0.2"]


def test_the_command_writes_both_tables(tmp_path, capsys):
    name = "pairwise-distance/broadcast/n4096-k32-d16"
    assert main([*_flags(name), "--out", str(tmp_path)]) == 0
    places = list(csv.DictReader((tmp_path / "places.csv").read_text().splitlines()))
    assert places
    for row in places:
        assert tuple(row) == PLACES
        assert 0 < float(row["share"]) <= 1
        assert row["error"] or float(row["us in the cut"]) > 0
    decisions = list(csv.DictReader((tmp_path / "decisions.csv").read_text().splitlines()))
    for row in decisions:
        assert tuple(row) == DECISIONS
        assert float(row["low"]) <= float(row["measured"]) <= float(row["high"])
    assert name in capsys.readouterr().out
