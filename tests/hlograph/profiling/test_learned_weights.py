"""Files of learned cost models."""

from dataclasses import replace

import numpy as np
import pytest

from hlograph.errors import DamagedFileError, HloError
from hlograph.graph.edge_labels import POSITION_BUCKETS
from hlograph.graph.vocabulary import OPCODES
from hlograph.profiling import learned_weights
from hlograph.profiling.kernel_inputs import NODE_IDS
from hlograph.profiling.learned_seconds import LearnedKernels
from hlograph.profiling.learned_weights import LearnedWeights
from hlograph.storage.checked_file import write_checked


@pytest.fixture(scope="module")
def weights():
    return LearnedKernels.load().weights


def test_a_file_holds_the_same_weights(weights, tmp_path):
    path = tmp_path / "model.weights"
    weights.save(path)
    again = LearnedWeights.load(path)
    assert again.flags == weights.flags
    assert again.ids == weights.ids
    assert list(again.ids) == ["node_type", "opcode", "element_type"]
    assert again.edges == weights.edges
    assert again.outside == weights.outside
    assert again.encoder.shape == weights.encoder.shape
    for one, other in zip(again.encoder.layers, weights.encoder.layers, strict=True):
        np.testing.assert_array_equal(one.label, other.label)
        assert one.projection.epsilon == other.projection.epsilon
    np.testing.assert_array_equal(again.layers["graph"].weight, weights.layers["graph"].weight)
    other = tmp_path / "other.weights"
    again.save(other)
    assert other.read_bytes() == path.read_bytes()


def test_damaged_files_are_refused(weights, tmp_path):
    path = tmp_path / "model.weights"
    with pytest.raises(FileNotFoundError):
        LearnedKernels.load(path)
    weights.save(path)
    content = path.read_bytes()
    for damaged in (content[:-100], content[:-1] + b"x", b"", b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match=r"model\.weights"):
            LearnedKernels.load(path)


@pytest.mark.parametrize(("kind", "version"), [("rates", 2), ("cost-model", 1), ("cost-model", 3)])
def test_files_of_other_kinds_and_versions_are_refused(kind, version, tmp_path):
    path = tmp_path / "model.weights"
    write_checked(path, kind, version, b"")
    with pytest.raises(DamagedFileError, match="cost-model"):
        LearnedKernels.load(path)


def test_another_content_is_refused(tmp_path):
    path = tmp_path / "model.weights"
    write_checked(path, "cost-model", 2, b"no arrays")
    with pytest.raises(DamagedFileError, match="holds no cost model"):
        LearnedKernels.load(path)


@pytest.mark.parametrize("changed", [{"nodes": ("opcode", "colour")}, {"numbers": ("log_alone",)}])
def test_a_model_of_other_kernels_is_refused(weights, changed, tmp_path):
    path = tmp_path / "model.weights"
    replace(weights, **changed).save(path)
    with pytest.raises(DamagedFileError, match="does not fit"):
        LearnedKernels.load(path)


def with_ids(weights, column, names):
    """Returns weights whose embedding of a column has a row for each of these names."""
    place = list(weights.ids).index(column)
    embeddings = list(weights.encoder.embeddings)
    embeddings[place] = np.resize(embeddings[place], (len(names), embeddings[place].shape[1]))
    encoder = replace(weights.encoder, embeddings=embeddings)
    return replace(weights, ids={**weights.ids, column: tuple(names)}, encoder=encoder)


def with_labels(weights, count):
    """Returns weights whose encoder knows so many labels of edges."""
    layers = [
        layer._replace(label=np.resize(layer.label, (count, layer.label.shape[1])))
        for layer in weights.encoder.layers
    ]
    return replace(weights, encoder=replace(weights.encoder, layers=layers))


def with_inputs(weights, name, count):
    """Returns weights one of whose layers has so many inputs."""
    layer = weights.layers[name]
    other = layer._replace(weight=np.resize(layer.weight, (len(layer.weight), count)))
    return replace(weights, layers={**weights.layers, name: other})


