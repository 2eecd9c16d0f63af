"""The builder: what it keeps, what it drops, and that it makes the same graphs again."""

import csv
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

SOURCE, FAMILY = "jax_numerics", "special-functions"
"""A source that needs jax alone, and its family that is built again."""


@pytest.fixture
def builder(script: Callable[[str], ModuleType]) -> ModuleType:
    """The builder."""
    return script("build_corpus")


def row(builder: ModuleType, name: str, fingerprint: str) -> Any:
    """Returns a row of the manifest."""
    family = name.split("/")[0]
    counts = (100, 90, 90, 80)
    return builder.Row(name, family, "lib", "1", "model", "", "", *counts, fingerprint, "s", "")


def finished(builder: ModuleType) -> SimpleNamespace:
    """Returns what a source that ran to its end left behind."""
    return SimpleNamespace(
        names=["f/m/good", "f/m/raises", "f/m/after", "f/m/kept"],
        rows=[row(builder, name, name) for name in ("f/m/good", "f/m/after")],
        omissions=[builder.Omission("f/m/raises", "ValueError: no")],
    )


def test_merge_replaces_adds_and_drops(builder: ModuleType, tmp_path: Path) -> None:
    gone = tmp_path / builder.path_of("f/m/gone")
    gone.parent.mkdir(parents=True)
    gone.touch()
    names = ("f/m/gone", "f/m/good", "f/m/kept", "f/m/raises")
    rows = {name: row(builder, name, f"old {name}") for name in names}
    omissions = builder.merge(rows, [finished(builder)], tmp_path, [], complete=True)
    assert rows.keys() == {"f/m/good", "f/m/after", "f/m/kept"}
    assert rows["f/m/good"].fingerprint == "f/m/good"
    assert not gone.exists()
    assert [omission.name for omission in omissions] == ["f/m/raises"]


def test_merge_of_some_families_leaves_the_others(builder: ModuleType, tmp_path: Path) -> None:
    rows = {"g/m/other": row(builder, "g/m/other", "x")}
    builder.merge(rows, [finished(builder)], tmp_path, ["f"], complete=True)
    assert "g/m/other" in rows


def test_a_source_that_failed_loses_nothing_it_had(builder: ModuleType, tmp_path: Path) -> None:
    rows = {"f/m/before": row(builder, "f/m/before", "x")}
    failed = SimpleNamespace(names=None, rows=[], omissions=[])
    builder.merge(rows, [failed], tmp_path, [], complete=True)
    assert "f/m/before" in rows


def test_nothing_run_drops_nothing(builder: ModuleType, tmp_path: Path) -> None:
    rows = {"f/m/before": row(builder, "f/m/before", "x")}
    builder.merge(rows, [], tmp_path, [], complete=True)
    assert "f/m/before" in rows


def test_a_repeated_graph_is_kept_once(builder: ModuleType, tmp_path: Path) -> None:
    rows = {name: row(builder, name, "same") for name in ("b/m/v", "a/m/v")}
    rows["c/m/v"] = row(builder, "c/m/v", "other")
    omissions = builder.merge(rows, [], tmp_path, [], complete=False)
    assert rows.keys() == {"a/m/v", "c/m/v"}
    assert omissions == [builder.Omission("b/m/v", "the same graph as a/m/v")]


def test_what_an_interrupted_build_left_goes(builder: ModuleType, tmp_path: Path) -> None:
    for name in ("f/m/kept", "f/m/stray", "f/n/stray"):
        path = tmp_path / builder.path_of(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    rows = {"f/m/kept": row(builder, "f/m/kept", "x")}
    builder.sweep(rows, tmp_path)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [tmp_path / builder.path_of("f/m/kept")]
    assert not (tmp_path / "hlo/f/n").exists()


def test_one_build_works_in_a_folder(builder: ModuleType, tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        with builder.alone_in(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a source was built, by the command that builds the corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    build(folder)
    return folder


def build(folder: Path) -> str:
    """Builds a source and returns what the builder said."""
    command = [sys.executable, "datasets/build_corpus.py", "--folder", str(folder)]
    command += ["--source", SOURCE, "--only", FAMILY]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def read(folder: Path) -> dict[str, dict[str, str]]:
    """Returns a manifest's rows by name."""
    with (folder / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return {record["name"]: record for record in csv.DictReader(file)}


def test_the_same_versions_make_the_same_files(rebuilt: Path) -> None:
    shipped = read(REPOSITORY / "datasets")
    again = read(rebuilt)
    assert {record["family"] for record in again.values()} == {FAMILY}
    if next(iter(again.values()))["version"] != version("jax"):
        pytest.skip("another version of jax than the corpus was built with")
    for name, record in again.items():
        assert record["fingerprint"] == shipped[name]["fingerprint"], name
        path = Path("hlo") / f"{name}.hlo.zst"
        assert (rebuilt / path).read_bytes() == (REPOSITORY / "datasets" / path).read_bytes()


def test_a_second_build_makes_nothing(rebuilt: Path) -> None:
    before = (rebuilt / "manifest.csv").read_bytes()
    assert build(rebuilt).startswith("0 graphs made, 0 dropped")
    assert (rebuilt / "manifest.csv").read_bytes() == before
