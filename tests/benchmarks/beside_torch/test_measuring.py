"""The program: rows of measured times, and its refusals."""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.beside_torch.catalogue import MODELS
from benchmarks.beside_torch.measuring import measure, plan_of
from benchmarks.beside_torch.settings import Settings, prepare_process
from hlograph.errors import HloError
from hlograph.plans import Plan

ROOT = Path(__file__).parents[3]
QUICK = ("--rounds", "2", "--budget", "0.1", "--no-compile", "--sample-seconds", "0.001")


def test_a_row_has_times_of_both_and_their_ratio(tmp_path):
    settings = Settings(tmp_path / "x.csv", rounds=2, compile=False, sample_seconds=0.001)
    row = measure(MODELS["cumulative-sum/rows/b16-n8192"], settings)
    assert row.rounds == 2
    assert 0 < row.jax_ms.low <= row.jax_ms.value <= row.jax_ms.high
    assert row.eager_ms.value > 0
    assert row.over_eager.value > 0
    assert row.compiled_ms is row.over_compiled is row.torch_compile_s is None
    assert row.difference < 1e-4


def test_a_plan_is_measured_too(tmp_path):
    name = "pairwise-distance/broadcast/n4096-k32-d16"
    settings = Settings(tmp_path / "x.csv", rounds=2, compile=False, sample_seconds=0.001)
    wide = Plan(flags={"xla_cpu_prefer_vector_width": 512})
    row = measure(MODELS[name], settings, wide)
    assert row.planned_ms is not None
    assert row.planned_over_eager is not None
    assert row.planned_ms.value > 0
    assert "prefer_vector_width" in row.decisions
    assert measure(MODELS[name], settings, Plan()).planned_ms is None


def test_a_search_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "cache"))
    settings = Settings(tmp_path / "x.csv", search=0.5)
    name = "pairwise-distance/broadcast/n4096-k32-d16"
    found = plan_of(name, settings)
    (path,) = (tmp_path / "x").glob("races/*/*/plans/*.json")
    changed = replace(found, method="of an earlier run")
    changed.save(path)
    assert plan_of(name, settings).method == "of an earlier run"


def test_more_threads_than_cores_are_an_error(tmp_path):
    threads = len(os.sched_getaffinity(0)) + 1
    with pytest.raises(HloError, match=f"got {threads}: give --threads"):
        prepare_process(Settings(tmp_path / "x.csv", threads=threads), tmp_path)


def test_the_program_measures_and_writes(tmp_path):
    out = tmp_path / "found.csv"
    command = [sys.executable, "-m", "benchmarks.beside_torch", "--out", str(out), *QUICK]
    command += ["--threads", "1", "--programs", "n-body/forces/n512"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    rows = csv.DictReader(out.read_text().splitlines())
    assert [row["program"] for row in rows] == ["n-body/forces/n512"]
    assert out.with_suffix(".md").read_text() in found.stdout
