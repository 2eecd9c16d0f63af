"""The builder: what it keeps, what it drops, and what it does with sources that fail.

Stand-ins take the place of the libraries that lower, which these tests must not need.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

WORKER = """
import json, os, sys, time

request = json.loads(sys.stdin.readline())
names = ["f/m/good", "f/m/aborts", "f/m/raises", "f/m/after", "f/m/hangs"]

def send(**event):
    print(json.dumps(event), flush=True)

if request["source"] == "broken":
    raise ImportError("no such library")
send(event="names", names=names)
for name in names:
    if name in request["skip"]:
        continue
    send(event="start", name=name)
    if name.endswith("aborts"):
        print("Check failed: shapes", file=sys.stderr, flush=True)
        os.abort()
    if name.endswith("hangs"):
        if request["source"] == "slow":
            time.sleep(60)
        send(event="kept", name=name)
    elif name.endswith("raises"):
        send(event="failed", name=name, reason="ValueError: no")
    else:
        send(event="made", row=[name, "f", "lib", "1", "words", 100, name, "train", "path"])
send(event="done")
"""


@pytest.fixture
def builder(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """The builder, with a stand-in for the process that lowers."""
    module = script("build_corpus")
    (tmp_path / "lower_source.py").write_text(WORKER)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "read_omissions", lambda: [])
    return module


def run(builder: ModuleType, source: str, time_limit: float = 30) -> Any:
    """Returns a finished run of a stand-in source."""
    options = argparse.Namespace(only=[], time_limit=time_limit, verbose=False)
    result = builder.SourceRun(source, {}, options)
    result.finished_names = list(result.events())
    return result


def row(builder: ModuleType, name: str, fingerprint: str) -> Any:
    """Returns a row of the manifest."""
    return builder.Row(name, name.split("/")[0], "lib", "1", "", 100, fingerprint, "train", name)


def test_an_abort_costs_one_graph(builder: ModuleType) -> None:
    result = run(builder, "works")
    assert result.error is None
    assert result.finished_names == result.names
    assert [made.name for made in result.rows] == ["f/m/good", "f/m/after"]
    reasons = {omission.name: omission.reason for omission in result.omissions}
    assert reasons.keys() == {"f/m/aborts", "f/m/raises"}
    assert "Check failed: shapes" in reasons["f/m/aborts"]
    assert reasons["f/m/raises"] == "ValueError: no"


def test_a_source_that_hangs_keeps_what_it_made(builder: ModuleType) -> None:
    result = run(builder, "slow", time_limit=3)
    assert result.error == "time limit"
    assert [made.name for made in result.rows] == ["f/m/good", "f/m/after"]
    assert builder.Omission("f/m/hangs", "time limit") in result.omissions


def test_a_library_that_does_not_import_says_so(builder: ModuleType) -> None:
    result = run(builder, "broken")
    assert "ImportError: no such library" in result.error
    assert result.rows == []
    assert result.names is None


def test_merge_replaces_adds_and_drops(builder: ModuleType, tmp_path: Path) -> None:
    gone = tmp_path / "f/m/gone"
    gone.parent.mkdir(parents=True)
    gone.touch()
    names = ("f/m/gone", "f/m/good", "f/m/hangs", "f/m/raises")
    rows = {name: row(builder, name, f"old {name}") for name in names}
    omissions = builder.merge(rows, [run(builder, "works")], [], complete=True)
    assert rows.keys() == {"f/m/good", "f/m/after", "f/m/hangs"}
    assert rows["f/m/good"].fingerprint == "f/m/good"
    assert not gone.exists()
    assert {omission.name for omission in omissions} == {"f/m/aborts", "f/m/raises"}


def test_merge_of_some_families_leaves_the_others(builder: ModuleType) -> None:
    rows = {"g/m/other": row(builder, "g/m/other", "x")}
    builder.merge(rows, [run(builder, "works")], ["f"], complete=True)
    assert "g/m/other" in rows


def test_a_source_that_failed_loses_nothing_it_had(builder: ModuleType) -> None:
    rows = {"f/m/before": row(builder, "f/m/before", "x")}
    builder.merge(rows, [run(builder, "broken")], [], complete=True)
    assert "f/m/before" in rows


def test_a_repeated_graph_is_kept_once(builder: ModuleType) -> None:
    rows = {name: row(builder, name, "same") for name in ("b/m/v", "a/m/v")}
    rows["c/m/v"] = row(builder, "c/m/v", "other")
    omissions = builder.merge(rows, [], [], complete=False)
    assert rows.keys() == {"a/m/v", "c/m/v"}
    assert omissions == [builder.Omission("b/m/v", "the same graph as a/m/v")]
