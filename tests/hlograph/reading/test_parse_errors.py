"""hlograph.parse: sources that are not modules give clear errors, never an abort."""

import contextlib
import gzip
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import HloParseError, Module
from hlograph.reading.sources import HloFileNotFoundError
from tests.hlograph import samples

_PROTO = Module.from_text(samples.INDEXING).to_proto()


@pytest.mark.parametrize("source", ["", "  \n\t", b"", b"\n", gzip.compress(b"", mtime=0)])
def test_empty(source):
    with pytest.raises(HloParseError, match="empty"):
        hlograph.parse(source)


def test_line_and_column():
    with pytest.raises(HloParseError, match="expects a list to end") as caught:
        hlograph.parse("HloModule m\n\nENTRY e {\n  ROOT p = f32[2 parameter(0)\n}")
    assert (caught.value.line, caught.value.column) == (4, 18)


def test_line_and_column_of_stablehlo():
    with pytest.raises(HloParseError, match=r"not StableHLO.*'foo' is unknown") as caught:
        hlograph.parse("module @m {\n  foo\n}")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_text_cut_off():
    with pytest.raises(HloParseError) as caught:
        hlograph.parse(samples.WHILE[: len(samples.WHILE) // 2])
    assert caught.value.line is not None


def test_missing_file(tmp_path):
    for error in (HloParseError, FileNotFoundError, HloFileNotFoundError, ValueError):
        with pytest.raises(error, match=r"no file '.*missing\.hlo'"):
            hlograph.parse(tmp_path / "missing.hlo")


def test_a_word_is_taken_as_a_path():
    with pytest.raises(HloFileNotFoundError, match="without a line break or brace is taken"):
        hlograph.parse("HloModule m")


def test_directory(tmp_path):
    with pytest.raises(HloParseError, match="is a directory"):
        hlograph.parse(tmp_path)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_impossible_paths(path):
    with pytest.raises(HloParseError, match="cannot read the file") as caught:
        hlograph.parse(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_cut_off_compressed_file(compress, tmp_path):
    data = compress(samples.INDEXING.encode())
    for length in (12, len(data) // 2, len(data) - 1):
        (tmp_path / "m.gz").write_bytes(data[:length])
        with pytest.raises(HloParseError, match=r"m\.gz.*cut off or damaged"):
            hlograph.parse(tmp_path / "m.gz")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (Path(sys.executable).resolve().read_bytes(), "an ELF binary"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG image"),
        (b"PK\x03\x04" + bytes(20), "a zip archive"),
        (samples.WHILE.encode("utf-16"), "UTF-16 text"),
        (b"HLOGRAPH\x01\0\0\0", r"use hlograph\.HloGraph\.load"),
    ],
)
def test_other_files(content, what, tmp_path):
    (tmp_path / "file.pb").write_bytes(content)
    with pytest.raises(HloParseError, match=rf"file\.pb' holds .*{what}"):
        hlograph.parse(tmp_path / "file.pb")


@pytest.mark.parametrize("source", [None, 3, ["HloModule"], object()])
def test_other_types(source):
    with pytest.raises(HloParseError, match=f"expected HLO text.*got {type(source).__name__}"):
        hlograph.parse(source)


def test_functions_that_are_not_lowered():
    import jax

    function = jax.jit(lambda x: x + 1)
    for source in (function, lambda x: x):
        with pytest.raises(HloParseError, match=r"Lower a jax function first"):
            hlograph.parse(source)


def test_what_comes_after_lowering():
    import jax
    from jax import export

    function = jax.jit(lambda x: x + 1)
    with pytest.raises(HloParseError, match=r"give the Lowered"):
        hlograph.parse(function.lower(1.0).compile())
    exported = export.export(function)(1.0)
    with pytest.raises(HloParseError, match=r"give its mlir_module\(\)"):
        hlograph.parse(exported)
    assert hlograph.parse(exported.mlir_module()).num_nodes > 1


def test_a_message_names_the_file(tmp_path):
    path = tmp_path / "step.hlo"
    path.write_text("HloModule m\nENTRY e {\n  broken\n}\n")
    with pytest.raises(HloParseError, match=rf"in {path}: ") as caught:
        hlograph.parse(path)
    with pytest.raises(HloParseError) as of_text:
        hlograph.parse(path.read_text())
    assert (caught.value.line, caught.value.column) == (of_text.value.line, of_text.value.column)
    assert caught.value.line is not None


@pytest.mark.parametrize("length", [1, 2, 10, len(_PROTO) // 2, len(_PROTO) - 1])
def test_proto_cut_off(length):
    with pytest.raises(HloParseError):
        hlograph.parse(_PROTO[:length])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_of_any_kind(data):
    with contextlib.suppress(HloParseError):
        assert hlograph.parse(data).num_nodes > 0


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(_PROTO) - 1), st.integers(0, 255))
def test_protos_with_a_wrong_byte(position, value):
    damaged = bytearray(_PROTO)
    damaged[position] = value
    with contextlib.suppress(HloParseError):
        assert hlograph.parse(bytes(damaged)).num_nodes > 0


@settings(deadline=None)
@given(st.text(alphabet="HloMdue{}()[]=%,:/*\n \"'x0f32-", max_size=60))
def test_text_of_any_kind(text):
    with contextlib.suppress(HloParseError):
        hlograph.parse(text + "\n{")