OTHERS = {
    "an opcode less": (
        lambda w: with_ids(w, "opcode", [name for name in OPCODES if name != "scan"]),
        "expected 'scan' as opcode",
    ),
    "an opcode more": (
        lambda w: with_ids(w, "opcode", [*OPCODES, "computation", "sigmoid"]),
        f"expected None as opcode {len(OPCODES) + 1} of {len(OPCODES) + 1}, got 'sigmoid'",
    ),
    "an opcode of another name": (
        lambda w: with_ids(w, "opcode", ["abs", "arccos", *w.ids["opcode"][2:]]),
        f"expected 'acos' as opcode 1 of {len(OPCODES) + 1}, got 'arccos'",
    ),
    "opcodes in another order": (
        lambda w: with_ids(w, "opcode", sorted(w.ids["opcode"], reverse=True)),
        "expected 'abs' as opcode 0",
    ),
    "an element type less": (
        lambda w: with_ids(w, "element_type", w.ids["element_type"][:-1]),
        "as element_type",
    ),
    "other types of nodes": (
        lambda w: with_ids(w, "node_type", ["instruction", "parameter"]),
        "expected 'constant' as node_type 2 of 4, got None of 2",
    ),
    "other types of edges": (
        lambda w: with_labels(replace(w, edges=w.edges[:3]), 2 * 3 * POSITION_BUCKETS),
        "as edge type 3",
    ),
    "no embedding": (
        lambda w: replace(w, ids={c: n for c, n in w.ids.items() if c != "element_type"}),
        "as column of ids 2",
    ),
    "rows without a name": (
        lambda w: replace(with_ids(w, "opcode", [*w.ids["opcode"], "more"]), ids=w.ids),
        "rows of the embedding of opcode",
    ),
    "labels without a type": (lambda w: with_labels(w, 7), "labels of edges, got 7"),
    "a column less": (lambda w: replace(w, nodes=w.nodes[:-1]), "columns of features"),
    "columns in another order": (
        lambda w: replace(w, nodes=(*w.nodes[1:], w.nodes[0])),
        "as column of nodes 0",
    ),
    "a number less": (lambda w: replace(w, numbers=w.numbers[:-1]), "inputs of the layer numbers"),
    "a flag more": (lambda w: with_inputs(w, "flags", 50), "inputs of the layer flags, got 50"),
    "no prior": (lambda w: replace(w, prior="log_alone"), "expected a prior among"),
    "other conditions": (lambda w: replace(w, conditions=("alone",)), "runs within programs"),
    "a condition more": (
        lambda w: replace(w, conditions=("within", "alone")),
        "expected 2 outputs of the head seconds, got 1",
    ),
    "a stage more": (
        lambda w: replace(w, decisions=("colour red",)),
        "expected stages of decisions among steps, layout, fusion, kernel, flags, got colour",
    ),
    "decisions without a layer": (
        lambda w: replace(w, decisions=("fusion unfuse",)),
        "expected 'decisions' as layer",
    ),
}


@pytest.mark.parametrize(("other", "told"), OTHERS.values(), ids=OTHERS)
def test_models_of_other_vocabularies_are_refused(weights, other, told, tmp_path):
    path = tmp_path / "model.weights"
    other(weights).save(path)
    with pytest.raises(DamagedFileError) as caught:
        LearnedKernels.load(path)
    message = str(caught.value)
    assert told in message
    assert message.startswith(f"{path} does not fit this hlograph")
    assert "python -m experiments.cost_model train" in message


def test_the_model_of_hlograph_is_refused_by_one_with_another_opcode(monkeypatch):
    ids = {**NODE_IDS, "opcode": ("abacus", *NODE_IDS["opcode"])}
    monkeypatch.setattr(learned_weights, "NODE_IDS", ids)
    with pytest.raises(HloError, match=r"expected 'abacus' as opcode 0 of .*, got 'abs' of"):
        LearnedKernels.load()
