"""Edited programs: each differs from its program, and the command measures one."""

import csv

import jax
import pytest

from benchmarks.edits.__main__ import COLUMNS, main
from benchmarks.edits.catalogue import EDITS
from hlograph.programs import Program


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.name}: {edit.change}")
def test_both_versions_lower_and_differ(edit):
    before, after = (
        Program.of(jax.jit(function).lower(*arguments))
        for function, arguments in (edit.before, edit.after)
    )
    assert before.fingerprint != after.fingerprint


def test_the_command_writes_a_table(tmp_path, capsys):
    out = tmp_path / "edits.csv"
    assert main(["--budget", "0.1", "--programs", "solver", "--out", str(out)]) == 0
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert tuple(row) == COLUMNS
    assert row["program"] == "solver"
    assert float(row["low"]) <= float(row["carried over"]) <= float(row["high"])
    assert out.read_text() in capsys.readouterr().out
