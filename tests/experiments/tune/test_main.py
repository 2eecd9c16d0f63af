"""Tests of runs on a tiny program, from the command line to the files."""

import csv
import subprocess
import sys
from dataclasses import replace

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.evaluate.run_folder import INTERRUPTED, REFUSED
from experiments.tune.__main__ import TuneConfig, main, races
from experiments.tune.programs import programs_of
from experiments.tune.races import DEFAULT_COMPETITOR, TuningRace
from hlograph import HloError
from hlograph.optimization.measurements import Measurements
from tests.experiments.tune.tiny_program import write_program
from tests.hlograph.own_machine import SHORT, own_lock, short_finals, single_workers

__all__ = ["own_lock", "short_finals", "single_workers"]

HERE = "tests.experiments.tune.competitors"
WIDE, SEEDED, INTERRUPTING = (f"{HERE}:{name}" for name in ("wide", "seeded", "interrupting"))


@pytest.fixture(autouse=True)
def short_confirmations(monkeypatch):
    monkeypatch.setattr("experiments.tune.races.FINAL", SHORT)


@pytest.fixture
def program(tmp_path):
    return write_program(tmp_path)


def folder_of(out, competitor, seed):
    """Returns the folder of a competitor's results."""
    return TuningRace(None, out, 1.0, competitor=competitor, seed=seed).folder


def _screened(out, competitor, seed):
    """Returns the competitor's plans that its races have screened, without the plain reference."""
    (path,) = folder_of(out, competitor, seed).glob("measurements/*/*.jsonl")
    outcomes = Measurements(path.stem, path.parent).read()
    screened = [outcome.plan.method for outcome in outcomes if not outcome.thorough]
    return [method for method in screened if method.startswith("width")]


def test_from_races_to_tables(program, tmp_path, capsys):
    out = tmp_path / "out"
    flags = [program, "--budget", "1", "--out", str(out), "--methods", SEEDED]
    assert main([*flags, WIDE]) == 0
    assert f"{WIDE}: " in capsys.readouterr().out
    rows = list(csv.DictReader((out / "tune.csv").read_text().splitlines()))
    assert [row["competitor"] for row in rows] == [SEEDED, WIDE]
    assert {row["family"] for row in rows} == {"file"}
    assert "width 512" in _screened(out, WIDE, 0)
    assert _screened(out, SEEDED, 0) == ["width 128"]
    for name in ("tune.md", "made.json", "programs.svg", "anytime.svg"):
        assert (out / name).is_file()
    (events,) = (out / "tensorboard" / WIDE).rglob("events*")
    curves = EventAccumulator(str(events.parent)).Reload()
    curve_names = ("best", "screening", "confirmed")
    tags = {f"{name}/{over}" for name in curve_names for over in ("plans", "milliseconds")}
    assert set(curves.Tags()["scalars"]) == tags
    # With another seed, what was done is not done again.
    before = {path: path.read_bytes() for path in out.rglob("seed-0/**/*.json*")}
    assert main([*flags, "--seeds", "0", "1"]) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert _screened(out, SEEDED, 1) == ["width 256"]
    page = (out / "tune.md").read_text()
    assert "2 seeds" in page
    (row,) = (
        line for line in page.splitlines() if line.startswith(f"| {program} |") and "10^" in line
    )
    counts = [int(cell) for cell in row.strip("| ").split(" | ")[1:-1]]
    assert counts[-1] > 3  # flags
    assert len(list((out / "spaces").iterdir())) == 1


def test_equal_searches_are_repeated(program, tmp_path, capsys):
    out = tmp_path / "out"
    flags = [program, "--budget", "1", "--out", str(out), "--methods", SEEDED]
    assert main([*flags, "--repeats", "2"]) == 0
    assert "of 1 pairs of searches on 1 programs" in capsys.readouterr().out
    rows = list(csv.DictReader((out / "tune.csv").read_text().splitlines()))
    assert [(row["seed"], row["repeat"]) for row in rows] == [("0", "0"), ("0", "1")]
    # The second one has measured by itself.
    folders = [TuningRace(None, out, 1.0, competitor=SEEDED, repeat=n).folder for n in (0, 1)]
    for folder in folders:
        assert len(list(folder.glob("measurements/*/*.jsonl"))) == 1
    assert "## How far searches agree" in (out / "tune.md").read_text()


