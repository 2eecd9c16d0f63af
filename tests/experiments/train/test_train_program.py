"""The whole program, on two small benchmarks: results, repetition, interruption, resumption."""

import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from experiments.evaluate.run_folder import CONFIG, CONFIG_KIND, CONFIG_VERSION, REFUSED
from experiments.policies.checkpoint import Checkpoint, load_policy
from experiments.train import program as train_module
from experiments.train.command_line import GNN_PRESETS, OP_COUNT_PRESETS, parse
from experiments.train.loop import Training
from hlograph.storage.checked_file import read_checked_json
from models.config import CloningConfig, EffectHeadConfig
from tests.experiments.tiny_run import checkpoints, results, same_policies, tiny_config

ROOT = Path(__file__).parents[3]
FILES = ("results.json", "results.csv", "table.txt", "config.json")


@pytest.fixture(scope="module")
def tiny():
    return tiny_config(workers="in-process")


def test_a_run_leaves_results_checkpoints_and_logs(finished):
    for name in FILES:
        assert (finished / name).stat().st_size > 0
    assert len(list(finished.glob("**/events.out.tfevents.*"))) == 3
    result = results(finished)
    for checks in result["checks"].values():
        assert {check["problem"] for check in checks.values()} == {None}
    assert len(result["benchmarks"]) == 2
    for name, checkpoint in checkpoints(finished).items():
        assert (checkpoint.kind, checkpoint.steps, checkpoint.iteration) == (name, 48, 2)
    start = read_checked_json(finished / CONFIG, CONFIG_KIND, CONFIG_VERSION)["starts"][0]
    assert "torch" in start["versions"]


def test_same_seed_same_result(finished, tiny, tmp_path):
    assert train_module.train(replace(tiny, out=tmp_path / "again")) == 0
    assert same_policies(finished, tmp_path / "again")
    for name in ("results.json", "table.txt"):
        assert (finished / name).read_text() == (tmp_path / "again" / name).read_text()


def test_a_resumed_run_ends_like_one_that_was_never_interrupted(
    finished, tiny, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "interrupted"
    iterate = Training._iterate
    calls = []

    def interrupt(self):
        calls.append(self)
        ratios = iterate(self)
        if len(calls) == 2:
            # Parameters have moved on, the iteration is not over.
            raise KeyboardInterrupt
        return ratios

    monkeypatch.setattr(Training, "_iterate", interrupt)
    assert train_module.train(replace(tiny, out=folder)) == 130
    assert f"experiments.train_gnn --resume {folder}" in capsys.readouterr().err
    assert Checkpoint.load(folder / "gnn" / "checkpoint.pt").iteration == 1
    monkeypatch.undo()
    config = parse(GNN_PRESETS, "", ["--resume", str(folder)])
    assert train_module.train(config) == 0
    assert same_policies(finished, folder)
    assert (finished / "results.json").read_text() == (folder / "results.json").read_text()
    assert len(read_checked_json(folder / CONFIG, CONFIG_KIND, CONFIG_VERSION)["starts"]) == 2


def test_a_run_is_not_written_over(finished, tiny, capsys):
    assert train_module.train(replace(tiny, out=finished)) == 2
    assert "--resume" in capsys.readouterr().err


def test_baseline_takes_the_place_of_training(finished, tiny, tmp_path):
    baseline = finished / "op_counts" / "checkpoint.pt"
    config = replace(tiny, total_steps=24, out=tmp_path / "run", baseline=baseline)
    assert train_module.train(config) == 0
    assert not (tmp_path / "run" / "op_counts").exists()
    rows, before = results(tmp_path / "run")["benchmarks"], results(finished)["benchmarks"]
    assert [r["op_counts"] for r in rows] == [r["op_counts"] for r in before]


def test_a_policy_is_trained_further(finished, tiny, tmp_path, capsys):
    start = finished / "gnn" / "checkpoint.pt"
    given = replace(tiny, baseline="op-counts", start=str(start))
    folder = tmp_path / "run"
    assert train_module.train(replace(given, total_steps=0, out=folder)) == 0
    out = capsys.readouterr().out
    assert "imitates" not in out
    assert f"gnn: goes on from the policy {start}" in out
    assert not (folder / "op_counts").exists()
    rows, before = results(folder)["benchmarks"], results(finished)["benchmarks"]
    assert [r["gnn"] for r in rows] == [r["gnn"] for r in before]
    more = replace(given, total_steps=tiny.total_steps, out=tmp_path / "more")
    assert train_module.train(more) == 0
    first, last = Checkpoint.load(start), Checkpoint.load(tmp_path / "more/gnn/checkpoint.pt")
    assert first.best is not None
    assert last.best is not None
    assert last.best.score >= first.best.score
    assert any(not torch.equal(last.policy[name], first.kept()[name]) for name in last.policy)


def test_ctrl_c_does_not_forget_the_policy_to_improve_on(finished, tiny, tmp_path, monkeypatch):
    start = finished / "gnn" / "checkpoint.pt"
    given = replace(tiny, baseline="op-counts", start=str(start), out=tmp_path / "run")

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "_iterate", interrupt)
    assert train_module.train(given) == 130
    first = Checkpoint.load(start)
    saved = Checkpoint.load(tmp_path / "run/gnn/checkpoint.pt")
    assert first.best is not None
    assert saved.best is not None
    assert saved.best.score == first.best.score
    for name, value in first.kept().items():
        assert torch.equal(saved.kept()[name], value)


