"""A source in its process: aborts, errors, hangs, and libraries that do not import.

Stand-ins take the place of the libraries that lower, which these tests must not need.
"""

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
        counts = [100, 90, 90, 80]
        send(event="made", row=[name, "f", "lib", "1", "model", "", "", *counts, name, name, ""])
send(event="done")
"""


@pytest.fixture
def source_run(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """The module under test, with a stand-in for the process that lowers."""
    module = script("source_run")
    worker = tmp_path / "lower_source.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(module, "WORKER", worker)
    return module


def run(source_run: ModuleType, source: str, time_limit: float = 30) -> Any:
    """Returns a finished run of a stand-in source."""
    result = source_run.SourceRun(source, {}, source_run.Options(time_limit=time_limit))
    result.finished_names = list(result.events())
    return result


def test_an_abort_costs_one_graph(source_run: ModuleType) -> None:
    result = run(source_run, "works")
    assert result.error is None
    assert result.finished_names == result.names
    assert [made.name for made in result.rows] == ["f/m/good", "f/m/after"]
    reasons = {omission.name: omission.reason for omission in result.omissions}
    assert reasons.keys() == {"f/m/aborts", "f/m/raises"}
    assert "Check failed: shapes" in reasons["f/m/aborts"]
    assert reasons["f/m/raises"] == "ValueError: no"


def test_a_source_that_hangs_keeps_what_it_made(source_run: ModuleType) -> None:
    result = run(source_run, "slow", time_limit=3)
    assert result.error == "time limit"
    assert [made.name for made in result.rows] == ["f/m/good", "f/m/after"]
    assert source_run.Omission("f/m/hangs", "time limit") in result.omissions


def test_a_library_that_does_not_import_says_so(source_run: ModuleType) -> None:
    result = run(source_run, "broken")
    assert "ImportError: no such library" in result.error
    assert result.rows == []
    assert result.names is None