@pytest.mark.slow
def test_methods_of_optimize_race_by_default(tmp_path, capsys):
    flags = ["pairwise-distance/broadcast/*", "--split", "test", "--budget", "4"]
    assert main([*flags, "--out", str(tmp_path)]) == 0
    assert "of 1 programs" in capsys.readouterr().out
    (row,) = csv.DictReader((tmp_path / "tune.csv").read_text().splitlines())
    assert (row["competitor"], row["family"]) == (DEFAULT_COMPETITOR, "pairwise-distance")
    assert float(row["ratio"]) > 0
    # It goes on where it was, and has nothing to do.
    before = (tmp_path / "tune.csv").read_text()
    assert main([*flags, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "tune.csv").read_text() == before


def test_default_competitor_is_what_optimize_tries():
    # Other tests add methods to this process.
    program = "from hlograph.optimization.methods import names; print(*names(), sep=',', end='')"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout == DEFAULT_COMPETITOR


def test_ctrl_c_keeps_what_was_done(program, tmp_path, capsys):
    out = tmp_path / "out"
    flags = [program, "--budget", "1", "--out", str(out), "--methods", SEEDED]
    assert main([*flags, INTERRUPTING]) == INTERRUPTED
    assert f"go on with --out {out}" in capsys.readouterr().err
    (row,) = csv.DictReader((out / "tune.csv").read_text().splitlines())
    assert row["competitor"] == SEEDED
    assert not list(folder_of(out, INTERRUPTING, 0).glob("programs/*"))


def test_ctrl_c_after_a_search_ends_the_run(program, tmp_path, monkeypatch):
    def interrupted(job, report, budget, keeps):
        return replace(report, interrupted=True)

    monkeypatch.setattr("experiments.tune.races.with_kept_memory", interrupted)
    flags = [program, "--budget", "1", "--out", str(tmp_path), "--methods", SEEDED, WIDE]
    assert main(flags) == INTERRUPTED
    assert _screened(tmp_path, SEEDED, 0)
    assert not folder_of(tmp_path, WIDE, 0).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected programs"),
        (("no-such-program",), "no program of the speed set matches no-such-program"),
        (("nothing/*", "--split", "test"), "no program of split test matches"),
        (("n-body/forces/n512", "--methods", "flgs"), "did you mean 'flags"),
    ],
)
def test_wrong_command_lines(words, message, tmp_path, capsys):
    assert main([*words, "--out", str(tmp_path / "out")]) == REFUSED
    assert message in capsys.readouterr().err


def test_programs_by_name_file_and_split(program):
    named = programs_of(["n-body/forces/n512", program, "n-body/forces/*"], "test", 1)
    assert [chosen.name for chosen in named] == ["n-body/forces/n512", program]
    assert named[1].load().name.startswith("jit")
    every = programs_of(["n-body/*", "ode/*", program], None, None)
    some = programs_of(["n-body/*", "ode/*", program], None, 2)
    assert [chosen.family for chosen in some] == ["n-body"] * 2 + ["ode"] * 2 + ["file"]
    assert {chosen.name for chosen in some} < {chosen.name for chosen in every}
    split = [chosen.name for chosen in programs_of([], "test", 1)]
    assert set(split) < {chosen.name for chosen in programs_of([], "test", None)}
    assert len(split) == len({chosen.family for chosen in programs_of([], "test", None)})
    with pytest.raises(HloError, match="expected programs"):
        programs_of([], None, 1)


def test_competitors_take_turns_on_each_program(program, tmp_path):
    programs = (program, "n-body/forces/n512")
    config = TuneConfig(programs, methods=("flags", "flags,greedy"), seeds=(0, 1))
    of_run = races(config, tmp_path)
    assert [race.competitor for race in of_run[:4]] == ["flags", "flags,greedy"] * 2
    assert len({(race.folder, race.program.name) for race in of_run}) == len(of_run) == 8
    assert of_run[1].settings().methods == ("flags", "greedy")
    assert [race.competitor for race in races(TuneConfig(programs), tmp_path)] == [
        DEFAULT_COMPETITOR
    ] * 2
