"""Benchmarks from the user's own modules: folders, dumps of XLA, jax functions."""

import gzip
import os
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
import zstandard

from hlograph import HloError, HloParseError, Module, corpus
from tests.hlograph.samples import CONDITIONAL, WHILE
from tests.tiny_module import TINY

DUMP = """
import jax, jax.numpy as jnp
print(jax.jit(lambda x: jnp.tanh(x) @ x)(jnp.ones((4, 4))).sum())
print(jax.jit(lambda x: jnp.sin(x).sum())(jnp.ones(5)))
"""


def test_a_folder_of_files_of_all_kinds(tmp_path):
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested/tiny.hlo").write_text(TINY)
    (tmp_path / "loop.hlo.gz").write_bytes(gzip.compress(WHILE.encode()))
    (tmp_path / "branches.txt.zst").write_bytes(
        zstandard.ZstdCompressor().compress(CONDITIONAL.encode())
    )
    (tmp_path / "again.pb").write_bytes(Module.from_text(WHILE).to_proto())
    (tmp_path / "notes.md").write_text("no module")
    found = corpus.from_folder(tmp_path, split="test-seen")
    # loop.hlo.gz is the module of again.pb.
    assert found.names == ["again", "branches", "nested/tiny"]
    assert {(b.set, b.split) for b in found} == {("own", "test-seen")}
    assert [b.op_count for b in found] == [b.load().op_count for b in found]
    assert found["nested/tiny"].family == "nested"


def test_files_that_differ_in_suffix_have_names_that_differ(tmp_path):
    (tmp_path / "m.hlo").write_text(TINY)
    (tmp_path / "m.txt").write_text(WHILE)
    assert corpus.from_folder(tmp_path).names == ["m", "m-2"]


def test_what_xla_dumps(tmp_path):
    flags = f"--xla_dump_to={tmp_path} --xla_dump_hlo_pass_re=.*"
    subprocess.run(
        [sys.executable, "-c", DUMP],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        check=True,
        capture_output=True,
    )
    dumped = list(tmp_path.rglob("*.txt"))
    found = corpus.from_folder(tmp_path)
    assert len(dumped) > 3 * len(found)
    assert any("lambda" in b.name for b in found)
    opcodes = [b.load().to_text() for b in found]
    assert any(" tanh(" in text for text in opcodes)
    # The first state, not a later one.
    assert not any("fusion(" in text for text in opcodes)


def test_a_folder_that_does_not_do(tmp_path):
    with pytest.raises(HloError, match="no such folder"):
        corpus.from_folder(tmp_path / "missing")
    with pytest.raises(HloError, match="no HLO modules"):
        corpus.from_folder(tmp_path)
    (tmp_path / "broken.hlo").write_text("HloModule broken\n")
    (tmp_path / "tiny.hlo").write_text(TINY)
    with pytest.raises(HloParseError) as raised:
        corpus.from_folder(tmp_path)
    assert "broken.hlo" in str(raised.value.__notes__)
    assert corpus.from_folder(tmp_path, skip_unreadable=True).names == ["tiny"]


def test_jax_functions(tmp_path):
    def step(weights, inputs):
        return weights - 0.1 * jax.grad(lambda w: jnp.sum(jnp.tanh(inputs @ w)))(weights)

    shapes = (jax.ShapeDtypeStruct((4, 2), jnp.float32), jax.ShapeDtypeStruct((3, 4), jnp.float32))
    plain = corpus.from_source("own/step", step, *shapes)
    jitted = corpus.from_source("own/jitted", jax.jit(step), *shapes)
    lowered = corpus.from_source("own/lowered", jax.jit(step).lower(*shapes))
    module = corpus.from_source("own/module", plain.load())
    assert len({b.fingerprint for b in (plain, jitted, lowered, module)}) == 1
    assert plain.load().op_count == plain.op_count
    assert pickle.loads(pickle.dumps(plain)).load().fingerprint() == plain.fingerprint
    joined = corpus.load("gpt2-train", split="train")[:2] + corpus.BenchmarkSet([plain])
    assert joined["own/step"].split == "train"


def test_arguments_are_for_functions():
    with pytest.raises(TypeError, match="expected a jax function"):
        corpus.from_source("own/text", TINY, 3)


def test_a_relative_folder_is_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "tiny.hlo").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    (benchmark,) = corpus.from_folder("dump")
    monkeypatch.chdir(tmp_path / "dump")
    assert benchmark.load().op_count == benchmark.op_count
