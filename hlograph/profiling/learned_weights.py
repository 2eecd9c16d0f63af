"""A learned cost model of kernels as arrays and names, which a file holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hlograph.graph.dense import Normalised
from hlograph.graph.edge_labels import POSITION_BUCKETS
from hlograph.graph.encoding import AttentionLayer, EncoderWeights
from hlograph.graph.pooling import PoolingShape
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.plans.knobs import STAGES
from hlograph.profiling.kernel_inputs import KERNEL_NODE_FEATURES, NODE_IDS, number_names
from hlograph.storage.array_file import read_arrays, write_arrays

Floats = NDArray[np.float32]

_KIND, _VERSION = "cost-model", 2


class LayerWeights(NamedTuple):
    """A fully connected layer; I inputs, O outputs.

    Attributes:
        weight: float32 ``[O, I]``.
        bias: float32 ``[O]``.
    """

    weight: Floats
    bias: Floats


class TwoLayers(NamedTuple):
    """Two layers, with a ReLU before each.

    Attributes:
        hidden: From vectors of kernels.
        output: To the results.
    """

    hidden: LayerWeights
    output: LayerWeights


@dataclass(frozen=True, eq=False)
class LearnedWeights:
    """A learned cost model, as numbers; ``hlograph.profiling.learned_seconds`` computes with it."""

    nodes: tuple[str, ...]
    """Names of the columns of nodes that the encoder sees, of ``KERNEL_NODE_FEATURES``."""
    ids: Mapping[str, tuple[str, ...]]
    """Names of the ids of the first of these columns, which have an embedding each, in the order
    of its rows."""
    edges: tuple[str, ...]
    """Types of edges, in the order of the labels that the encoder's layers see."""
    numbers: tuple[str, ...]
    """Names of the numbers of a kernel that it sees, of ``number_names()``."""
    prior: str
    """Name of the one of them that is a prediction of the logarithm of a kernel's seconds."""
    conditions: tuple[str, ...]
    """Conditions of a run, in the order of the outputs of ``seconds``."""
    flags: tuple[str, ...]
    """Columns of the table of flags (``hlograph.profiling.plan_words``)."""
    decisions: tuple[str, ...]
    """Columns of the table of decisions; none if the model predicts nothing of them."""
    outside: float
    """Seconds of a run outside of its kernels."""
    encoder: EncoderWeights
    """Encoder of a kernel's graph."""
    layers: Mapping[str, LayerWeights]
    """Layers that map the encoded graph, the numbers, flags and decisions to vectors of one width,
    which are added: ``graph``, ``numbers``, ``flags``, and ``decisions`` if there are any."""
    heads: Mapping[str, TwoLayers]
    """``seconds``: logarithms of the factors by which the prior is off, by condition; ``gain``, if
    there are decisions: the logarithm of the ratio default / decision."""

    def check(self) -> None:
        """Checks that the names are those of this hlograph, and that the arrays fit the names.

        Raises:
            ValueError: They do not.
        """
        _check_known("columns of nodes", self.nodes, KERNEL_NODE_FEATURES)
        _check_known("numbers", self.numbers, number_names())
        _check_known("a prior", [self.prior], self.numbers)
        _check_known("stages of decisions", map(_stage, self.decisions), STAGES)
        if "within" not in self.conditions:
            raise ValueError(f"expected runs within programs, got {', '.join(self.conditions)}")
        with_ids = [column for column in NODE_IDS if column in self.nodes]
        _check_same("column of ids", list(self.ids), with_ids)
        _check_same("column of nodes", self.nodes[: len(with_ids)], with_ids)
        for column, names in self.ids.items():
            _check_same(column, names, NODE_IDS[column])
        _check_same("edge type", self.edges, EDGE_TYPES)
        self._check_encoder()
        self._check_layers()

    def _check_encoder(self) -> None:
        encoder = self.encoder
        _check_size("embeddings", len(encoder.embeddings), len(self.ids))
        for embedding, (column, names) in zip(encoder.embeddings, self.ids.items(), strict=True):
            _check_size(f"rows of the embedding of {column}", len(embedding), len(names))
        features = len(self.nodes) - len(self.ids)
        _check_size("columns of features", encoder.features.shape[1], features)
        labels = len(self.edges) * POSITION_BUCKETS
        for layer in encoder.layers:
            # As the targets of edges see them, and those of the other direction behind them.
            _check_size("labels of edges", len(layer.label), labels, 2 * labels)

    def _check_layers(self) -> None:
        shape = self.encoder.shape
        inputs = {
            "graph": shape.heads * shape.width + shape.kinds + 1,
            "numbers": len(self.numbers),
            "flags": len(self.flags),
        }
        outputs = {"seconds": len(self.conditions)}
        if self.decisions:
            inputs["decisions"], outputs["gain"] = len(self.decisions), 1
        _check_same("layer", sorted(self.layers), sorted(inputs))
        _check_same("head", sorted(self.heads), sorted(outputs))
        width = len(self.layers["graph"].weight)
        for name, layer in self.layers.items():
            _check_size(f"inputs of the layer {name}", layer.weight.shape[1], inputs[name])
            _check_size(f"outputs of the layer {name}", len(layer.weight), width)
        for name, head in self.heads.items():
            _check_size(f"inputs of the head {name}", head.hidden.weight.shape[1], width)
            _check_size(f"outputs of the head {name}", len(head.output.weight), outputs[name])

    def save(self, path: Path) -> None:
        """Writes the model to a file.

        Raises:
            OSError: It cannot be written.
        """
        write_arrays(path, _KIND, _VERSION, self)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file that ``save`` wrote.

        Raises:
            DamagedFileError: The file is another one, of another version, or damaged.
            OSError: It cannot be read.
        """
        with read_arrays(path, _KIND, _VERSION) as content:
            content |= {
                "ids": {column: tuple(names) for column, names in content["ids"].items()},
                "encoder": _encoder(content["encoder"]),
                "layers": {name: LayerWeights(**of) for name, of in content["layers"].items()},
                "heads": {name: _head(of) for name, of in content["heads"].items()},
            }
            return cls(**{name: _hashable(value) for name, value in content.items()})


def _encoder(content: Mapping[str, Any]) -> EncoderWeights:
    layers = [
        AttentionLayer(**{**layer, "projection": Normalised(**layer["projection"])})
        for layer in content["layers"]
    ]
    pooling, shape = Normalised(**content["pooling"]), PoolingShape(**content["shape"])
    return EncoderWeights(**{**content, "layers": layers, "pooling": pooling, "shape": shape})


def _head(content: Mapping[str, Any]) -> TwoLayers:
    return TwoLayers(**{name: LayerWeights(**layer) for name, layer in content.items()})


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _stage(word: str) -> str:
    return word.partition(" ")[0]


def _check_known(what: str, names: Iterable[str], known: Sequence[str]) -> None:
    if others := [name for name in dict.fromkeys(names) if name not in known]:
        raise ValueError(f"expected {what} among {', '.join(known)}, got {', '.join(others)}")


def _check_same(what: str, names: Sequence[str], expected: Sequence[str]) -> None:
    for number, (name, own) in enumerate(zip_longest(names, expected)):
        if name != own:
            raise ValueError(
                f"expected {own!r} as {what} {number} of {len(expected)}, got {name!r} of "
                f"{len(names)}"
            )


def _check_size(what: str, size: int, *expected: int) -> None:
    if size not in expected:
        raise ValueError(f"expected {' or '.join(map(str, expected))} {what}, got {size}")
