"""Tests that results of searches over rewrites can be replayed, and are in the study."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.evaluate.study import Study
from experiments.paper.report.chapters import chapters
from experiments.paper.rewriting import SEEN, competitors_of, run, seen_in_training
from experiments.paper.settings import REWRITING
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.kind import policy_kind
from experiments.search.budget import Budget, BudgetSpentError
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.guide import ActionProbabilities, RewriteGuide
from experiments.search.rewriting.space import RewriteSpace
from experiments.search.state_space import run as search
from experiments.search.state_space import taken
from experiments.search.task import Estimate, SearchTask
from experiments.workers.task_runner import parameters_of
from experiments.workers.tasks import Play
from experiments.workers.worker import RolloutWorker
from hlograph import Module
from hlograph.decisions.searches import maker, names
from hlograph.isolation import FlightRecorder, Quarantine
from models.ppo import PPO
from tests.experiments.tiny_run import tiny_config, tiny_rewrite_config

BENCHMARK = "vgg/keras-hub-r1x1x2/forward-b2"

# Merging the exponentials is the best first step by instructions; the sum with zero costs more.
TWO_ZEROS = """HloModule m
ENTRY e {
  x = f32[400] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[400] broadcast(zero), dimensions={}
  left = f32[400] add(x, zeros)
  right = f32[400] negate(left)
  again = f32[400] negate(left)
  ROOT r = (f32[400], f32[400]) tuple(right, again)
}
"""
LEAST = 3  # the parameter, one negation, the tuple


@pytest.fixture
def module() -> Module:
    return Module.from_text(TWO_ZEROS)


@pytest.mark.parametrize("method", names("rewrites"))
@pytest.mark.parametrize("objective", ["op-count", "cost"])
def test_every_method_finds_the_best_of_a_small_program(method, objective, module):
    before = module.fingerprint()
    space = RewriteSpace(module, Budget(calls=2000), objective)
    search(space, maker(method, "rewrites")(space, np.random.default_rng(0)))
    best = space.best
    assert best.op_count == LEAST
    assert space.seconds(best) < space.seconds(space.root)
    again = module.clone()
    for place in best.path():
        again.apply(place)
    assert again.fingerprint() == space.module(best).fingerprint()
    assert space.curve[-1][2] == LEAST
    assert module.fingerprint() == before


def test_two_paths_to_a_state_share_it(module):
    space = RewriteSpace(module, Budget(calls=100))
    first = {rewrite.rule: rewrite.place for rewrite in space.rewrites(space.root)}
    one = space.step(space.root, "algebraic(left)")
    other = space.step(space.root, first["merge"])
    calls = space.budget.calls
    assert space.step(space.root, "algebraic(left)") is one
    assert space.budget.calls == calls == 2
    both = space.step(one, first["merge"])
    assert space.step(other, "algebraic(left)") is both


def test_estimates_of_rewrites_are_exact(module):
    for objective in ("op-count", "cost"):
        space = RewriteSpace(module, Budget(calls=100), objective)
        for rewrite in space.rewrites(space.root):
            child = space.step(space.root, rewrite.place)
            assert space.expected(space.root, rewrite) == pytest.approx(child.value)


def test_the_budget_is_kept(module):
    space = RewriteSpace(module, Budget(calls=2))
    with pytest.raises(BudgetSpentError):
        taken(space, maker("random", "rewrites")(space, np.random.default_rng(0)))
    assert space.budget.calls == 2


@pytest.fixture(scope="module")
def policy() -> TrainedPolicy:
    config = replace(tiny_rewrite_config(), seed=3)
    kind = policy_kind("rewrites", config)
    return TrainedPolicy("rewrites", config, parameters_of(kind.new_policy()))


@pytest.fixture
def worker() -> RolloutWorker:
    return RolloutWorker(tiny_rewrite_config(), FlightRecorder())


def _search(method, **changes) -> SearchTask:
    settings = {"objective": "op-count", "seed": 0, "calls": 60} | changes
    return SearchTask(over="rewrites", benchmark=BENCHMARK, method=method, **settings)


def test_evaluations_have_a_longer_horizon_than_training():
    config = replace(tiny_rewrite_config(), horizon=3, play_horizon=9)
    worker, kind = RolloutWorker(config, FlightRecorder()), policy_kind("rewrites", config)
    horizons = [
        worker.env_maker(kind, [BENCHMARK], Quarantine(), learns=learns)().unwrapped.horizon
        for learns in (True, False)
    ]
    assert horizons == [3, 9]


def test_a_policy_does_nothing_twice_in_a_state(module):
    offered = module.rewrites()[:3]
    judged = ActionProbabilities(offered, np.array([0.5, 0.3, 0.0]), stops=False)
    assert judged.greedy() == offered[0]
    assert judged.greedy({offered[0].place}) == offered[1]
    # What is left is known to fail there.
    assert judged.greedy({offered[0].place, offered[1].place}) is None
    assert ActionProbabilities(offered, np.array([0.2, 0.2, 0.0]), stops=True).greedy() is None


def test_a_policy_plays_as_it_does_in_its_environment(worker, policy):
    found = worker(_search("policy", policy=policy)).outcome
    (expected,) = worker(
        Play(kind="rewrites", parameters=policy.parameters, benchmarks=[BENCHMARK])
    )
    assert found.op_count == expected.op_count
    assert found.passes == expected.passes
    assert found.calls == expected.calls > 0


def test_a_policy_guides_the_tree_search(worker, policy):
    alone = worker(_search("policy", policy=policy)).outcome
    guided = worker(_search("mcts", policy=policy))
    # The first visit plays the policy's own episode.
    assert guided.outcome.op_count <= alone.op_count
    assert guided.outcome.calls == 60
    assert guided.outcome.replay().op_count == guided.outcome.op_count
    assert worker(_search("mcts", policy=policy)).outcome == guided.outcome


def test_the_tree_search_is_no_worse_than_greedy_with_the_same_budget(worker):
    for objective in ("op-count", "cost"):
        greedy, tree = (
            worker(_search(method, calls=200, objective=objective)).outcome
            for method in ("greedy", "mcts")
        )
        ratios = [worker(Estimate(outcome=outcome)) for outcome in (greedy, tree)]
        if objective == "op-count":
            assert tree.op_count <= greedy.op_count
        else:
            assert ratios[1] >= ratios[0] > 1


def test_a_policy_that_orders_passes_does_not_rewrite(module):
    config = tiny_config()
    other = TrainedPolicy("op_counts", config, {})
    with pytest.raises(ValueError, match="rewrites, got op_counts"):
        RewriteGuide(RewriteSpace(module, Budget(calls=1)), other)


def test_what_training_has_seen(policy):
    family, model = BENCHMARK.split("/")[0], BENCHMARK.rsplit("/", 1)[0]
    trained = replace(policy, config=replace(policy.config, benchmarks=(BENCHMARK,)))
    names = [BENCHMARK, f"{model}/other", f"{family}/other/forward", "other/model/forward"]
    assert list(seen_in_training([trained], names).values()) == list(SEEN)
    assert seen_in_training([], names) == {}


def _save(policy: TrainedPolicy, path: Path) -> None:
    kind, network = policy.build()
    ppo = PPO(network, kind.ppo)
    Checkpoint.take(kind, ppo, 1, 8, 0, Quarantine(), None).save(path)


def test_the_study_holds_checked_results_of_every_method(tmp_path, policy):
    checkpoint = tmp_path / "policy.checkpoint"
    _save(policy, checkpoint)
    config = replace(
        REWRITING["quick"],
        benchmarks=(BENCHMARK,),
        other_benchmarks=("hypernetwork/d1/forward",),
        methods=("random", "greedy"),
        references=("xla-simplify",),
        checkpoints=(str(checkpoint),),
        seeds=(0, 1),
        calls=20,
        seconds=None,
        workers="in-process",
        checks=1,
        repetitions=2,
        sample_seconds=0.0,
    )
    study = run(config, tmp_path)
    study.save(tmp_path)
    loaded = Study.load(tmp_path / "study.json")
    groups = ["inference graphs, op-count", "other models and shapes, op-count"]
    assert loaded.groups() == [*groups, *(g.replace("op-count", "cost") for g in groups)]
    searches = [*config.references, "random", "random", "greedy"]
    methods = [[t.method for t in loaded.trials if t.group == g] for g in loaded.groups()]
    # The policy was rewarded for instructions.
    assert methods == [[*searches, "GNN", "GNN mcts"]] * 2 + [searches] * 2
    costs, timed = loaded.measurements["cost_ratios"], loaded.measurements["timed"]
    for trial in loaded.trials:
        assert [check.problem for check in trial.checks] == [None]
        assert trial.method in config.references or trial.outcomes[0].calls <= 20
        assert costs[trial.key].keys() == {trial.outcomes[0].benchmark}
        assert (trial.key in timed) == (trial.seed != 1)
    (greedy,) = loaded.of("greedy", groups[0])
    assert greedy.outcomes[0].op_count < greedy.outcomes[0].start
    assert all(ratio >= 1 for ratio in costs["inference graphs, cost: greedy, seed 0"].values())
    pairs = {(pair["method"], pair["benchmark"]) for pair in loaded.measurements["pairs"]}
    names = {*timed.values(), loaded.measurements["control"]}
    assert pairs == {(m, b) for m in names for b in loaded.references}
    assert not loaded.measurements["left_out"]
    assert set(loaded.measurements["training"]) == set(loaded.references)
    # The same command again finds all done.
    again = run(replace(config, methods=config.methods[::-1]), tmp_path)
    assert {t.key: t.outcomes for t in again.trials} == {t.key: t.outcomes for t in study.trials}
    assert [t.seconds for t in again.of("greedy", groups[0])] == [greedy.seconds]
    assert again.measurements["pairs"] == study.measurements["pairs"]
    (chapter,) = chapters([("rewriting", loaded)])
    table = chapter.sections[0].table
    assert table is not None
    place = list(table.headings).index("run time")
    assert all(row[place] is not None for row in table.rows)
    assert "Seen in training and not" in [section.title for section in chapter.sections]


def test_two_policies_of_one_seed_are_refused(tmp_path, policy):
    paths = [tmp_path / name for name in ("a.checkpoint", "b.checkpoint")]
    for path in paths:
        _save(policy, path)
    with pytest.raises(ValueError, match="other seeds of training"):
        competitors_of(replace(REWRITING["quick"], checkpoints=tuple(map(str, paths))))


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match=r"--methods: expected some of random, .*; got none"):
        competitors_of(replace(REWRITING["quick"], methods=("none", "random")))
