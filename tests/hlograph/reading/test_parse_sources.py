"""hlograph.parse: the same graph from every kind of source."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

import hlograph
from hlograph import HloGraph, Module
from hlograph.reading.sources import read_source
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import edges


@pytest.fixture(scope="module")
def expected() -> HloGraph:
    return hlograph.parse(samples.WHILE)


@pytest.fixture(scope="module")
def proto() -> bytes:
    return Module.from_text(samples.WHILE).to_proto()


@pytest.mark.parametrize("kind", [str, str.encode, lambda s: bytearray(s.encode())])
def test_text(expected, kind):
    assert hlograph.parse(kind(samples.WHILE)) == expected


def test_proto(expected, proto):
    assert hlograph.parse(proto) == expected
    assert hlograph.parse(memoryview(proto)) == expected


def test_module(expected):
    assert hlograph.parse(Module.from_text(samples.WHILE)) == expected


def _message(content: bytes) -> bytes:
    """Returns a protobuf message with `content` as its field 1."""
    length = bytearray()
    rest = len(content)
    while rest >= 0x80:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return b"\x0a" + bytes(length) + content


def test_protos_of_xla_dumps(expected, proto):
    """--xla_dump_hlo_as_proto writes an HloProto, --xla_dump_hlo_snapshots an HloSnapshot."""
    assert hlograph.parse(_message(proto)) == expected
    assert hlograph.parse(_message(_message(proto)) + b"\x22\x04Host") == expected


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("suffix", [".hlo", ".txt", ".pb", ".gz", ".zst", ""])
def test_paths_whatever_the_suffix(expected, proto, tmp_path, compress, suffix):
    path = tmp_path / f"module{suffix}"
    for content in (samples.WHILE.encode(), proto):
        path.write_bytes(compress(content))
        assert hlograph.parse(path) == expected
        assert hlograph.parse(str(path)) == expected
        assert Module.load(path).graph() == expected


def test_compressed_bytes(expected):
    assert hlograph.parse(gzip.compress(samples.WHILE.encode())) == expected


def test_zstd_of_several_frames(expected):
    text = samples.WHILE.encode()
    frames = zstandard.compress(text[:100]) + zstandard.compress(text[100:])
    assert hlograph.parse(frames) == expected


def test_text_that_starts_with_comments_or_a_mark(expected):
    assert hlograph.parse(f"// module @x\n/* stablehlo.add\n */{samples.WHILE}") == expected
    assert hlograph.parse(b"\xef\xbb\xbf" + samples.WHILE.strip().encode()) == expected


def test_text_with_other_letters():
    text = 'HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0), metadata={op_name="é"}\n}'
    assert hlograph.parse(text).num_nodes == 2


def test_hlo_text_that_mentions_stablehlo():
    text = """HloModule m

ENTRY e {
  p = f32[2] parameter(0)
  ROOT c = f32[2] custom-call(p), custom_call_target="x", backend_config="module @stablehlo.add"
}"""
    assert read_source(text)[0] == "text"
    assert hlograph.parse(text).num_nodes == 3


@pytest.fixture(scope="module")
def lowered():
    import jax
    import jax.numpy as jnp

    return jax.jit(lambda x: jnp.sin(x) @ x).lower(jnp.ones((3, 3)))


def test_jax_lowered(lowered):
    graph = hlograph.parse(lowered)
    opcodes = [graph.opcode_name(i) for i in range(graph.num_nodes)]
    assert opcodes == ["parameter", "sine", "dot", "computation"]
    assert Module.from_jax(lowered).graph() == graph


SHARDED_PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import hlograph

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
sharding = NamedSharding(mesh, PartitionSpec("a", "b"))
lowered = jax.jit(lambda x: jnp.sin(x) @ x.T, in_shardings=sharding).lower(jnp.ones((4, 8)))
module = hlograph.Module.from_jax(lowered)
print(module.to_text().splitlines()[0])
print(hlograph.Module.read(lowered.as_text()).to_text().splitlines()[0])
from jax import export
from jax._src.interpreters.mlir import module_to_bytecode

stablehlo = module_to_bytecode(lowered.compiler_ir("stablehlo"))
print(hlograph.Module.read(stablehlo).to_text().splitlines()[0])
exported = export.export(jax.jit(lambda x: jnp.sin(x) @ x.T, in_shardings=sharding))(
    jax.ShapeDtypeStruct((4, 8), "float32")
)
print(hlograph.Module.read(exported.mlir_module_serialized).to_text().splitlines()[0])
print(hlograph.parse(lowered) == module.graph())
print(hlograph.corpus.from_source("step", lowered).load().to_text() == module.to_text())
"""


