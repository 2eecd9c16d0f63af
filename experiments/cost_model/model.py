"""Models that are trained, and the weights of them that predict without torch."""

import copy

import numpy as np
from torch import nn

from experiments.cost_model.examples import TableColumns, schema
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.profiling.kernel_inputs import KERNEL_NODE_FEATURES, NODE_IDS, NUMBERS, number_names
from hlograph.profiling.learned_weights import LayerWeights, LearnedWeights, TwoLayers
from models.config import CostModelConfig
from models.cost_model import CostModel

_PRIOR = "log_alone"


def new_model(columns: TableColumns, config: CostModelConfig) -> CostModel:
    """Returns a model with random parameters, for kernels as ``kernel_inputs`` makes them."""
    return CostModel(
        schema(),
        len(number_names()),
        len(columns.flags),
        NUMBERS.index(_PRIOR),
        config,
        len(columns.decisions),
    )


def weights_of(model: CostModel, columns: TableColumns) -> LearnedWeights:
    """Returns the weights of a model, with which ``LearnedKernels`` predicts what it does.

    Args:
        model: The model.
        columns: Columns of its tables.

    Raises:
        ValueError: Its encoder has layers for which hlograph has no code of its own.
    """
    encoder = model.encoder.fused_weights()
    if encoder is None:
        raise ValueError("expected an encoder of layers of GATv2 with 8, 16, 32 or 64 channels")
    layers = {"graph": model.vectors, "numbers": model.numbers, "flags": model.flags}
    heads = {"seconds": model.head}
    if model.decisions is not None and model.gain is not None:
        layers["decisions"], heads["gain"] = model.decisions, model.gain
    nodes = tuple(KERNEL_NODE_FEATURES[column] for column in model.encoder.view.columns)
    return LearnedWeights(
        nodes=nodes,
        ids={column: NODE_IDS[column] for column in nodes[: len(encoder.embeddings)]},
        edges=EDGE_TYPES,
        numbers=number_names()[: model.num_numbers],
        prior=number_names()[model.prior],
        conditions=model.conditions,
        flags=columns.flags,
        decisions=columns.decisions,
        outside=model.log_outside.detach().exp().item(),
        encoder=copy.deepcopy(encoder),
        layers={name: _layer(layer) for name, layer in layers.items()},
        heads={name: _head(head) for name, head in heads.items()},
    )


def _layer(layer: nn.Module) -> LayerWeights:
    assert isinstance(layer, nn.Linear)
    return LayerWeights(*(np.array(of.numpy(force=True)) for of in (layer.weight, layer.bias)))


def _head(head: nn.Sequential) -> TwoLayers:
    return TwoLayers(*(_layer(layer) for layer in head if isinstance(layer, nn.Linear)))
