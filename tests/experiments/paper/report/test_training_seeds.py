"""Policies of several training seeds as one method."""

from dataclasses import replace

from experiments.paper.checkpoints import labelled
from experiments.paper.report.chapters import together
from experiments.paper.settings import without_training_seed
from tests.experiments.paper.report.known_study import GROUP, known_study


def test_policies_of_all_seeds_are_one_method():
    study = known_study("search")
    first, second, other = study.trials
    seeded = [
        replace(first, method="GNN mcts"),
        replace(second, method="GNN (training seed 1) mcts", seed=0),
        replace(second, method="GNN (training seed 1) policy", seed=0),
        other,
    ]
    joined = together(replace(study, trials=seeded))
    assert joined.methods(GROUP) == ["GNN mcts", "GNN policy", "op counts"]
    assert [(t.seed, t.outcomes) for t in joined.of("GNN mcts", GROUP)] == [
        (0, first.outcomes),
        (1, second.outcomes),
    ]
    assert [t.seed for t in joined.of("op counts", GROUP)] == [0]


def test_names_of_checkpoints_lose_the_seed_of_their_training():
    names = labelled(["gnn-seed0", "gnn-seed1", "op-counts-seed1"])
    assert len(names) == 3
    assert {without_training_seed(name) for name in names} == {"GNN", "op counts"}