def test_device_counts_of_a_sharded_jax_lowering():
    done = subprocess.run(
        [sys.executable, "-c", SHARDED_PROGRAM],
        env=os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        capture_output=True,
        text=True,
        check=True,
    )
    *headers, same_graph, same_benchmark = done.stdout.splitlines()
    assert len(headers) == 4  # of the lowering, its text, its bytecode and an exported artifact
    for header in headers:
        assert ", num_partitions=4" in header
        assert "replica_count" not in header
    assert (same_graph, same_benchmark) == ("True", "True")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", ""),
        ("attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}", ""),
        ("attributes {mhlo.num_partitions = 8 : i32}", "num_partitions=8"),
        ("attributes {mhlo.num_replicas = 2 : i32}", "replica_count=2"),
    ],
)
def test_device_counts_of_stablehlo(attributes, expected):
    text = f"module @m {attributes} {{\n  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n"
    text += "    return %x : tensor<2xf32>\n  }\n}\n"
    header = Module.read(text).to_text().splitlines()[0]
    counts = re.findall(r"(?:replica_count|num_partitions)=\d+", header)
    assert counts == ([expected] if expected else [])


def test_stablehlo_text_and_bytecode(lowered, tmp_path):
    from jax import export
    from jax._src.interpreters.mlir import module_to_bytecode

    graph = hlograph.parse(lowered)
    text = lowered.as_text()
    for source in (text, text.encode(), f"// comment\n\n{text}"):
        assert read_source(source)[0] == "proto"
        assert _opcodes(hlograph.parse(source)) == _opcodes(graph)
    path = tmp_path / "module.mlir"
    path.write_text(text)
    assert _opcodes(hlograph.parse(path)) == _opcodes(graph)
    bytecode = module_to_bytecode(lowered.compiler_ir("stablehlo"))
    assert _opcodes(hlograph.parse(bytecode)) == _opcodes(graph)
    import jax

    exported = export.export(jax.jit(lambda x: x @ x))(jax.ShapeDtypeStruct((3, 3), "float32"))
    assert _opcodes(hlograph.parse(exported.mlir_module_serialized))[:2] == ["parameter", "dot"]


def _opcodes(graph: HloGraph) -> list[str]:
    return [graph.opcode_name(i) for i in range(graph.num_nodes)]


@pytest.mark.parametrize("name", samples.ALL)
def test_proto_and_text_round_trips(name):
    module = Module.from_text(samples.ALL[name])
    graph = module.graph()
    assert hlograph.parse(module.to_proto()) == graph
    # The text lists computations in another order, and may number nodes in another.
    reparsed = hlograph.parse(module.to_text())
    assert edges(reparsed) == edges(graph)
    assert sorted(map(reparsed.name, range(reparsed.num_nodes))) == sorted(
        map(graph.name, range(graph.num_nodes))
    )


def test_path_objects_of_any_kind(expected, tmp_path):
    class Place:
        def __fspath__(self) -> str:
            return str(tmp_path / "m.hlo")

    Path(tmp_path / "m.hlo").write_text(samples.WHILE)
    assert hlograph.parse(Place()) == expected
