"""Weights of trained models predict without torch what the models do."""

import numpy as np
import pytest
import torch

from experiments.cost_model.examples import TableColumns, WordTable
from experiments.cost_model.model import new_model, weights_of
from hlograph.corpus import plan_times
from hlograph.profiling.kernel_inputs import kernel_inputs
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.learned_seconds import LearnedKernels
from hlograph.profiling.plan_words import decision_words, flag_words
from models.config import CostModelConfig, GATConfig

FLAGS = {"wide": True, "level": 2}
DECISIONS = [{}, {"flags wide": "true"}, {"fusion n1": "unfuse"}, {"fusion n1": "of another kind"}]
COLUMNS = TableColumns(
    tuple(flag_words({"wide": True, "level": 1, "other": False})),
    tuple(sorted({*decision_words(DECISIONS[1]), *decision_words(DECISIONS[2])})),
)
CONFIGS = {
    "default": CostModelConfig(),
    "two layers": CostModelConfig(gat=GATConfig(layers=2, heads=2, head_width=8), hidden=32),
    "without neighbours": CostModelConfig(gat=GATConfig(neighbour_features=False)),
    "one direction": CostModelConfig(gat=GATConfig(reverse_edges=False, operand_positions=False)),
    "opcodes alone": CostModelConfig(gat=GATConfig(attributes=False)),
}


@pytest.fixture(scope="module")
def kernels():
    texts = plan_times.load("validation").kernels
    some = [*texts[:: len(texts) // 60], "while"]
    return [KernelModule(f"k{number}", text, 1.0 + number) for number, text in enumerate(some)]


def model_of(config):
    """Returns a model whose parameters were changed as training does, so that none are zero."""
    torch.manual_seed(0)
    model = new_model(COLUMNS, config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        model.log_outside.fill_(np.log(3e-6))
    return model


def rows_of(columns, *words):
    table = WordTable(columns)
    for each in words:
        table.row(each)
    return table.table()


@torch.inference_mode()
def vectors_of(model, kernels):
    states = model.encoder.store()
    inputs = [kernel_inputs(kernel.text) for kernel in kernels]
    states.add(inputs)
    numbers = torch.from_numpy(np.stack([kernel.numbers for kernel in inputs]))
    return model.kernel_vectors(states, numbers, torch.arange(len(states))), numbers


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@torch.inference_mode()
def test_seconds_are_those_of_torch(config, kernels):
    model = model_of(config)
    vectors, numbers = vectors_of(model, kernels)
    flags = rows_of(COLUMNS.flags, flag_words(FLAGS)).expand(len(kernels), -1)
    log_seconds = model.log_seconds(vectors, numbers, flags)[:, model.conditions.index("within")]
    calls = torch.tensor([kernel.calls for kernel in kernels])
    expected = (log_seconds.exp() * calls).tolist()
    found = LearnedKernels(weights_of(model, COLUMNS))(kernels, FLAGS)
    assert found.kernels == pytest.approx(expected, rel=1e-5)
    assert found.seconds == pytest.approx(3e-6 + sum(expected), rel=1e-5)


@torch.inference_mode()
def test_gains_are_those_of_torch(kernels):
    model = model_of(CONFIGS["default"])
    vectors, _ = vectors_of(model, kernels)
    decisions = rows_of(COLUMNS.decisions, *map(decision_words, DECISIONS[:3]))
    predict = LearnedKernels(weights_of(model, COLUMNS))
    for kernel, vector in zip(kernels, vectors, strict=True):
        expected = model.log_gains(vector.expand(3, -1), decisions).exp().tolist()
        gains = predict.gains(kernel, DECISIONS)
        # What it never saw is as the default.
        assert gains == pytest.approx([*expected, expected[0]], rel=1e-5)


def test_a_saved_model_predicts_the_same(kernels, tmp_path):
    weights = weights_of(model_of(CONFIGS["two layers"]), COLUMNS)
    weights.save(tmp_path / "model.weights")
    again, expected = LearnedKernels.load(tmp_path / "model.weights"), LearnedKernels(weights)
    assert again(kernels, FLAGS) == expected(kernels, FLAGS)
    assert again.gains(kernels[0], DECISIONS) == expected.gains(kernels[0], DECISIONS)


def test_weights_do_not_change_with_the_model(kernels):
    model = model_of(CONFIGS["default"])
    predict = LearnedKernels(weights_of(model, COLUMNS))
    weights, expected = predict.weights, predict(kernels, {})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert LearnedKernels(weights)(kernels, {}) == expected


@pytest.mark.parametrize(
    "gat", [GATConfig(layer="sage"), GATConfig(layers=0), GATConfig(edges=False)]
)
def test_other_layers_have_no_weights(gat):
    with pytest.raises(ValueError, match="GATv2"):
        weights_of(new_model(COLUMNS, CostModelConfig(gat=gat)), COLUMNS)
