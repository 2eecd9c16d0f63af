"""Tests that the walk over protobufs finds the same graph, so that times are comparable."""

import subprocess
import sys

import numpy as np
import pytest

import hlograph
from benchmarks.protobuf_walk import parse_to_proto, walk
from benchmarks.subjects import chain
from hlograph.module import Module

CALLS = """HloModule m

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  p = f32[4,8] parameter(0)
  zero = f32[] constant(0)
  r = f32[4] reduce(p, zero), dimensions={1}, to_apply=sum
  ROOT t = (f32[4], f32[4,8]) tuple(r, p)
}
"""


@pytest.mark.parametrize("text", [CALLS, chain(50)])
def test_it_finds_the_instructions_and_edges_that_hlograph_finds(text):
    module, walked = Module.from_text(text), walk(parse_to_proto(text))
    graph = hlograph.parse(text)
    assert len(walked.opcode) == module.op_count
    assert sorted(np.bincount(walked.opcode)) == sorted(module.op_counts()[module.op_counts() > 0])
    # hlograph has a node of its own for each computation: calls lead to it, it to its root.
    computations = graph.num_nodes - module.op_count
    assert len(walked.edges) == graph.num_edges - computations


def test_columns_are_of_the_instructions():
    walked = walk(parse_to_proto(CALLS))
    assert sorted(walked.elements) == [0, 1, 1, 1, 1, 4, 32]
    assert len({int(walked.opcode[n]) for n in np.flatnonzero(walked.elements == 32)}) == 1
    users = walked.edges[walked.position == 1, 1]
    assert len(set(users.tolist())) == len(users) == 3  # add, reduce, tuple


def test_tensorflow_is_not_imported():
    code = (
        "import sys; from benchmarks.protobuf_walk import message_class; message_class(); "
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
