"""Test of the experiment over the speed set, from its command line to its files."""

import csv

import pytest

from experiments.speed.__main__ import main
from experiments.speed.command import REFUSED


@pytest.mark.slow
def test_one_program_from_search_to_table(tmp_path, capsys):
    flags = ["--benchmarks", "pairwise-distance/broadcast/*", "--budget", "4"]
    assert main([*flags, "--out", str(tmp_path)]) == 0
    assert "1 programs" in capsys.readouterr().out
    (row,) = csv.DictReader((tmp_path / "speed.csv").read_text().splitlines())
    assert row["family"] == "pairwise-distance"
    assert float(row["ratio"]) > 0
    assert (tmp_path / "made.json").is_file()
    assert len(list((tmp_path / "plans").glob("*.plan.json"))) >= 1
    # It goes on where it was, and has nothing to do.
    before = (tmp_path / "speed.csv").read_text()
    assert main([*flags, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "speed.csv").read_text() == before


def test_no_program_is_an_error(tmp_path, capsys):
    assert main(["--benchmarks", "nothing/*", "--out", str(tmp_path)]) == REFUSED
    assert "no program of split test matches nothing/*" in capsys.readouterr().err
