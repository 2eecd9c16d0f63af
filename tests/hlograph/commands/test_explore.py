"""``hlograph explore``: the pages that it writes and serves."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import hlograph
from envs import PassOrderingEnv
from tests.docs.pages import ROOT
from tests.hlograph.explorer.site_files import content_of


def data_of(file: Path) -> Any:
    return content_of(file.read_bytes())


def test_it_writes_a_site(call, user_folder: Path):
    status, out, err = call("explore", "tiny.hlo", "--out", "site")
    assert (status, err) == (0, "")
    assert re.fullmatch(r"1 page, \d\.\d MB, written to site: open site/index.html\n", out)
    summary = data_of(user_folder / "site/data/site.js")
    assert summary["title"] == "tiny"
    (page,) = summary["pages"]
    data = data_of(user_folder / "site/data" / f"{page['data']['module']}.js")
    assert data["names"].split("\n")[:2] == ["x", "two_x"]
    assert (user_folder / "site/index.html").is_file()


def test_json_says_where_it_is(call, user_folder: Path):
    status, out, _ = call("explore", "tiny.hlo", "--out", "site", "--json")
    answer = json.loads(out)
    assert (status, answer["index"], answer["pages"]) == (0, "site/index.html", ["graph"])
    assert answer["bytes"] == sum(
        file.stat().st_size for file in (user_folder / "site").rglob("*") if file.is_file()
    )


def test_it_keeps_other_folders(call, user_folder: Path):
    status, out, err = call("explore", "tiny.hlo", "--out", ".")
    assert (status, out) == (1, "")
    assert "other files than a site" in err
    assert (user_folder / "tiny.hlo").is_file()


def test_a_function_shows_its_source(call, user_folder: Path):
    status, _, _ = call("explore", "own_functions:step", "--arguments", "own_functions:arguments",
                        "--out", "site")  # fmt: skip
    assert status == 0
    data = data_of(user_folder / "site/data/graph-module.js")
    assert any(re.search(r"own_functions\.py:7 \(step\)$", source) for source in data["sources"])
    assert any(scope.startswith("jit(step)/") for scope in data["scopes"])


def test_measuring_adds_the_compiled_module(call, user_folder: Path):
    status, _, err = call("explore", "tiny.hlo", "--measure", "--out", "site")
    assert status == 0, err
    pages = data_of(user_folder / "site/data/site.js")["pages"]
    assert [page["name"] for page in pages] == ["graph", "compiled"]
    page = pages[1]["data"]
    data = data_of(user_folder / "site/data" / f"{page['module']}.js")
    seconds = next(each["values"] for each in data["numbers"] if each["name"] == "seconds")
    measured = [value for value in seconds if value is not None]
    assert len(seconds) == len(data["opcode"])
    assert 0 < len(measured) < len(seconds)
    assert sum(measured) + page["outside"] == pytest.approx(page["seconds"], rel=0.01)


def test_passes_and_pipelines_are_steps(call, user_folder: Path):
    names = ("--passes", "cse", "remove(unused)", "--pipeline", "xla-simplify")
    status, _, err = call("explore", "tiny.hlo", *names, "--out", "site")
    assert status == 0, err
    pages = data_of(user_folder / "site/data/site.js")["pages"]
    assert [page["name"] for page in pages] == ["graph", "steps"]
    steps = pages[1]["data"]["steps"]
    assert [step["name"] for step in steps[:3]] == ["cse", "remove(unused)", "call-inliner"]
    assert len(steps) > 10
    changed = data_of(user_folder / f"site/data/{steps[0]['file']}.js")
    assert [row["name"] for row in changed["before"] if row["mark"] == "removed"] == ["b"]


def test_unknown_passes_are_refused(call, user_folder: Path):
    status, _, err = call("explore", "tiny.hlo", "--passes", "algsim", "--out", "site")
    assert status == 1
    assert "did you mean" in err
    assert not (user_folder / "site").exists()


def test_a_trajectory_is_replayed(call, user_folder: Path):
    env = PassOrderingEnv([str(user_folder / "tiny.hlo")], observation="op_counts", costs=False)
    env.reset()
    for name in ("dce", "cse"):
        env.step(hlograph.passes[name].index)
    (user_folder / "episode.json").write_text(env.trajectory.to_json())

    status, _, err = call("explore", "episode.json", "--out", "site")

    assert status == 0, err
    pages = data_of(user_folder / "site/data/site.js")["pages"]
    assert [page["name"] for page in pages] == ["graph", "steps"]
    assert [step["name"] for step in pages[1]["data"]["steps"]] == ["dce", "cse"]

    status, _, err = call("explore", "episode.json", "--passes", "dce", "--out", "site")
    assert status == 1
    assert "trajectory" in err


def test_a_policy_is_played(call, user_folder: Path):
    status, _, err = call("explore", "tiny.hlo", "--policy", "gnn", "--out", "site")
    assert status == 0, err
    pages = data_of(user_folder / "site/data/site.js")["pages"]
    assert [page["name"] for page in pages] == ["graph", "policy"]
    episode = data_of(user_folder / f"site/data/{pages[1]['data']['episode']}.js")
    assert episode["ending"] == "stop"
    module = data_of(user_folder / f"site/data/{pages[0]['data']['module']}.js")
    attention = next(each for each in module["numbers"] if each["name"] == "attention")
    assert len(attention["values"]) == len(module["opcode"])
    assert 0 < sum(attention["values"]) <= 100.1


def test_it_serves_until_it_is_interrupted(user_folder: Path):
    pytest.importorskip("uvicorn", reason="the extra explore is not installed")
    process = subprocess.Popen(
        [sys.executable, "-m", "hlograph", "explore", "tiny.hlo"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    address = process.stderr.readline().strip()
    with urlopen(address) as answer:
        assert b"explorer.js" in answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
