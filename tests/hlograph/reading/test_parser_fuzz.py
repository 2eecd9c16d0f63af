"""What XLA's parsers do not survive: each cause once, and damage at random.

What must not end a process is parsed in a child forked for it, so that if it does, the test fails
and not the tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import HloParseError, Module
from hlograph._native import native
from tests.campaigns.parsing.proto_mutations import mutate_proto
from tests.campaigns.parsing.protobuf_wire import Field, decode, encode
from tests.campaigns.parsing.text_mutations import mutate_text
from tests.hlograph import samples

_SECONDS = 30
_TEXTS = [text.encode() for text in samples.ALL.values()]
_PROTOS = [Module.from_text(text).to_proto() for text in _TEXTS]


def entry(*lines: str) -> str:
    """A module of these instructions."""
    return "HloModule m\n\nENTRY e {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


X = "x = f32[2] parameter(0)"

# XLA's parser would overflow the stack, write beyond an array, or take memory without bound.
REFUSED = {
    "brackets nested too deep": (entry("ROOT x = " + "(" * 5000 + "f32[]"), "more than 256 deep"),
    "operands nested too deep": (
        entry(X, "ROOT y = f32[2] " + "negate(" * 5000 + "x"),
        "more than 256 deep",
    ),
    "more devices than tiles": (
        entry("ROOT x = f32[8] parameter(0), sharding={devices=[2]0,1,2,3,4,5,6,7}"),
        "expected 2 devices for the tiles, got 8",
    ),
    "tiles of negative size": (
        entry("ROOT x = f32[8,4] parameter(0), sharding={devices=[4,-1]0,1,2,3}"),
        "device dimensions from 1",
    ),
    "too many tiles": (
        entry("ROOT x = f32[8] parameter(0), sharding={devices=[4611686018427387904]<=[4]}"),
        "at most 16777216 devices",
    ),
    "iota of another size": (
        entry("ROOT x = f32[8,4] parameter(0), sharding={devices=[2,4]<=[4,1]T(1,0)}"),
        "expected 8 devices for the tiles, got 4",
    ),
    "iota without a permutation": (
        entry("ROOT x = f32[8,4] parameter(0), sharding={devices=[2,4]<=[4,2]T(1,1)}"),
        "each of 0 to 1 once",
    ),
    "constant larger than its text": (
        entry("ROOT x = s8[4294967295,2] constant({{7, 7}})"),
        "not as many characters",
    ),
    "elided constant too large": (
        entry("ROOT x = f32[1000000,1000000] constant({...})"),
        "more than 268435456 elements",
    ),
    "parameters not numbered from 0": (
        entry("ROOT x = f32[2] parameter(1)"),
        "of 1 parameters has a parameter\\(1\\)",
    ),
    "hidden behind what is no comment": (
        entry(
            'ROOT x = f32[8] parameter(0), backend_config={"a": /*}, sharding={devices=[1]0,1}',
            "// */",
        ),
        "expected 1 devices for the tiles, got 2",
    ),
}


@pytest.mark.parametrize("cause", REFUSED)
def test_refused(cause):
    text, message = REFUSED[cause]
    with pytest.raises(HloParseError, match=message) as caught:
        Module.from_text(text)
    assert caught.value.line is not None


# XLA's parser may read what is no instruction, so it is only tried in another process.
UNSURE = {
    "dot of one operand": entry(X, "ROOT y = f32[] dot(x)"),
    "dot of itself": entry(X, "ROOT y = f32[] dot(y, x)"),
    "dot of an attribute": entry(
        X, "z = f32[2] slice(x), slice={[0:2]}", "ROOT y = f32[] dot(slice, x)"
    ),
    "a wrapped operation of one operand": entry(
        X, "ROOT y = ((f32[2]), f32[2], s32[]) add-start(x)"
    ),
    "recv of nothing": entry("t = token[] after-all()", "ROOT y = () recv(t), channel_id=1"),
    "infeed of nothing": entry("t = token[] after-all()", "ROOT y = () infeed(t)"),
}


@pytest.mark.parametrize("cause", UNSURE)
def test_parsed_in_another_process(cause):
    assert native().Module.from_text(UNSURE[cause].encode()) is None
    with pytest.raises(HloParseError):
        Module.from_text(UNSURE[cause])


def test_what_is_only_unusual_comes_back_from_the_other_process():
    text = entry(X, "ROOT y = f32[] dot(abs(x), x), lhs_contracting_dims={0},")
    text = text.replace("{0},", "{0}, rhs_contracting_dims={0}")
    assert native().Module.from_text(text.encode()) is None
    assert Module.from_text(text).op_count == 3


def test_the_other_process_keeps_the_number_of_devices():
    text = entry(X, "ROOT y = f32[] dot(abs(x), x), lhs_contracting_dims={0},")
    text = text.replace("{0},", "{0}, rhs_contracting_dims={0}")
    text = text.replace("HloModule m", "HloModule m, replica_count=2, num_partitions=4", 1)
    assert native().Module.from_text(text.encode()) is None
    assert "replica_count=2, num_partitions=4" in Module.from_text(text).to_text()


def test_usual_operands_are_parsed_in_this_process():
    # In a new one: in this one an abort may have been survived, and then nothing is.
    code = (
        "import json, sys; from hlograph._native import native\n"
        "texts = json.load(sys.stdin)\n"
        "print([native().Module.from_text(text.encode()) is not None for text in texts])"
    )
    operands = ["x, x", "%x, %x", "f32[2]{0} x, f32[2]{0} %x", "f32[2] %x, /*index=1*/x"]
    dims = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    texts = [
        entry("%x = f32[2]{0} parameter(0)", f"ROOT y = f32[] dot({pair}), {dims}")
        for pair in operands
    ]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.strip() == str([True] * len(operands))


RESHAPE = entry(X, "ROOT y = f32[3] reshape(x)")
ABORTS = """
import sys
import hlograph
from hlograph._native import native
reshape, good = sys.argv[1:]
proto = hlograph.Module.from_text(good).to_proto()
for _ in range(3):
    try:
        hlograph.parse(reshape)
    except hlograph.HloParseError as error:
        assert "StaticExtentProduct" in str(error), error
    else:
        raise AssertionError
    assert native().was_aborted()
    assert hlograph.parse(good).num_nodes == hlograph.parse(proto).num_nodes
