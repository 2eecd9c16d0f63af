"""Checkpoints are played on any benchmarks, keep the best of several episodes, and are checked."""

from dataclasses import replace

import pytest
import torch

from experiments.evaluate import __main__ as evaluate_program
from experiments.evaluate.__main__ import EvaluateConfig, evaluate, main, table
from experiments.evaluate.benchmarks import Part, chosen
from experiments.evaluate.run_folder import INTERRUPTED, REFUSED
from experiments.evaluate.study import Study
from experiments.paper.checkpoints import LARGER, figure3, generalisation, huge, win
from experiments.paper.settings import (
    FIGURE3,
    GENERALISATION,
    WIN,
    Figure3Config,
    GeneralisationConfig,
    WinConfig,
)
from experiments.policies.checkpoint import Best, Checkpoint, policy_of
from experiments.policies.config import GNNTrainConfig, PassTrainConfig
from experiments.policies.kind import policy_kind
from experiments.policies.player import Episodes, play_greedily, play_samples
from experiments.policies.shipped import available, checkpoint_location, file_name
from experiments.workers.task_runner import parameters_of
from experiments.workers.tasks import Play, PlaySamples
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.errors import UnknownNameError
from hlograph.isolation import FlightRecorder, Quarantine
from models.config import GATConfig
from models.ppo import PPO


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Checkpoint of an untrained op-count policy."""
    config = PassTrainConfig(seed=7, horizon=6, play_horizon=6, envs_per_task=2, train_op_limit=60)
    kind = policy_kind("op_counts", config)
    ppo = PPO(kind.new_policy(), kind.ppo)
    path = tmp_path_factory.mktemp("policy") / "op_counts.checkpoint"
    Checkpoint.take(kind, ppo, 3, 128, None, Quarantine(), None).save(path)
    return path


@pytest.fixture(scope="module")
def names():
    """Two of the smallest benchmarks."""
    return [b.name for b in sorted(corpus.load(), key=lambda b: b.op_count)[:2]]


def _config(checkpoint, names, **changes):
    config = EvaluateConfig(
        str(checkpoint), benchmarks=tuple(names), checks=1, workers="in-process"
    )
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
    others = {"xla-cpu-unexpanded", "hlograph-simplify"}
    assert set(reference.after) == {"xla-cpu", "xla-simplify"} | others
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


def test_an_episode_may_stop_early(checkpoint, names, tmp_path):
    whole = evaluate(_config(checkpoint, names), tmp_path).trials[0]
    early = evaluate(_config(checkpoint, names, stop_above=1e-6), tmp_path).trials[0]
    assert early.method == "op counts, stops above 1e-06"
    # No policy is that sure that it should go on.
    assert [outcome.calls for outcome in early.outcomes] == [0] * len(names)
    assert sum(outcome.calls for outcome in whole.outcomes) > 0
    with pytest.raises(ValueError, match="expected a probability above 0 and at most 1, got 0"):
        _config(checkpoint, names, stop_above=0.0)


def test_calls_that_change_nothing_may_be_skipped(tmp_path):
    names = ("graph-network/deep-sets-r2/forward", "mixer/l6-h48-scan/forward-b2")
    config = replace(_config("gnn", names), then=("xla-simplify",))
    (whole,) = evaluate(replace(config, skip_below=0.0), tmp_path).trials
    (skipping,) = evaluate(config, tmp_path).trials
    assert whole.method == "GNN, skips below 0, then xla-simplify"
    assert skipping.method == "GNN, then xla-simplify"
    calls, all_calls = (sum(o.calls for o in t.outcomes) for t in (skipping, whole))
    assert calls < 0.7 * all_calls
    sizes, of_all = (sum(o.op_count for o in t.outcomes) for t in (skipping, whole))
    assert sizes <= 1.02 * of_all
    assert all(check.problem is None for check in skipping.checks)
    with pytest.raises(ValueError, match="at least 0 and below 1, got 1"):
        replace(config, skip_below=1.0)


def test_all_benchmarks_of_a_split(checkpoint, tmp_path):
    config = _config(checkpoint, (), split="validation", op_limit=60, count="all")
    (trial,) = evaluate(config, tmp_path).trials
    expected = [b.name for b in corpus.load(split="validation", max_op_count=60)]
    assert sorted(o.benchmark for o in trial.outcomes) == sorted(expected)
    assert len(expected) > 1


def test_a_pipeline_goes_on_from_what_a_policy_leaves(checkpoint, names, tmp_path):
    (first,) = evaluate(_config(checkpoint, names), tmp_path).trials
    study = evaluate(_config(checkpoint, names, then=("xla-simplify", "xla-cpu")), tmp_path)
    (trial,) = study.trials
    assert trial.method == "op counts, then xla-simplify, then xla-cpu"
    assert all(check.problem is None for check in trial.checks)  # all steps lead to its op count
    for before, after in zip(first.outcomes, trial.outcomes, strict=True):
        assert after.op_count <= before.op_count
        assert after.calls > before.calls
        assert after.passes[: len(before.passes)] == before.passes
    assert sum(o.op_count for o in trial.outcomes) < sum(o.op_count for o in first.outcomes)


def test_a_policy_goes_on_from_what_another_one_leaves(checkpoint, tmp_path):
    few = corpus.load("diverse", split="validation", max_op_count=120)
    names = [b.name for b in sorted(few, key=lambda b: -b.op_count)[:2]]
    first = evaluate(_config(checkpoint, names), tmp_path).trials[0]
    study = evaluate(_config(checkpoint, names, then=("sweeps",)), tmp_path)
    (trial,) = study.trials
    assert trial.method == "op counts, then GNN on rewrites"
    for before, after, seconds in zip(first.outcomes, trial.outcomes, trial.seconds, strict=True):
        assert after.start == before.start
        assert after.op_count <= before.op_count
        assert after.passes[: len(before.passes)] == before.passes
        assert after.calls > before.calls
        assert seconds > 0
    assert any(
        len(after.passes) > len(b.passes)
        for b, after in zip(first.outcomes, trial.outcomes, strict=True)
    )
    assert all(check.problem is None for check in trial.checks)  # all steps lead to its op count
    steps = sum(outcome.calls for outcome in trial.outcomes)
    assert f"op counts, then GNN on rewrites: {steps} steps" in table(study)
    assert len([note for note in study.notes if "seed" in note]) == 2


def test_a_beam_that_the_policy_guides(checkpoint, names, tmp_path):
    config = _config(checkpoint, names[:1], beam=40)
    (trial,) = evaluate(config, tmp_path).trials
    assert trial.method == "op counts, beam of 40 calls"
    assert 0 < trial.outcomes[0].calls <= 40
    assert trial.curves[names[0]][-1][2] == trial.outcomes[0].op_count
    assert trial.checks[0].problem is None


def test_results_are_the_states_with_the_least_op_count(
    make_countdown, countdown_policy, countdown_kind
):
    with torch.no_grad():
        for parameter in countdown_policy.parameters():
            parameter.zero_()  # every action is as likely
    episodes = Episodes(countdown_kind, countdown_policy, make_countdown(8), 2)
    (greedy,) = play_greedily(episodes, ["5"])
    best = play_samples(episodes, "5", 9, seed=0)
    again = play_samples(episodes, "5", 9, seed=0)
    others = {play_samples(episodes, "5", 2, seed=n).calls for n in range(8)}
    first = play_samples(episodes, "5", 1, seed=0)
    assert best == again
    assert len(others) > 1
    assert best.start == 5
    assert best.op_count == 5 - len(best.passes) <= greedy.op_count
    assert (first.op_count, first.calls) == (greedy.op_count, greedy.calls)


def test_names_of_checkpoints(tmp_path, checkpoint):
    assert available(tmp_path) == {}
    with pytest.raises(UnknownNameError, match=r"comes with the project \(none here\), got 'gnn'"):
        checkpoint_location("gnn", tmp_path)
    for seed in (2, 1):
        (tmp_path / file_name("op-counts", seed)).write_bytes(b"")
    assert checkpoint_location("op-counts", tmp_path) == tmp_path / file_name("op-counts", 1)
    assert checkpoint_location("op-counts-seed2", tmp_path) == tmp_path / file_name("op-counts", 2)
    with pytest.raises(UnknownNameError, match=r"seed2, op-counts\), got 'gnn'"):
        checkpoint_location("gnn", tmp_path)
    assert checkpoint_location(str(checkpoint), tmp_path) == checkpoint
    assert checkpoint_location("s3://bucket/policy", tmp_path) == "s3://bucket/policy"


def test_the_program_saves_a_study(checkpoint, names, tmp_path, capsys):
    arguments = [
        str(checkpoint),
        "--workers",
        "in-process",
        "--checks",
        "0",
        "--benchmarks",
        names[0],
    ]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert names[0] in capsys.readouterr().out
    study = Study.load(tmp_path / "out" / "study.json")
    assert (study.name, study.preset) == ("evaluation", "op-counts")
    assert study.groups() == [names[0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "got 'nobody'"),
        (["CHECKPOINT", "--op-limit", "1"], "no benchmark of corpus test-unseen has at most 1 "),
        (
            ["CHECKPOINT", "--benchmarks", "nowhere/*"],
            "no benchmark that 'nowhere/*' matches of corpus test-unseen has at most 3,000 ",
        ),
        (["CHECKPOINT", "--benchmarks", "no-such-file"], "'no-such-file' is no benchmark, no glob"),
        (["CHECKPOINT", "--then", "nobody"], "got 'nobody'"),
    ],
)
def test_what_cannot_be_evaluated_is_told(arguments, message, checkpoint, capsys):
    given = [str(checkpoint) if a == "CHECKPOINT" else a for a in arguments]
    assert main(given) == REFUSED
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "0"], "at least 1 episode, got 0"),
        (["--beam", "9", "--samples", "2"], "got 9, 2 and ()"),
        (["--beam", "9", "--then", "sweeps"], "no --samples or --then"),
        (["--beam", "0"], "at least 1 pass call"),
        (["--beam", "9", "--stop-above", "0.2"], "none beside --beam"),
        (["--count", "-1"], "--count: expected 0 or more, got -1"),
        (["--checks", "-1"], "--checks: expected 0 or more, got -1"),
        (["--stop-above", "1.5"], "above 0 and at most 1, got 1.5"),
        (
            ["--benchmarks", "a/b/c", "--split", "train", "--count", "3"],
            "--split, --count: expected a glob",
        ),
        (["--benchmarks", "dump/", "--op-limit", "9"], "--op-limit: expected a glob"),
    ],
)
def test_settings_that_mean_nothing_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["gnn", *arguments])
    assert message in " ".join(capsys.readouterr().err.replace("\u2502", "").split())


def test_ctrl_c_is_told_in_a_line(checkpoint, monkeypatch, capsys):
    def interrupted(config, folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_program, "evaluate", interrupted)
    assert main([str(checkpoint)]) == INTERRUPTED
    (line,) = capsys.readouterr().err.split("\n")[1:-1]
    assert line == "Interrupted; what was written so far is kept"


def test_globs_choose_in_the_split_and_names_are_taken_as_they_are():
    small = Part("validation", "diverse", 700, None)
    split = {b.name for b in corpus.load("diverse", "validation") if b.op_count <= 700}
    assert chosen((), small)[0] == sorted(split)
    names, title = chosen(("*/forward*",), small)
    assert names == sorted(name for name in split if "/forward" in name)
    assert title == "*/forward*, of diverse validation"
    few, _ = chosen(("*/forward*",), replace(small, count=2))
    assert set(few) < set(names)
    assert len(few) == 2
    # One that is of another split and larger than the limit, and a file.
    trained = max(corpus.load(split="train"), key=lambda b: b.op_count).name
    file = str(corpus.load()[0].source)
    assert chosen((trained, file), small) == ([trained, file], f"{trained} {file}")
    # Of another set, too.
    assert chosen(("n-body/forces/n512",), small)[0] == ["n-body/forces/n512"]
    names, _ = chosen((trained, "*/forward*"), replace(small, count=2))
    assert set(names) == {trained, *few}
    with pytest.raises(
        ValueError, match="'gpt2/\\*' matches of diverse validation has at most 700"
    ):
        chosen(("*", "gpt2/*"), small)


def test_time_is_taken_with_nothing_known_before(checkpoint, names):
    config = PassTrainConfig(horizon=6, play_horizon=6, envs_per_task=2)
    recorder = _Counting()
    worker = RolloutWorker(config, recorder)
    _, policy = policy_of(Checkpoint.load(checkpoint))
    shared = {"kind": "op_counts", "parameters": parameters_of(policy), "quarantine": Quarantine()}
    # What this play finds out is known to other tasks of the worker.
    Play(benchmarks=names[:1], **shared).do(worker)
    calls = []
    for samples in (3, 3, 1):
        before = recorder.calls
        outcome, _ = PlaySamples(benchmark=names[0], samples=samples, seed=0, **shared).do(worker)
        calls.append(recorder.calls - before)
    assert calls[0] == calls[1]
    assert outcome.calls == calls[2] > 0


class _Counting(FlightRecorder):
    """Counts the passes that XLA is asked for."""

    calls = 0

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        self.calls += 1
        super().begin(note, seconds)


def _with_seed(checkpoint, seed, path):
    trained = Checkpoint.load(checkpoint)
    best = Best(1.0, 64, trained.policy)
    config = trained.config | {"seed": seed}
    replace(trained, config=config, imitated=9, best=best).save(path)
    return str(path)


def test_figure3_plays_each_checkpoint_on_each_set(checkpoint, tmp_path):
    config = Figure3Config(
        checkpoints=(str(checkpoint), _with_seed(checkpoint, 8, tmp_path / "other")),
        op_limit=300,
        count=1,
        checks=0,
        corpus_sets=("gpt2-train", "diverse"),
        workers="in-process",
    )
    study = figure3(config, tmp_path)
    assert study.name == "figure3"
    assert study.groups() == ["diverse test-unseen"]
    assert [trial.seed for trial in study.trials] == [7, 8]
    assert study.trials[0].outcomes == study.trials[1].outcomes
    assert study.notes == [
        "op counts, seed 7: trained on 128 pass calls, kept after 128, imitating 0 "
        "orders, on modules of at most 60 instructions.",
        "op counts, seed 8: trained on 128 pass calls, kept after 64, imitating 9 "
        "orders, on modules of at most 60 instructions.",
        "gpt2-train test-unseen: no benchmark is left.",
    ]


@pytest.mark.parametrize(
    ("run", "presets"), [(figure3, FIGURE3), (generalisation, GENERALISATION), (win, WIN)]
)
def test_two_checkpoints_of_one_kind_and_seed_are_refused(run, presets, checkpoint, tmp_path):
    same = _with_seed(checkpoint, 7, tmp_path / "same")
    config = replace(presets["quick"], checkpoints=(str(checkpoint), same), op_limit=100, count=1)
    with pytest.raises(ValueError, match="are both of op_counts with seed 7"):
        run(config, tmp_path)


def test_generalisation_has_modules_beyond_those_trained_on(checkpoint, tmp_path):
    config = GeneralisationConfig(
        checkpoints=(str(checkpoint),),
        op_limit=120,
        huge_limit=10_001,
        count=2,
        checks=0,
        workers="in-process",
    )
    study = generalisation(config, tmp_path)
    (larger,) = study.of("op counts", LARGER)
    assert larger.outcomes
    assert all(60 < o.start <= 120 for o in larger.outcomes)
    splits = {b.name: b.split for b in corpus.load()}
    assert {splits[o.benchmark] for o in larger.outcomes} == {"train"}
    assert study.groups() == ["test-seen", "test-unseen", LARGER]
    assert any(
        note == "more than 10,000 instructions: the test splits have none of at most 10,001."
        for note in study.notes
    )


def test_huge_modules_are_of_the_test_splits():
    found = huge(GENERALISATION["full"])
    known = {b.name: b for b in corpus.load()}
    assert found
    assert all(known[name].op_count > 10_000 for name in found)
    assert {known[name].split for name in found} <= {"test-seen", "test-unseen"}


def test_win_gives_random_search_the_time_of_the_gnn(checkpoint, tmp_path):
    gat = GATConfig(layers=1, heads=2, head_width=8, edge_width=4, counted_kinds=4)
    config = GNNTrainConfig(seed=5, horizon=6, play_horizon=6, envs_per_task=2, gat=gat)
    kind = policy_kind("gnn", config)
    ppo = PPO(kind.new_policy(), kind.ppo)
    gnn = tmp_path / "gnn.checkpoint"
    Checkpoint.take(kind, ppo, 3, 128, None, Quarantine(), None).save(gnn)
    config = WinConfig(
        checkpoints=(str(gnn), str(checkpoint)),
        op_limit=150,
        count=2,
        checks=0,
        samples=3,
        corpus_sets=("diverse",),
        workers="in-process",
    )
    study = win(config, tmp_path)
    group = "diverse test-unseen"
    policies = ["GNN", "GNN, best of 3", "op counts", "op counts, best of 3"]
    searches = ["random search, time of GNN", "random search, time of GNN, best of 3"]
    brief = ["GNN, stops above 0.5", "op counts, stops above 0.5"]
    followed = [f"{policy}, then hlograph-simplify" for policy in policies]
    assert sorted(study.methods(group)) == sorted([*policies, *followed, *searches, *brief])
    for policy, search in zip(policies[:2], searches, strict=True):
        (played,), (searched,) = study.of(policy, group), study.of(search, group)
        assert played.seed == searched.seed == 5
        assert [o.benchmark for o in played.outcomes] == [o.benchmark for o in searched.outcomes]
        # A space that is searched to its end takes less.
        assert all(time > 0 for time in searched.seconds)
    (one,), (three,) = study.of("GNN", group), study.of("GNN, best of 3", group)
    for alone, best in zip(one.outcomes, three.outcomes, strict=True):
        assert best.op_count <= alone.op_count
        assert best.calls >= alone.calls
