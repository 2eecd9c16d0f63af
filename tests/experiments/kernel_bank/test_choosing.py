"""Choice of the kernels to measure next."""

import numpy as np

from experiments.cost_model.settings import TrainingConfig
from experiments.kernel_bank.choosing import OpcodeErrors, chosen, curve
from experiments.kernel_bank.origins import Origin
from experiments.kernel_bank.settings import ChooseConfig, CurveConfig
from models.config import CostModelConfig, GATConfig
from tests.experiments.cost_model.data import KERNELS
from tests.experiments.kernel_bank.data import bank

SHAPE = CostModelConfig(gat=GATConfig(layers=1, heads=2, head_width=8), hidden=32, dropout=0.0)


def test_kernels_like_those_that_are_predicted_wrong_are_worth_more():
    times = bank(30, 0)

    def guessed(variant):
        return variant.seconds * (4 if "sine(" in times.kernels[variant.kernels[0].number] else 1.1)

    predicted = [np.array([guessed(v) for v in kernel.variants]) for kernel in times.measured]
    wrong = OpcodeErrors(times, predicted)
    sine = next(text for text in KERNELS if " sine(" in text)
    negate = next(text for text in KERNELS if " negate(" in text)
    assert wrong(sine) > 2 * wrong(negate)
    assert wrong(negate) < wrong("%n1 = f32[] unknown(%n0)") < wrong(sine)


def test_only_kernels_for_training_are_chosen(tmp_path):
    origins = [Origin(text, "a", "test" if n % 2 else "train") for n, text in enumerate(KERNELS)]
    config = ChooseConfig(tmp_path, kernels=4, training=TrainingConfig(epochs=2), model=SHAPE)
    kernels = chosen(bank(20, 0), bank(9, 1, "b"), origins, config)
    assert len(set(kernels)) == 4
    assert {kernel.split for kernel in kernels} == {"train"}


def test_a_curve_has_both_ways_to_take_kernels():
    config = CurveConfig(training=TrainingConfig(epochs=1), model=SHAPE)
    text = curve(bank(32, 0), bank(6, 1, "b"), bank(6, 2, "c"), config)
    rows = [[cell.strip() for cell in row.split("|")[1:3]] for row in text.splitlines()[2:]]
    assert rows == [
        *(["2", "at random"], ["4", "by choice"], ["4", "at random"], ["8", "by choice"]),
        *(["8", "at random"], ["16", "by choice"], ["16", "at random"], ["32", "all"]),
    ]
