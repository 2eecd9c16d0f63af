"""The program: a run over a checkout in NPBench's form, interrupted and continued."""

import sqlite3

import pytest

from benchmarks.npbench import main
from benchmarks.peers.results import DEFAULT, PeersRow
from tests.benchmarks.peers.checkouts import small_checkout


def test_a_folder_that_is_no_checkout_is_refused(tmp_path, capsys):
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "expected a checkout" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_refused(tmp_path, capsys):
    checkout = small_checkout(tmp_path / "npbench")
    assert main([str(checkout), "--programs", "gemm", "--out", str(tmp_path / "out")]) == 2
    assert "no program of" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_measures_all_and_goes_on(tmp_path, capsys):
    checkout = small_checkout(tmp_path / "npbench")
    out, page = tmp_path / "out", tmp_path / "page.md"
    page.write_text("before\n<!-- begin: npbench-S -->\n<!-- end -->\nafter\n")
    arguments = [str(checkout), "--budget", "1", "--out", str(out), "--page", str(page)]
    arguments += ["--environments", str(tmp_path / "environments")]
    assert main(arguments) == 0
    row = PeersRow.load(out, "sums")
    assert row is not None
    assert not any(times.error for times in row.peers.values()), row
    assert set(row.peers) == {DEFAULT, "optimize", "optimize, plan alone", "numba"}
    assert row.peers["numba"].note == "nopython-mode"
    with sqlite3.connect(out / "npbench.db") as database:
        frameworks = {name for (name,) in database.execute("SELECT framework FROM results")}
    assert frameworks == {"numpy", "jax", "hlograph", "numba"}
    assert "optimize takes" in page.read_text()
    assert main(arguments) == 0
    assert PeersRow.load(out, "sums") == row