@pytest.mark.parametrize(
    ("start", "refusal", "status"),
    [
        ("rewrites", "expected a policy gnn", 2),
        ("no-policy", "no-policy", 2),
        ("gnn", "another shape", 3),  # The tiny networks are smaller.
    ],
)
def test_a_policy_that_cannot_be_trained_further(start, refusal, status, tiny, tmp_path, capsys):
    config = replace(tiny, baseline="op-counts", start=start, out=tmp_path / "run")
    assert train_module.train(config) == status
    assert refusal in capsys.readouterr().err
    # A run that was not begun leaves nothing to be continued in its folder.
    assert (config.out / "config.json").exists() == (status == 3)


def test_policy_of_a_checkpoint(finished):
    kind, policy = load_policy(finished / "gnn" / "checkpoint.pt")
    assert kind.observation == "graph"
    checkpoint = Checkpoint.load(finished / "gnn" / "checkpoint.pt")
    assert checkpoint.best is not None
    assert checkpoint.imitated == 2
    stored = checkpoint.kept()
    for key, value in policy.state_dict().items():
        assert torch.equal(value, stored[key])


def test_what_was_imitated_is_not_imitated_again(tiny, tmp_path, capsys):
    config = replace(tiny, total_steps=0, out=tmp_path / "run")
    assert train_module.train(config) == 0
    imitates = "imitates the orders of hlograph-simplify and its variants on 2 benchmarks"
    assert capsys.readouterr().out.count(imitates) == 2
    before = checkpoints(tmp_path / "run")
    assert train_module.train(replace(config, resume=str(tmp_path / "run"))) == 0
    assert "imitates" not in capsys.readouterr().out
    for name, checkpoint in checkpoints(tmp_path / "run").items():
        for key, value in checkpoint.policy.items():
            assert torch.equal(value, before[name].policy[key])


def test_larger_benchmarks_are_imitated_than_learned_from(tiny, tmp_path, capsys):
    train, effects = {"corpus_set": "diverse", "train_op_limit": 30}, EffectHeadConfig(episodes=0)
    tiny = replace(tiny, benchmarks=(), total_steps=0, baseline="op-counts", effects=effects)
    for limit, count in ((None, 2), (40, 6)):
        cloning = CloningConfig(epochs=1, op_limit=limit)
        out = tmp_path / str(limit)
        assert train_module.train(replace(tiny, **train, cloning=cloning, out=out)) == 0
        printed = capsys.readouterr().out
        assert f"its variants on {count} benchmarks" in printed
        assert "2 benchmarks to train on" in printed


def test_ctrl_c_saves_and_says_how_to_go_on(tiny, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "experiments.train", "op-counts", "--out", str(folder)]
    command += ["--total-steps", "100000000", "--num-envs", "4", "--horizon", "6"]
    command += ["--benchmarks", *tiny.benchmarks, "--test-op-limit", str(tiny.test_op_limit)]
    command += ["--checkpoint-every", "1", "--threads", "1", "--cloning.epochs", "0"]
    command += ["--num-workers", "1", "--validation-count", "1", "--test-count", "1"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what it runs in the background with interrupts ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    checkpoint = folder / "op_counts" / "checkpoint.pt"
    with process:  # waits for it, and closes its pipe
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert f"python -m experiments.train op-counts --resume {folder}" in errors
    assert "Traceback" not in errors
    assert Checkpoint.load(checkpoint).steps > 0
    config = parse(OP_COUNT_PRESETS, "", ["--resume", str(folder)])
    assert config.num_envs == 4


def test_what_is_trained_on_is_not_held_out(tiny):
    held_out = train_module._splits(tiny).test[0]
    config = replace(tiny, benchmarks=(*tiny.benchmarks, held_out), train_op_limit=10**6)
    splits = train_module._splits(config)
    assert held_out in splits.train
    assert held_out not in (*splits.validation, *splits.test)


def test_settings_that_do_not_fit_a_run_leave_it_as_it_is(finished, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    before = (folder / CONFIG).read_bytes()
    config = parse(GNN_PRESETS, "", ["--resume", str(folder), "--heads.width", "24"])
    assert train_module.train(config) == REFUSED
    assert "another shape" in capsys.readouterr().err
    assert (folder / CONFIG).read_bytes() == before


def test_without_evaluations_the_last_policy_is_kept(tiny, tmp_path):
    assert train_module.train(replace(tiny, evaluations=0, out=tmp_path / "run")) == 0
    for checkpoint in checkpoints(tmp_path / "run").values():
        assert checkpoint.best is None
        assert checkpoint.steps == tiny.total_steps
