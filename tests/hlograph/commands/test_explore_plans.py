"""``hlograph explore`` of plans and of results."""

import json
from pathlib import Path
from typing import Any

import pytest

from hlograph import Module, Plan
from tests.docs.pages import ROOT
from tests.hlograph.explorer.site_files import content_of
from tests.tiny_module import TINY

STUDIES = ROOT / "docs" / "results" / "studies"


def data_of(file: Path) -> Any:
    return content_of(file.read_bytes())


@pytest.fixture
def plan(user_folder: Path) -> Plan:
    fingerprint = Module.from_text(TINY).fingerprint()
    made = Plan("tiny", fingerprint, flags={"xla_cpu_prefer_vector_width": 128}, numerics="close")
    made.save(user_folder / "tiny.plan.json")
    return made


def test_a_plan_with_its_program(call, plan, user_folder):
    status, out, err = call(
        *("explore", "tiny.plan.json", "--program", "tiny.hlo", "--measure", "--out", "site")
    )
    assert status == 0, err
    assert out.startswith("1 page")
    assert "without flag xla_cpu_prefer_vector_width = 128" in err
    (page,) = data_of(user_folder / "site/data/site.js")["pages"]
    assert page["kind"] == "speed"
    (decision,) = page["data"]["decisions"]
    assert decision["brought"]["ratio"] > 0
    assert page["data"]["whole"]["ratio"] > 0
    for version, file in page["data"]["modules"].items():
        module = data_of(user_folder / "site/data" / f"{file}.js")
        assert set(page["data"]["timelines"][version]["kernels"]["name"]) <= {
            *module["names"],
            "outside kernels",
        }


def test_a_plan_is_for_one_program(call, plan, user_folder):
    status, _, err = call("explore", "tiny.plan.json", "--out", "site")
    assert status == 1
    assert "--program SOURCE" in err
    (user_folder / "other.hlo").write_text(TINY.replace("add(", "multiply("))
    status, _, err = call("explore", "tiny.plan.json", "--program", "other.hlo", "--out", "site")
    assert status == 1
    assert "fingerprint" in err
    assert not (user_folder / "site").exists()


def test_results_with_a_program(call, user_folder):
    words = ("explore", str(STUDIES / "win"), "--programs", "capsule/*", "--out", "site")
    status, out, err = call(*words, "--json")
    assert status == 0, err
    assert json.loads(out)["pages"] == ["win-quick"]
    (page,) = data_of(user_folder / "site/data/site.js")["pages"]
    results = data_of(user_folder / "site/data/win-quick-results.js")
    assert results["made"]["command"].startswith("python -m experiments.paper win")
    assert page["data"]["programs"]
    for name, file in page["data"]["programs"].items():
        assert name.startswith("capsule/")
        assert data_of(user_folder / "site/data" / f"{file}.js")["names"]


def test_options_of_other_sources_are_refused(call, plan, user_folder):
    status, _, err = call("explore", "tiny.hlo", "--program", "tiny.hlo", "--out", "site")
    assert (status, err) == (1, "error: --program is for plans, and 'tiny.hlo' is a module\n")
    status, _, err = call("explore", "tiny.hlo", "--programs", "a", "--out", "site")
    assert (status, err) == (1, "error: --programs is for results, and 'tiny.hlo' is a module\n")
    status, _, err = call("explore", str(STUDIES / "win"), "--programs", "none/*", "--out", "site")
    assert status == 1
    assert "no program of these results is called 'none/*'" in err