"""


def test_life_goes_on_after_an_abort():
    subprocess.run(
        [sys.executable, "-c", ABORTS, RESHAPE, samples.WHILE],
        check=True,
        timeout=120,
        capture_output=True,
    )


def _first(fields: list[Field], number: int) -> int:
    return next(index for index, field in enumerate(fields) if field.number == number)


def _with(message: bytes, path: list[int], change: bytes) -> bytes:
    """The message with fields added to the first message inside at a path of field numbers."""
    fields = decode(message)
    assert fields is not None
    if not path:
        return message + change
    at = _first(fields, path[0])
    fields[at] = fields[at].with_content(_with(fields[at].content, path[1:], change))
    return encode(fields)


def test_protos_with_false_device_lists_are_refused():
    text = entry("ROOT x = f32[8] parameter(0), sharding={devices=[2]0,1}")
    proto = Module.from_text(text).to_proto()
    # HloModuleProto.computations, .instructions, .sharding; OpSharding.tile_assignment_devices
    one_more = encode([Field(4, 0, b"\x07")])
    with pytest.raises(HloParseError, match="expected 2 devices for the tiles, got 3"):
        Module.from_proto(_with(proto, [3, 2, 40], one_more))


def test_protos_with_literals_larger_than_their_data_are_refused():
    proto = Module.from_text(entry("ROOT x = f32[2] constant({1, 2})")).to_proto()
    # HloModuleProto.computations, .instructions, .literal, .shape; ShapeProto.dimensions
    larger = encode([Field(3, 0, b"\xff\xff\xff\xff\x0f")])
    with pytest.raises(HloParseError, match="more elements than its"):
        Module.from_proto(_with(proto, [3, 2, 8, 1], larger))


def _outcome(data: bytes) -> str:
    """What becomes of a process that parses the data: "good", or how it ended."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.setitimer(signal.ITIMER_REAL, _SECONDS)  # whose default is to end it
            # What the native parser hands on to another process is not waited for.
            kind = native().Module.from_proto if data[:1] == b"\n" else native().Module.from_text
            handle = kind(data)
            if handle is not None:
                Module(handle).graph()
            code = 0
        except HloParseError:
            code = 0
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "good" if status == 0 else f"ended with {status}"


@pytest.mark.filterwarnings("ignore:os.fork")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(_TEXTS), st.randoms(use_true_random=False))
def test_damaged_texts(text, random):
    assert _outcome(mutate_text(text, random, _TEXTS)) == "good"


@pytest.mark.filterwarnings("ignore:os.fork")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(_PROTOS), st.randoms(use_true_random=False))
def test_damaged_protos(proto, random):
    assert _outcome(mutate_proto(proto, random, _PROTOS)) == "good"


def test_stablehlo_that_takes_jaxlib_time_and_memory_without_bound(monkeypatch):
    monkeypatch.setattr("hlograph.reading.isolated_parser._SECONDS", 1.0)
    labels = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
    text = f"""module @m {{
  func.func public @main(%a: tensor<1x2x8x8xf32>, %b: tensor<3x2x3x3xf32>)
      -> tensor<1x3x6x6xf32> {{
    %0 = stablehlo.convolution(%a, %b) dim_numbers = {labels}, window = {{}}
        {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
        : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
    return %0 : tensor<1x3x6x6xf32>
  }}
}}"""
    assert hlograph.parse(text).num_nodes == 4
    endless = text.replace("[b, f, 0, 1]x", "[b, f, 0, 2147483648]x")
    with pytest.raises(HloParseError, match=r"did not end within|bad_alloc"):
        hlograph.parse(endless)
