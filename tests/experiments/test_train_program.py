"""The whole program, on two small benchmarks: results, repetition, interruption, resumption."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments import train as train_module
from experiments.checkpoint import Checkpoint, load_policy
from experiments.cli import parse
from experiments.config import GNN_PRESETS, OP_COUNT_PRESETS
from hlograph import corpus
from models.config import GATConfig

ROOT = Path(__file__).parents[2]
FILES = ("results.json", "results.csv", "table.txt", "config.json")


def _smallest(split, count):
    return sorted(corpus.load(split=split), key=lambda b: b.op_count)[:count]


@pytest.fixture(scope="module")
def tiny():
    """Settings of a run of two iterations."""
    held_out = _smallest("test-unseen", 2)
    return replace(
        GNN_PRESETS["quick"],
        benchmarks=tuple(b.name for b in _smallest("train", 2)),
        train_op_limit=10**6,
        test_op_limit=held_out[-1].op_count,
        total_steps=48,
        num_envs=4,
        horizon=6,
        evaluations=2,
        checkpoint_every=1,
        threads=1,
        gat=GATConfig(layers=1, heads=2, head_width=4, edge_width=4, counted_kinds=4),
    )


def _state(folder):
    return {name: Checkpoint.load(folder / name / "checkpoint.pt") for name in ("gnn", "op_counts")}


def _same(one, other):
    return all(
        torch.equal(one[name].policy[key], other[name].policy[key])
        for name in one
        for key in one[name].policy
    )


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory):
    """A finished run."""
    folder = tmp_path_factory.mktemp("run") / "finished"
    assert train_module.train(replace(tiny, out=folder), "train_gnn") == 0
    return folder


def test_a_run_leaves_results_checkpoints_and_logs(finished):
    for name in FILES:
        assert (finished / name).stat().st_size > 0
    assert len(list(finished.glob("**/events.out.tfevents.*"))) == 3
    result = json.loads((finished / "results.json").read_text())
    assert result["unverified"] == {"gnn": [], "op_counts": []}
    assert len(result["benchmarks"]) == 2
    for name, checkpoint in _state(finished).items():
        assert (checkpoint.learner, checkpoint.steps, checkpoint.iteration) == (name, 48, 2)
    start = json.loads((finished / "config.json").read_text())["starts"][0]
    assert "torch" in start["versions"]


def test_same_seed_same_result(finished, tiny, tmp_path):
    assert train_module.train(replace(tiny, out=tmp_path / "again"), "train_gnn") == 0
    assert _same(_state(finished), _state(tmp_path / "again"))
    for name in ("results.json", "table.txt"):
        assert (finished / name).read_text() == (tmp_path / "again" / name).read_text()


def test_a_resumed_run_ends_like_one_that_was_never_interrupted(
    finished, tiny, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "interrupted"
    from experiments.training import Training

    iterate = Training._iterate
    calls = []

    def interrupt(self, envs):
        calls.append(self)
        ratios = iterate(self, envs)
        if len(calls) == 2:
            # Parameters have moved on, the iteration is not over.
            raise KeyboardInterrupt
        return ratios

    monkeypatch.setattr(Training, "_iterate", interrupt)
    assert train_module.train(replace(tiny, out=folder), "train_gnn") == 130
    assert f"experiments.train_gnn --resume {folder}" in capsys.readouterr().err
    assert Checkpoint.load(folder / "gnn" / "checkpoint.pt").iteration == 1
    monkeypatch.undo()
    config = parse(GNN_PRESETS, "train_gnn", "", ["--resume", str(folder)])
    assert train_module.train(config, "train_gnn") == 0
    assert _same(_state(finished), _state(folder))
    assert (finished / "results.json").read_text() == (folder / "results.json").read_text()
    assert len(json.loads((folder / "config.json").read_text())["starts"]) == 2


def test_a_run_is_not_written_over(finished, tiny, capsys):
    assert train_module.train(replace(tiny, out=finished), "train_gnn") == 2
    assert "--resume" in capsys.readouterr().err


def test_baseline_takes_the_place_of_training(finished, tiny, tmp_path):
    baseline = finished / "op_counts" / "checkpoint.pt"
    config = replace(tiny, total_steps=24, out=tmp_path / "run", baseline=baseline)
    assert train_module.train(config, "train_gnn") == 0
    assert not (tmp_path / "run" / "op_counts").exists()
    rows = json.loads((tmp_path / "run" / "results.json").read_text())["benchmarks"]
    before = json.loads((finished / "results.json").read_text())["benchmarks"]
    assert [r["op_counts"] for r in rows] == [r["op_counts"] for r in before]


def test_policy_of_a_checkpoint(finished):
    learner, policy = load_policy(finished / "gnn" / "checkpoint.pt")
    assert learner.observation == "graph"
    stored = Checkpoint.load(finished / "gnn" / "checkpoint.pt").policy
    for key, value in policy.state_dict().items():
        assert torch.equal(value, stored[key])


def test_ctrl_c_saves_and_says_how_to_go_on(tiny, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "experiments.train_op_counts", "--out", str(folder)]
    command += ["--total-steps", "100000000", "--num-envs", "4", "--horizon", "6"]
    command += ["--benchmarks", *tiny.benchmarks, "--test-op-limit", str(tiny.test_op_limit)]
    command += ["--checkpoint-every", "1", "--threads", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    checkpoint = folder / "op_counts" / "checkpoint.pt"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"python -m experiments.train_op_counts --resume {folder}" in errors
    assert "Traceback" not in errors
    assert Checkpoint.load(checkpoint).steps > 0
    config = parse(OP_COUNT_PRESETS, "train_op_counts", "", ["--resume", str(folder)])
    assert config.num_envs == 4
