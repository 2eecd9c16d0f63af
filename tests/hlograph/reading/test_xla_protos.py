"""Protos as text, inputs of snapshots, and modules of profiles."""

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format

import hlograph
from hlograph import HloParseError, Module
from hlograph.errors import HloWarning
from hlograph.reading.sources import inputs_in
from hlograph.reading.xla_protos import message_class
from tests.tiny_module import TINY

PROTO = Module.from_text(TINY).to_proto()
GRAPH = Module.from_proto(PROTO).graph()


def _hlo():
    hlo = message_class("xla.HloProto")()
    hlo.hlo_module.ParseFromString(PROTO)
    return hlo


def _snapshot():
    snapshot = message_class("xla.HloSnapshot")()
    snapshot.hlo.CopyFrom(_hlo())
    return snapshot


def _add_argument(literals, kind: int, sizes: list[int], layout: list[int], **values):
    literal = literals.add(**values)
    literal.shape.element_type = kind
    literal.shape.dimensions.extend(sizes)
    literal.shape.layout.minor_to_major.extend(layout)


@pytest.mark.parametrize("message", [_hlo, lambda: _hlo().hlo_module, _snapshot])
def test_protos_as_text(message, tmp_path):
    path = tmp_path / "module.pbtxt"
    path.write_text(f"# proto-file: hlo.proto\n{text_format.MessageToString(message())}")
    assert hlograph.parse(path) == GRAPH
    assert inputs_in(path) is None


def test_fields_of_a_newer_xla_in_text_are_left_out():
    text = text_format.MessageToString(_hlo().hlo_module) + "own_field: 3\n"
    with pytest.warns(HloWarning, match="own_field"):
        assert hlograph.parse(text) == GRAPH


def test_damaged_text_of_a_proto():
    with pytest.raises(HloParseError, match=r"is no xla.HloModuleProto as text: 2:1"):
        hlograph.parse('name: "m"\n} computations {\n')


def test_inputs_of_a_snapshot():
    snapshot = _snapshot()
    _add_argument(snapshot.arguments, 11, [2, 3], [1, 0], f32s=range(6))
    _add_argument(snapshot.arguments, 4, [2, 3], [0, 1], s32s=range(6))
    half = np.array([1, 2], ml_dtypes.bfloat16)
    _add_argument(snapshot.arguments, 16, [2], [0], bf16s=half.tobytes())
    _add_argument(snapshot.arguments, 15, [1], [0], c64s=[1, 2])
    pair = snapshot.arguments.add()
    pair.shape.element_type = 13
    _add_argument(pair.tuple_literals, 1, [], [], preds=[True])
    expected = [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=np.int32).reshape(3, 2).T,
        half,
        np.array([1 + 2j], np.complex64),
        np.array(True),
    ]
    inputs = inputs_in(snapshot.SerializeToString())
    assert inputs is not None
    assert len(inputs) == len(expected)
    for array, other in zip(inputs, expected, strict=True):
        assert array.dtype == other.dtype
        assert np.array_equal(array, other)
    assert hlograph.parse(snapshot.SerializeToString()) == GRAPH


@pytest.mark.parametrize("kind", [11, 17])
def test_inputs_that_cannot_be_read_are_errors(kind):
    snapshot = _snapshot()
    _add_argument(snapshot.arguments, kind, [4], [0], f32s=range(3))
    with pytest.raises(HloParseError, match="expected"):
        inputs_in(snapshot.SerializeToString())


@pytest.mark.parametrize(
    ("kind", "values"), [(16, {"bf16s": b"abc"}), (15, {"c64s": [1.0, 2.0, 3.0]})]
)
def test_values_that_are_cut_off_are_errors(kind, values):
    snapshot = _snapshot()
    _add_argument(snapshot.arguments, kind, [1], [0], **values)
    with pytest.raises(HloParseError, match="expected the values of an array"):
        inputs_in(snapshot.SerializeToString())


def test_negative_sizes_are_errors():
    snapshot = _snapshot()
    _add_argument(snapshot.arguments, 11, [-1, -4], [1, 0], f32s=range(4))
    with pytest.raises(HloParseError, match="elements of an array"):
        inputs_in(snapshot.SerializeToString())


def test_other_sources_have_no_inputs(tmp_path):
    (tmp_path / "tiny.hlo").write_text(TINY)
    for source in (TINY, PROTO, tmp_path / "tiny.hlo", _hlo().SerializeToString()):
        assert inputs_in(source) is None


def _profile(*names: str) -> bytes:
    space = message_class("tensorflow.profiler.XSpace")()
    space.planes.add(id=1, name="/host:CPU")
    plane = space.planes.add(id=2, name="/host:metadata")
    plane.stat_metadata[7].name = "Hlo Proto"
    for number, name in enumerate(names):
        event = plane.event_metadata[number]
        event.name = name
        hlo = _hlo()
        hlo.hlo_module.name = name.partition("(")[0]
        event.stats.add(metadata_id=7, bytes_value=hlo.SerializeToString())
    return space.SerializeToString()


def test_modules_of_a_profile(tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(_profile("jit_f(1)"))
    assert Module.read(path).name == "jit_f"
    path.write_bytes(_profile("jit_f(1)", "jit_g(2)"))
    with pytest.raises(HloParseError, match=r"2 modules: 0: 'jit_f\(1\)', 1: 'jit_g\(2\)'\."):
        hlograph.parse(path)
    assert Module.read(path, module="jit_g(2)").name == "jit_g"
    assert [module.name for module in Module.read_all(path)] == ["jit_f", "jit_g"]
    with pytest.raises(HloParseError, match="a profile without modules"):
        hlograph.parse(_profile())
