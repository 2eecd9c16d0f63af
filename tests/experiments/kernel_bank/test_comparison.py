"""Models that learn from a bank whose times are known."""

import numpy as np
import pytest

from experiments.cost_model.settings import TrainingConfig, TreesConfig
from experiments.cost_model.trees import TreeLearning
from experiments.kernel_bank.comparison import compared, doubts, ensemble
from experiments.kernel_bank.metrics import errors
from experiments.kernel_bank.networks import BankLearning, bank_data, gains_of_words
from experiments.kernel_bank.settings import CompareConfig
from models.config import CostModelConfig, GATConfig
from tests.experiments.cost_model.data import KERNELS, seconds_of
from tests.experiments.kernel_bank.data import DECISIONS, bank

SHAPE = CostModelConfig(gat=GATConfig(layers=1, heads=2, head_width=8), hidden=32, dropout=0.0)
TRAINING = TrainingConfig(epochs=60, alone=8, learning_rate=1e-2)


HELD_OUT = bank(12, 1, "b")


@pytest.fixture(scope="module")
def learning():
    return BankLearning(bank_data(bank(60, 0), HELD_OUT))


@pytest.fixture(scope="module")
def network(learning):
    return learning.trained(TRAINING, SHAPE, 0)


def test_a_network_learns_what_decisions_bring(learning, network):
    gains = np.array([np.log(each) for each in learning.gains(network)])
    expected = np.log([1.0, *(factor for _, factor in DECISIONS.values())])
    np.testing.assert_allclose(gains, np.broadcast_to(expected, gains.shape), atol=0.2)


def test_a_network_learns_seconds(learning, network):
    off = np.array(errors(HELD_OUT.measured, learning.seconds(network)))
    # Decisions that are in neither kernel nor flags cannot be seen.
    assert np.abs(off[:, :2]).mean() < 0.3


def test_trees_learn_seconds(learning):
    trees = TreeLearning(learning.data, TreesConfig())
    grown = trees.seconds()
    predicted = trees.predicted_seconds(grown, learning.data.held_out)
    off = np.array(errors(HELD_OUT.measured, predicted))
    assert np.abs(off[:, :2]).mean() < 0.3
    ((alone,),) = trees.predicted_alone([grown], [KERNELS[5]])
    assert np.log(alone) == pytest.approx(np.log(10 * seconds_of(5)), abs=0.7)


def test_trees_of_other_seeds_and_parts_differ(learning):
    trees = TreeLearning(learning.data, TreesConfig(rounds=20))
    first, again, other, part = (
        drawn.predicted_seconds(drawn.seconds(), learning.data.held_out)
        for drawn in (
            trees.redrawn(0),
            trees.redrawn(0),
            trees.redrawn(1),
            trees.redrawn(0, range(30)),
        )
    )
    np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))
    assert not np.array_equal(np.concatenate(first), np.concatenate(other))
    assert not np.array_equal(np.concatenate(first), np.concatenate(part))


def test_trees_and_words_learn_what_decisions_bring(learning):
    expected = [1.0, *(factor for _, factor in DECISIONS.values())]
    trees = TreeLearning(learning.data, TreesConfig())
    of_trees = trees.predicted_gains(trees.gains(), learning.data.held_out)
    for gains in (of_trees, gains_of_words(learning.data)):
        for predicted in gains:
            np.testing.assert_allclose(np.log(predicted), np.log(expected), atol=0.15)


def test_parts_of_the_kernels_are_learned(learning):
    few = TrainingConfig(epochs=1)
    part = learning.trained(few, SHAPE, 0, range(8)).model.state_dict()
    whole = learning.trained(few, SHAPE, 0).model.state_dict()
    assert any((part[name] != whole[name]).any() for name in part)


def test_doubt_is_how_far_members_are_apart():
    members = [[np.array([1.0, 4.0])], [np.array([1.0, 1.0])]]
    (mean,) = ensemble(members)
    (doubt,) = doubts(members)
    np.testing.assert_allclose(mean, [1, 2])
    np.testing.assert_allclose(doubt, [0, np.log(2)])


def test_all_models_are_compared():
    config = CompareConfig(
        seeds=(0, 1), ablations=True, training=TrainingConfig(epochs=2), model=SHAPE
    )
    result = compared(bank(20, 0), bank(9, 1, "b"), config)
    models, doubt = result.tables().split("\n\n")
    names = [row.split("|")[1].strip() for row in models.splitlines()[2:]]
    assert names == [
        *("no model", "number of instructions", "roofline of XLA's cost analysis"),
        *("rates of work", "gradient-boosted trees", "gradient-boosted trees, decisions alone"),
        *("mean of each word, decisions alone", "gradient-boosted trees, without scaled kernels"),
        *("network, seed 0", "network, seed 0, decisions alone"),
        *("network, seed 1", "network, seed 1, decisions alone", "ensemble of networks"),
        *("ensemble of networks, without edges", "ensemble of networks, op counts for the graph"),
        "ensemble of networks, without scaled kernels",
        "half of the measurements by the other half",
    ]
    assert models.splitlines()[-1].split("|")[2].strip() == "1.000"
    assert sum(int(row.split("|")[2]) for row in doubt.splitlines()[2:]) == 36
    page, picture = result.page("python -m experiments.kernel_bank compare")
    assert models in page
    assert f"({picture.name}.svg)" in page
    assert picture.svg().startswith(b"<?xml")


def test_trees_are_compared_without_networks():
    result = compared(bank(20, 0), bank(9, 1, "b"), CompareConfig(seeds=()))
    page, _ = result.page("python -m experiments.kernel_bank compare --seeds")
    assert "| gradient-boosted trees |" in page
    assert "network" not in page
