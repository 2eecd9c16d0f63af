"""Tests of inputs that XLA's parsers do not survive: each cause once, and damage at random.

Damaged inputs are parsed in a child forked for each, so that one that ends the process fails one
test and does not end them all.
"""

import contextlib
import os
import signal
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import HloParseError, Module
from hlograph._native import native
from tests.campaigns.parsing.proto_mutations import Field, decode, encode, mutate_proto
from tests.campaigns.parsing.text_mutations import mutate_text
from tests.hlograph import samples

_SECONDS = 30
_TEXTS = [text.encode() for text in samples.ALL.values()]
_PROTOS = [Module.from_text(text).to_proto() for text in _TEXTS]


def entry(*lines: str) -> str:
    """Returns a module of these instructions."""
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


# XLA's parser may end the process, or write anywhere, so it runs in another process.
UNSURE = {
    "reshape to another size": entry(X, "ROOT y = f32[3] reshape(x)"),
    "reshape of a tuple": entry(X, "t = (f32[2]) tuple(x)", "ROOT y = f32[2] reshape(t)"),
    "tuple with the shape of an array": entry(X, "ROOT y = f32[2] tuple(x)"),
    "layout of a constant that is none": entry("ROOT x = s32[2]{1} constant({1, 2})"),
    "words in a constant of numbers": entry("ROOT x = s32[2] constant({true, 2})"),
    "partition-id that is no u32": entry("ROOT x = s32[] partition-id()"),
    "recv-done of an array": entry(
        "t = token[] after-all()", "ROOT y = (f32[2], token[]) recv-done(t), channel_id=1"
    ),
    "accuracy that is none": entry(
        X, "ROOT y = f32[2] exponential(x), result_accuracy={tolerance={atol=1,rtol=-2,ulps=5}}"
    ),
    "replication flags of another instruction": entry(
        X, "ROOT y = f32[2] negate(x), parameter_replication={true}"
    ),
    "more replication flags than leaves": entry(
        "ROOT x = f32[2] parameter(0), parameter_replication={true,true}"
    ),
    "token with dimensions": entry(
        "x = token[4,4] parameter(0)", 'ROOT y = f32[2] custom-call(x), custom_call_target="f"'
    ),
    "opcode in a shape": entry(X, "ROOT y = f32[2]tuple{0} negate(x)"),
    "tile of negative size": entry("ROOT x = f32[2,2]{1,0:T(8,18446744073709551615)} parameter(0)"),
    "parameter outside of a computation": "HloModule m\n\ni = s32[] parameter(2)\n",
    "dot of one operand": entry(X, "ROOT y = f32[] dot(x)"),
    "dot of itself": entry(X, "ROOT y = f32[] dot(y, x)"),
    "dot of an attribute": entry(
        X, "z = f32[2] slice(x), slice={[0:2]}", "ROOT y = f32[] dot(slice, x)"
    ),
    "a wrapped operation of one operand": entry(
        X, "ROOT y = ((f32[2]), f32[2], s32[]) add-start(x)"
    ),
    "dynamic-reshape to another size": entry(
        "x = f32[8] parameter(0)",
        "n = s32[] parameter(1)",
        "ROOT y = f32[<=7] dynamic-reshape(x, n)",
    ),
    "triangular-solve with a name for a word": entry(
        "c = f32[2,2] parameter(0)",
        "b = f32[2,1] parameter(1)",
        "ROOT t = f32[2,1] triangular-solve(c, b), left_side=true, lower=true, transpose_a=c",
    ),
    "get-dimension-size of no dimension": entry(
        "x = f32[<=4] parameter(0)", "ROOT n = s32[] get-dimension-size(x), dimensions={}"
    ),
    "compare of tuples": entry(
        X, "t = (f32[2]) tuple(x)", "ROOT y = pred[2] compare(t, t), direction=EQ"
    ),
    "second tile of negative size": entry("ROOT x = s8[64]{0:T(128)(4,-1)} parameter(0)"),
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


@pytest.mark.parametrize(
    "attributes",
    [
        "replica_count=2, num_partitions=4",
        "allow_spmd_sharding_propagation_to_parameters={true}",
        "allow_spmd_sharding_propagation_to_output={true}",
    ],
)
def test_the_other_process_keeps_the_header(attributes):
    text = entry(X, "ROOT y = f32[] dot(abs(x), x), lhs_contracting_dims={0},")
    text = text.replace("{0},", "{0}, rhs_contracting_dims={0}")
    text = text.replace("HloModule m", f"HloModule m, {attributes}", 1)
    assert native().Module.from_text(text.encode()) is None
    assert attributes in Module.from_text(text).to_text()


def test_usual_operands_are_parsed_in_this_process():
    operands = ["x, x", "%x, %x", "f32[2]{0} x, f32[2]{0} %x", "f32[2] %x, /*index=1*/x"]
    dims = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    texts = [
        entry("%x = f32[2]{0} parameter(0)", f"ROOT y = f32[] dot({pair}), {dims}")
        for pair in operands
    ]
    for text in texts:
        assert native().Module.from_text(text.encode()) is not None, text


USUAL = [
    "ROOT y = f32[2,1]{1,0} reshape(x)",
    "ROOT y = f32[1,2]{1,0:T(8,128)} reshape(f32[2]{0} x)",
    "ROOT y = (f32[2]{0}) tuple(x)",
    "ROOT y = pred[2]{0} constant({true, false})",
    "ROOT y = f32[2,2]{0,1} constant({ {inf, nan}, {-inf, 1e-3} })",
    "ROOT y = c64[] constant((1, -2))",
    "ROOT y = (s32[], f32[2]{0}) constant((1, {1, 2}))",
    "ROOT y = u32[] partition-id()",
    "ROOT y = s32[] parameter(1), parameter_replication={false}",
    "ROOT y = token[] after-all()",
]


@pytest.mark.parametrize("line", USUAL)
def test_usual_instructions_are_not_suspected(line):
    text = entry("x = f32[2]{0} parameter(0)", line).encode()
    assert native().Module.from_text(text) is not None


def test_the_corpus_is_parsed_in_this_process():
    for benchmark in hlograph.corpus.load(max_op_count=400)[::5]:
        text = benchmark.load().to_text(metadata=True).encode()
        assert native().Module.from_text(text) is not None, benchmark.name


def test_the_corpus_as_protos_is_parsed_in_this_process():
    for benchmark in hlograph.corpus.load(max_op_count=400)[::5]:
        module = benchmark.load()
        assert native().Module.from_proto(module.to_proto()) is not None, benchmark.name


def test_protos_of_jax_are_parsed_in_this_process():
    import jax
    import jax.numpy as jnp

    def step(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.where(y > 0, jnp.sort(y), y @ y), x).sum()

    lowered = jax.jit(jax.grad(step)).lower(jnp.ones((3, 3)))
    proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    assert native().Module.from_proto(proto) is not None
    compiled = lowered.compile().runtime_executable().hlo_modules()[0]
    assert native().Module.from_proto(compiled.as_serialized_hlo_module_proto()) is not None


def _first(fields: list[Field], number: int) -> int:
    return next(index for index, field in enumerate(fields) if field.number == number)


def _with(message: bytes, path: list[int], change: bytes) -> bytes:
    """Returns the message with fields added to the first message at a path of field numbers."""
    fields = decode(message)
    assert fields is not None
    if not path:
        return message + change
    at = _first(fields, path[0])
    inner = encode(_decoded(fields[at]))
    fields[at] = fields[at]._replace(value=_with(inner, path[1:], change))
    return encode(fields)


def test_protos_with_false_device_lists_are_refused():
    text = entry("ROOT x = f32[8] parameter(0), sharding={devices=[2]0,1}")
    proto = Module.from_text(text).to_proto()
    # HloModuleProto.computations, .instructions, .sharding; OpSharding.tile_assignment_devices
    one_more = encode([Field(4, 0, 7)])
    with pytest.raises(HloParseError, match="expected 2 devices for the tiles, got 3"):
        Module.from_proto(_with(proto, [3, 2, 40], one_more))


def test_protos_with_literals_larger_than_their_data_are_refused():
    proto = Module.from_text(entry("ROOT x = f32[2] constant({1, 2})")).to_proto()
    # HloModuleProto.computations, .instructions, .literal, .shape; ShapeProto.dimensions
    larger = encode([Field(3, 0, (1 << 32) - 1)])
    with pytest.raises(HloParseError, match="more elements than its"):
        Module.from_proto(_with(proto, [3, 2, 8, 1], larger))


_CALLS = """HloModule m

f { a = f32[2] parameter(0) ROOT b = f32[2] negate(a) }
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] fusion(x), kind=kLoop, calls=f
  z = f32[2] add(x, y)
  ROOT t = (f32[2]) tuple(z)
}
"""
# Fields of HloModuleProto, HloComputationProto and HloInstructionProto.
_COMPUTATION, _INSTRUCTION = 3, 2
_MODULE_ENTRY, _PROGRAM_ID, _ROOT_ID = 6, 5, 6
_OPCODE, _ID, _OPERANDS, _CALLED, _PARAMETER, _CONTROL, _PRECISION = 2, 35, 36, 38, 9, 37, 30
_MISSING = 999


def _decoded(field: Field) -> list[Field]:
    assert isinstance(field.value, bytes)
    return decode(field.value) or []


def _instruction(proto: bytes, opcode: bytes, number: int, values: Sequence[int | bytes]) -> bytes:
    """Returns the module with other values of one field in the first instruction of an opcode."""
    module = decode(proto) or []
    for i, computation in enumerate(module):
        if computation.number != _COMPUTATION:
            continue
        parts = _decoded(computation)
        for j, part in enumerate(parts):
            fields = _decoded(part) if part.number == _INSTRUCTION else None
            if not fields or fields[_first(fields, _OPCODE)].value != opcode:
                continue
            fields = [field for field in fields if field.number != number]
            fields += [Field(number, 2 if isinstance(v, bytes) else 0, v) for v in values]
            parts[j] = part._replace(value=encode(fields))
            module[i] = computation._replace(value=encode(parts))
            return encode(module)
    raise AssertionError(opcode)


def _field(proto: bytes, number: int, value: int) -> bytes:
    """Returns the message with another value of a field of its own."""
    fields = [field for field in decode(proto) or [] if field.number != number]
    return encode([*fields, Field(number, 0, value)])


def _computation(proto: bytes, number: int, value: int) -> bytes:
    """Returns the module with another value of one field in its last computation."""
    module = decode(proto) or []
    at = max(i for i, field in enumerate(module) if field.number == _COMPUTATION)
    inner = encode(_decoded(module[at]))
    module[at] = module[at]._replace(value=_field(inner, number, value))
    return encode(module)


IRREGULAR = {
    "scatter without operands": lambda p: _instruction(
        _instruction(p, b"add", _OPERANDS, []), b"add", _OPCODE, [b"scatter"]
    ),
    "precision of a call": lambda p: _instruction(
        _instruction(p, b"fusion", _OPCODE, [b"call"]), b"call", _PRECISION, [b""]
    ),
    "partition-id that is no u32": lambda p: _instruction(
        _instruction(p, b"add", _OPERANDS, []), b"add", _OPCODE, [b"partition-id"]
    ),
    "compare of tuples": lambda p: _instruction(p, b"tuple", _OPCODE, [b"compare"]),
    "rare opcode": lambda p: _instruction(p, b"add", _OPCODE, [b"send"]),
    "unknown opcode": lambda p: _instruction(p, b"add", _OPCODE, [b"plus"]),
    "one operand too few": lambda p: _instruction(p, b"add", _OPERANDS, [1 << 32]),
    "operand that is not there": lambda p: _instruction(p, b"tuple", _OPERANDS, [_MISSING]),
    "operand of another computation": lambda p: _instruction(p, b"tuple", _OPERANDS, [0]),
    "predecessor that is not there": lambda p: _instruction(p, b"add", _CONTROL, [_MISSING]),
    "id that occurs twice": lambda p: _instruction(p, b"add", _ID, [1 << 32]),
    "parameter that is not number 0": lambda p: _instruction(p, b"parameter", _PARAMETER, [1]),
    "called computation that is not there": lambda p: _instruction(p, b"fusion", _CALLED, [9]),
    "called computation of no parameter": lambda p: _instruction(p, b"fusion", _OPERANDS, []),
    "two called computations": lambda p: _instruction(p, b"fusion", _CALLED, [0, 0]),
    "root that is not there": lambda p: _computation(p, _ROOT_ID, _MISSING),
    "computation id that occurs twice": lambda p: _computation(p, _PROGRAM_ID, 0),
    "entry that is not there": lambda p: _field(p, _MODULE_ENTRY, _MISSING),
}


@pytest.mark.parametrize("cause", IRREGULAR)
def test_irregular_protos_are_parsed_in_another_process(cause):
    proto = Module.from_text(_CALLS).to_proto()
    assert native().Module.from_proto(proto) is not None
    damaged = IRREGULAR[cause](proto)
    assert native().Module.from_proto(damaged) is None
    with contextlib.suppress(HloParseError):  # some XLA takes
        Module.from_proto(damaged)


def test_unusual_protos_come_back_from_the_other_process():
    text = entry(
        "t = token[] after-all()",
        "s = ((s32[], u32[]), token[]) infeed(t)",
        "ROOT d = (s32[], u32[]) get-tuple-element(s), index=0",
    )
    module = Module.from_text(text)
    proto = module.to_proto()
    assert native().Module.from_proto(proto) is None
    assert Module.from_proto(proto).to_text() == module.to_text()


def _outcome(data: bytes) -> str:
    """Returns "good", or how a process ended that parsed the data."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.setitimer(signal.ITIMER_REAL, _SECONDS)  # whose default is to end it
            # What the native parsers decline is parsed in another process; that is not tested.
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
@settings(max_examples=16, deadline=None, derandomize=True)
@given(st.sampled_from(_TEXTS), st.randoms(use_true_random=False))
def test_damaged_texts(text, random):
    assert _outcome(mutate_text(text, random, _TEXTS)) == "good"


@pytest.mark.filterwarnings("ignore:os.fork")
@settings(max_examples=16, deadline=None, derandomize=True)
@given(st.sampled_from(_PROTOS), st.randoms(use_true_random=False))
def test_damaged_protos(proto, random):
    assert _outcome(mutate_proto(proto, random, _PROTOS)) == "good"


def test_stablehlo_that_takes_jaxlib_time_and_memory_without_bound(monkeypatch):
    monkeypatch.setattr("hlograph.reading.parsers._SECONDS", 1.0)
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
