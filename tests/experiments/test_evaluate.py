"""Checkpoints are played on any benchmarks, keep the best of several episodes, and are checked."""

from dataclasses import replace

import pytest
import torch

from experiments import evaluate as evaluate_program
from experiments.checkpoint import Checkpoint
from experiments.config import OpCountTrainConfig
from experiments.evaluate import EvaluateConfig, evaluate, main, table
from experiments.evaluation import play_greedily, play_samples
from experiments.learner import learner_of, new_policy
from experiments.lockstep import lockstep
from experiments.paper import figure3, generalisation
from experiments.shipped import SHIPPED, available, checkpoint_location
from experiments.study import Study
from hlograph import corpus
from hlograph.errors import UnknownNameError
from hlograph.isolation import Quarantine
from models.ppo import PPO


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Of an op-count policy that learned nothing."""
    config = OpCountTrainConfig(seed=7, horizon=6, envs_per_task=2, train_op_limit=60)
    learner = learner_of("op_counts", config)
    ppo = PPO(new_policy(learner, config), learner.ppo)
    path = tmp_path_factory.mktemp("policy") / "op_counts.checkpoint"
    Checkpoint.take(learner, config, ppo, 3, 128, Quarantine(), None).save(path)
    return path


@pytest.fixture(scope="module")
def names():
    """Two of the smallest benchmarks."""
    return [b.name for b in sorted(corpus.load(), key=lambda b: b.op_count)[:2]]


def _config(checkpoint, names, **changes):
    config = EvaluateConfig(str(checkpoint), corpus=tuple(names), checks=1, workers="in-process")
    return replace(config, **changes)


def test_any_benchmarks(checkpoint, names, tmp_path):
    study = evaluate(_config(checkpoint, names), tmp_path)
    (trial,) = study.trials
    assert (trial.method, trial.seed) == ("op counts", 7)
    assert [o.benchmark for o in trial.outcomes] == list(study.references) == names
    assert all(0 < o.calls <= 6 for o in trial.outcomes)
    assert all(c.problem is None for c in trial.checks)
    assert all(seconds > 0 for seconds in trial.seconds)
    reference = study.references[names[0]]
    assert set(reference.after) == {"xla-cpu", "xla-simplify", "xla-cpu-unexpanded"}
    assert reference.calls["xla-simplify"] > 0
    text = table(study)
    assert names[1] in text
    assert f"op counts: {sum(o.calls for o in trial.outcomes)} pass calls" in text


def test_best_of_several_episodes(checkpoint, names, tmp_path):
    one = evaluate(_config(checkpoint, names), tmp_path).trials[0]
    config = _config(checkpoint, names, samples=5, seed=1)
    several = evaluate(config, tmp_path).trials[0]
    assert several.method == "op counts, best of 5"
    for alone, best in zip(one.outcomes, several.outcomes, strict=True):
        assert best.op_count <= alone.op_count
        assert alone.calls < best.calls <= 5 * 6
    assert all(c.problem is None for c in several.checks)  # its passes lead to its op count
    assert evaluate(config, tmp_path).trials[0].outcomes == several.outcomes


def test_a_beam_that_the_policy_guides(checkpoint, names, tmp_path):
    config = _config(checkpoint, names[:1], beam=40)
    (trial,) = evaluate(config, tmp_path).trials
    assert trial.method == "op counts, beam of 40 calls"
    assert 0 < trial.outcomes[0].calls <= 40
    assert trial.curves[names[0]][-1][2] == trial.outcomes[0].op_count
    assert trial.checks[0].problem is None


def test_episodes_are_cut_where_the_op_count_was_least(make_countdown, countdown_policy):
    with torch.no_grad():
        for parameter in countdown_policy.parameters():
            parameter.zero_()  # every action is as likely
    with lockstep(make_countdown(8), 2) as envs:
        (greedy,) = play_greedily(envs, countdown_policy, ["5"])
        best = play_samples(envs, countdown_policy, "5", 9, seed=0)
        again = play_samples(envs, countdown_policy, "5", 9, seed=0)
        others = {play_samples(envs, countdown_policy, "5", 2, seed=n).calls for n in range(8)}
        first = play_samples(envs, countdown_policy, "5", 1, seed=0)
    assert best == again
    assert len(others) > 1
    assert best.start == 5
    assert best.op_count == 5 - len(best.passes) <= greedy.op_count
    assert (first.op_count, first.calls) == (greedy.op_count, greedy.calls)


def test_names_of_checkpoints(tmp_path, checkpoint):
    assert available(tmp_path) == {}
    with pytest.raises(UnknownNameError, match=r"comes with the project \(none here\), got 'gnn'"):
        checkpoint_location("gnn", tmp_path)
    (tmp_path / SHIPPED["op-counts"]).write_bytes(b"")
    assert checkpoint_location("op-counts", tmp_path) == tmp_path / SHIPPED["op-counts"]
    with pytest.raises(UnknownNameError, match=r"\(op-counts\), got 'gnn'"):
        checkpoint_location("gnn", tmp_path)
    assert checkpoint_location(str(checkpoint), tmp_path) == checkpoint
    assert checkpoint_location("s3://bucket/policy", tmp_path) == "s3://bucket/policy"


def test_the_program_saves_a_study(checkpoint, names, tmp_path, capsys):
    arguments = [str(checkpoint), "--workers", "in-process", "--checks", "0", "--corpus", names[0]]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert names[0] in capsys.readouterr().out
    study = Study.load(tmp_path / "out" / "study.json")
    assert (study.name, study.preset) == ("evaluation", "op-counts")
    assert study.groups() == [names[0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "got 'nobody'"),
        (["CHECKPOINT", "--op-limit", "1"], "no benchmark of test-unseen has at most 1"),
        (["CHECKPOINT", "--corpus", "nowhere/*"], "'nowhere/\\*' is no benchmark"),
    ],
)
def test_what_cannot_be_evaluated_is_told(arguments, message, checkpoint, capsys):
    given = [str(checkpoint) if a == "CHECKPOINT" else a for a in arguments]
    assert main(given) == evaluate_program.REFUSED
    err = capsys.readouterr().err
    assert message.replace("\\", "") in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "0"], "at least 1 episode, got 0"),
        (["--beam", "9", "--samples", "2"], "got 9 and 2"),
        (["--beam", "0"], "at least 1 pass call"),
    ],
)
def test_settings_that_mean_nothing_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["gnn", *arguments])
    assert message in capsys.readouterr().err


def test_figure3_plays_each_checkpoint_on_each_set(checkpoint, tmp_path):
    config = figure3.Config(
        checkpoints=(str(checkpoint),) * 2,
        op_limit=300,
        count=1,
        checks=0,
        corpus_sets=("diverse",),
        workers="in-process",
    )
    study = figure3.run(config, tmp_path)
    assert study.name == "figure3"
    assert study.groups() == ["diverse test-unseen"]
    assert [trial.seed for trial in study.trials] == [7, 7]
    assert study.trials[0].outcomes == study.trials[1].outcomes
    assert "op counts, seed 7: trained on 128 pass calls" in study.notes[0]


def test_generalisation_has_modules_beyond_those_trained_on(checkpoint, tmp_path):
    config = generalisation.Config(
        checkpoints=(str(checkpoint),), op_limit=120, count=2, checks=0, workers="in-process"
    )
    study = generalisation.run(config, tmp_path)
    (larger,) = study.of("op counts", generalisation.LARGER)
    assert larger.outcomes
    assert all(60 < o.start <= 120 for o in larger.outcomes)
    splits = {b.name: b.split for b in corpus.load()}
    assert {splits[o.benchmark] for o in larger.outcomes} == {"train"}
    assert study.groups()[0] == "test-seen"
