"""The program: peers by name, a run with and without peers that can run, and its page."""

from dataclasses import replace
from functools import partial

import pytest

from benchmarks.beside_peers import main
from benchmarks.peers.catalogue import ENZYME_ENVIRONMENT, PEERS, chosen_peers, measured
from benchmarks.peers.environments import PeerEnvironment
from benchmarks.peers.processes import TURNS, PeersRun, timed_in_turns
from benchmarks.peers.programs import PeerProgram
from benchmarks.peers.results import DEFAULT, PeersRow
from hlograph.errors import UnknownNameError

PROGRAM = "sorting/ranks/n4096-d16"


def test_peers_are_chosen_by_the_beginnings_of_their_names():
    assert chosen_peers([]) == [name for name in PEERS if name != DEFAULT]
    assert chosen_peers(["optimize", "iree"]) == ["optimize 10 s", "optimize 60 s", "IREE"]
    assert len(chosen_peers(["enzyme"])) == 4
    with pytest.raises(UnknownNameError, match="'tvm'; there are optimize 10 s; "):
        chosen_peers(["tvm"])


def test_no_program_is_refused(tmp_path, capsys):
    assert main(["--out", str(tmp_path)]) == 2
    assert "expected programs: give --programs" in capsys.readouterr().err


def test_peers_that_cannot_run_are_named(tmp_path, monkeypatch):
    from benchmarks.peers import catalogue

    missing = PeerEnvironment("missing", ("iree-base-compiler==3.13.0",))
    monkeypatch.setattr(catalogue, "IREE_ENVIRONMENT", missing)
    brief = replace(TURNS, pairs=2, max_seconds=0.1, least=2)
    monkeypatch.setattr(catalogue, "timed_in_turns", partial(timed_in_turns, effort=brief))
    (tmp_path / "environments").touch()  # no folder can be made there
    run = PeersRun(tmp_path, tmp_path / "environments", 1)
    row = measured(run, PeerProgram(PROGRAM, "sorting"), ["IREE", "PyTorch", "numba"])
    assert row.peers[DEFAULT].seconds
    assert "no environment for missing" in row.peers["IREE"].error
    assert set(row.peers) == {DEFAULT, "IREE"}


def test_a_program_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "x.hlo").write_text("no module")
    run = PeersRun(tmp_path, tmp_path / "environments", 1)
    row = measured(run, PeerProgram("x", "file", file=str(tmp_path / "x.hlo")), ["IREE"])
    assert set(row.peers) == {DEFAULT}
    assert row.peers[DEFAULT].error


@pytest.mark.slow
def test_all_peers_run_for_real(tmp_path):
    out, page = tmp_path / "out", tmp_path / "page.md"
    page.write_text("<!-- begin: peers -->\n<!-- end -->\n")
    name = "cumulative-sum/rows/b16-n8192"
    environments = tmp_path / "environments"
    arguments = ["--programs", name, "--out", str(out), "--page", str(page)]
    assert main([*arguments, "--environments", str(environments)]) == 0
    row = PeersRow.load(out, name)
    assert row is not None
    assert {peer: times.error for peer, times in row.peers.items() if times.error} == {}
    assert set(row.peers) == set(PEERS) - {"numba"}
    assert ENZYME_ENVIRONMENT.versions(environments)["enzyme-ad"] == "0.0.16"
    assert (out / "locks" / "enzyme.lock").read_text() == ENZYME_ENVIRONMENT.lock(environments)
    assert "torch.compile" in page.read_text()
