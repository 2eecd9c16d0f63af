"""The program lists its experiments at once, and continues nothing with other settings."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from experiments.evaluate.study import Study
from experiments.paper import training
from experiments.paper.__main__ import EXPERIMENTS, main, parse
from experiments.paper.training_settings import PAPER_PPO, TrainingStudyConfig
from models.config import PPOConfig


def test_help_lists_the_experiments_without_loading_torch():
    code = (
        "import runpy, sys; sys.argv = ['x', '--help']\n"
        "try: runpy.run_module('experiments.paper', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "slow = {'torch', 'tensorboard', 'hlograph._native', 'gymnasium', 'stable_baselines3'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    shown = " ".join(done.stdout.split())
    for name, experiment in EXPERIMENTS.items():
        assert f"{name} {experiment.about}" in shown
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("name", ["figure2", "figure4"])
def test_flags_override_presets(name):
    presets = EXPERIMENTS[name].presets
    assert parse([name]) == (name, presets["quick"])
    _, config = parse([name, "--preset", "full", "--seeds", "4", "5", "--gat-ppo.clip", "0.1"])
    full = presets["full"]
    expected = replace(full, seeds=(4, 5), gat_ppo=replace(full.gat_ppo, clip=0.1))
    assert config == expected
    assert len(full.seeds) >= 3


def test_an_unknown_experiment_is_refused_with_the_valid_ones(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["figure9"])
    assert ended.value.code == 2
    assert "figure4" in capsys.readouterr().err


def test_the_papers_hyper_parameters():
    for name in ("figure2", "figure4"):
        config = EXPERIMENTS[name].presets["paper"]
        for ppo in (config.op_counts_ppo, config.gat_ppo):
            assert (ppo.gae_lambda, ppo.clip, ppo.entropy_weight) == (0.95, 0.2, 0.0)
    assert replace(PAPER_PPO, entropy_weight=PPOConfig().entropy_weight) == PPOConfig()


@pytest.mark.parametrize(("asked", "done"), [(1, 640), (640, 640), (641, 1280)])
def test_all_agents_take_whole_iterations(asked, done):
    settings = TrainingStudyConfig(total_steps=asked, num_envs=16, horizon=40)
    training = settings.training(0, Path("x"))
    assert settings.steps == training.total_steps == done
    # What searches have found before was paid for by other calls.
    assert training.cloning.epochs == 0


@dataclass(frozen=True)
class _Config:
    preset: str = "quick"
    seeds: tuple[int, ...] = (0,)
    size: int = 1
    out: Path | None = None


@pytest.fixture
def counting(monkeypatch):
    """An experiment that notes with which settings it is run."""
    runs = []

    def run(config, folder):
        runs.append(config)
        return Study("figure2", config.preset, {"size": config.size}, {}, [])

    counting = EXPERIMENTS["figure2"]._replace(presets={"quick": _Config()})
    monkeypatch.setitem(EXPERIMENTS, "figure2", counting)
    monkeypatch.setattr(training, "figure2", run)
    return runs


def test_a_study_is_saved_and_not_continued_with_other_settings(counting, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["figure2", "--size", "3", "--out", out]) == 0
    assert Study.load(tmp_path / "run" / "study.json").settings == {"size": 3}
    assert main(["figure2", "--size", "3", "--out", out]) == 0
    assert main(["figure2", "--size", "4", "--out", out]) == 2
    assert "other settings: size" in capsys.readouterr().err
    assert [config.size for config in counting] == [3, 3]


def test_settings_that_an_experiment_refuses_are_told_in_a_line(
    counting, tmp_path, monkeypatch, capsys
):
    def run(config, folder):
        raise ValueError("no variants ['x']")

    monkeypatch.setattr(training, "figure2", run)
    assert main(["figure2", "--out", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert "no variants ['x']" in err
    assert "Traceback" not in err
    assert not (tmp_path / "run" / "study.json").exists()
