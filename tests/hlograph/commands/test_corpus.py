"""hlograph corpus."""

import csv
import subprocess
import sys

import pytest

from hlograph import HloGraph, Module, corpus
from hlograph.commands.command_line import main
from tests.tiny_module import TINY


@pytest.fixture(scope="module")
def smallest():
    return min(corpus.load(), key=lambda b: (b.op_count, b.name))


def test_list(capsys, smallest):
    assert (
        main(["corpus", "list", smallest.name, f"{smallest.family}/*", "--max-op-count", "10000"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "name"
    listed = [line.split()[0] for line in lines[1:-1]]
    assert smallest.name in listed
    assert {name.split("/")[0] for name in listed} == {smallest.family}
    assert lines[-1].startswith(f"{len(listed)} benchmarks")


def test_list_as_csv(capsys):
    splits = ["--split", "validation", "train"]
    assert main(["corpus", "list", "--csv", "--set", "gpt2-train", *splits]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    expected = corpus.load("gpt2-train", ("validation", "train"))
    assert [row["name"] for row in rows] == expected.names
    assert [int(row["op_count"]) for row in rows] == [b.op_count for b in expected]


def test_show(capsys, smallest):
    assert main(["corpus", "show", smallest.name]) == 0
    shown = capsys.readouterr().out
    assert smallest.fingerprint in shown
    assert "parameter" in shown
    assert main(["corpus", "show", smallest.name, "--text"]) == 0
    text = capsys.readouterr().out
    assert Module.from_text(text).fingerprint() == smallest.fingerprint


def test_export(capsys, tmp_path, smallest):
    assert main(["corpus", "export", smallest.name, "--out", str(tmp_path), "--format", "pb"]) == 0
    assert (
        main(["corpus", "export", smallest.name, "--out", str(tmp_path), "--format", "json"]) == 0
    )
    module = Module.load(tmp_path / f"{smallest.name}.pb")
    assert module.fingerprint() == smallest.fingerprint
    graph = HloGraph.from_json((tmp_path / f"{smallest.name}.json").read_text())
    assert graph == module.graph()
    rows = list(csv.DictReader((tmp_path / "manifest.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == [smallest.name]
    assert sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file()) == [
        *(".csv", ".json", ".pb")
    ]


def test_a_folder_of_ones_own(capsys, tmp_path):
    (tmp_path / "mine.hlo").write_text(TINY)
    assert main(["corpus", "list", "--folder", str(tmp_path)]) == 0
    assert "mine" in capsys.readouterr().out
    assert main(["corpus", "show", "mine", "--folder", str(tmp_path)]) == 0


def test_what_is_wrong_is_said_in_one_line(capsys):
    assert main(["corpus", "show", "no/such/benchmark"]) == 1
    assert main(["corpus", "list", "no/such/*"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert all(line.startswith("error: no benchmark") for line in errors)


def test_as_a_program(smallest):
    done = subprocess.run(
        [sys.executable, "-m", "hlograph", "corpus", "list", smallest.name],
        capture_output=True,
        text=True,
        check=True,
    )
    assert smallest.name in done.stdout
    assert done.stderr == ""
