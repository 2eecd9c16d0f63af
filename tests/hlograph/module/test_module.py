"""hlograph.Module: reading, printing, counting, copying and running passes."""

import copy
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import hlograph
from hlograph import HloParseError, Module, PassError, UnknownNameError, VerificationError
from tests.tiny_module import COUNTED_LOOP, TINY


@pytest.fixture
def module() -> Module:
    return Module.from_text(TINY)


def test_counts_by_hand(module):
    assert module.op_count == 8
    counts = dict(zip(hlograph.OPCODES, module.op_counts(), strict=True))
    expected = {"parameter": 2, "add": 2, "exponential": 2, "multiply": 1, "call": 1}
    assert {name: count for name, count in counts.items() if count} == expected
    assert module.op_counts().dtype == np.int64


def test_opcodes_are_those_with_a_count(module):
    counts = dict(zip(hlograph.OPCODES, module.op_counts(), strict=True))
    assert module.opcodes() == [opcode for opcode, count in counts.items() if count]


def test_passes_change_what_they_should(module):
    assert module.run("dce")
    assert module.op_count == 7
    assert module.run("call-inliner")
    assert module.op_count == 5  # parameter, exponential twice, add, add
    assert module.run("cse")
    assert module.op_count == 4
    assert not module.run("cse")
    module.verify()


def test_run_takes_an_entry_a_name_and_a_pipeline(module):
    by_entry, by_name = module.clone(), module.clone()
    by_entry.run(hlograph.passes["cse"])
    by_name.run("cse")
    assert by_entry.fingerprint() == by_name.fingerprint()
    assert by_name.run("xla-simplify")
    with pytest.raises(TypeError, match="expected a pass, a pipeline or its name, got list"):
        module.run(["cse"])
    assert module.run(hlograph.pipelines["xla-simplify"])
    assert module.op_count == 4
    assert not module.run(hlograph.pipelines["none"])


def test_run_with_snapshot_is_run_followed_by_snapshot(module):
    plain = module.clone()
    for name in ("dce", "dce", "call-inliner", "cse"):
        before = plain.fingerprint()
        reported, seconds, snapshot = module.run_with_snapshot(hlograph.passes[name])
        assert reported == plain.run(name)
        assert seconds > 0
        assert (snapshot is None) == (plain.fingerprint() == before)
        if snapshot is not None:
            assert snapshot.fingerprint == plain.fingerprint()
            assert snapshot.op_count == plain.op_count
            assert snapshot.op_counts.dtype == np.float32
            assert np.array_equal(snapshot.op_counts, plain.op_counts())
            assert np.array_equal(module.snapshot().op_counts, snapshot.op_counts)
    assert module.snapshot()[:2] == (plain.fingerprint(), 4)


def test_a_reported_change_to_the_same_state_is_none():
    loop = Module.from_text(COUNTED_LOOP)
    annotate = hlograph.passes["while-loop-trip-count-annotator"]
    assert loop.run_with_snapshot(annotate).snapshot is not None
    again = loop.run_with_snapshot(annotate)
    assert again.reported
    assert again.snapshot is None


def test_context_fingerprint_covers_what_the_fingerprint_leaves_out(module):
    def of(attributes: str) -> Module:
        return Module.from_text(TINY.replace("HloModule tiny", f"HloModule tiny{attributes}"))

    others = [
        of(", replica_count=2"),
        of(", num_partitions=2"),
        of(', frontend_attributes={a="1",b="2"}'),
        of(', frontend_attributes={a="2",b="1"}'),
    ]
    assert {other.fingerprint() for other in others} == {module.fingerprint()}
    assert len({other.context_fingerprint() for other in [module, *others]}) == 5
    again = of(', frontend_attributes={b="2",a="1"}')
    assert again.context_fingerprint() == others[2].context_fingerprint()
    others[0].run(hlograph.pipelines["xla-simplify"])
    assert others[0].context_fingerprint() == of(", replica_count=2").context_fingerprint()


def test_unknown_pass_suggests_near_names(module):
    with pytest.raises(UnknownNameError, match=r"'algsim'; did you mean 'algsimp"):
        module.run("algsim")


def test_clone_is_independent(module):
    clone = module.clone()
    clone.run("call-inliner")
    again = clone.clone()
    again.run("cse")
    assert (module.op_count, clone.op_count, again.op_count) == (8, 5, 4)


def test_clone_keeps_dead_computations():
    dead = TINY.replace("call(sum), to_apply=double", "add(sum, sum)")
    module = Module.from_text(dead)
    module.run("cse")
    clone = module.clone()
    assert clone.op_count == module.op_count
    assert clone.fingerprint() == module.fingerprint()
    module.run("dce")
    assert module.op_count == 4


def test_cost_by_hand(module):
    flops, transcendentals, bytes_accessed = module.cost()
    # Two exponentials of 4 elements; two adds and one multiply of 4, and the call's add.
    assert transcendentals == 8
    assert flops == 12
    assert bytes_accessed > 0


@pytest.mark.parametrize("name", ["m.hlo", "m.pb", "m.txt.gz", "new/m.pb.zst"])
def test_a_saved_module_is_loaded_again(module, name, tmp_path):
    module.save(tmp_path / name)
    assert Module.load(tmp_path / name).fingerprint() == module.fingerprint()


def test_round_trips(module):
    for again in (
        Module.from_text(module.to_text()),
        Module.from_proto(module.to_proto()),
        pickle.loads(pickle.dumps(module)),
    ):
        assert again.fingerprint() == module.fingerprint()
        assert again.op_count == module.op_count


# Everything that the header of a module says, and attributes of its instructions.
SHARDED = """
HloModule sharded, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) },
    buffer_donor={ (1, {}) },
    entry_computation_layout={(f32[4,2]{0,1}, f32[4,2]{1,0})->(f32[4,2]{0,1}, f32[4,2]{1,0})},
    allow_spmd_sharding_propagation_to_parameters={false,true},
    allow_spmd_sharding_propagation_to_output={true}, %sfrontend_attributes={a="1",b="x"}

ENTRY main {
  p = f32[4,2]{0,1} parameter(0), sharding={devices=[2,2]<=[4]}, metadata={op_name="in"}
  q = f32[4,2]{1,0} parameter(1), frontend_attributes={z="1"}
  a = f32[4,2]{0,1} exponential(p), metadata={op_name="exp" source_file="a.py" source_line=3}
  b = f32[4,2]{1,0} negate(q), control-predecessors={a}
  ROOT t = (f32[4,2]{0,1}, f32[4,2]{1,0}) tuple(a, b), sharding={{devices=[2,2]<=[4]},{replicated}}
}
"""

HEADERS = {
    "both counts": SHARDED % "replica_count=2, num_partitions=4, ",
    "partitions": SHARDED % "num_partitions=4, ",
    "replicas": SHARDED % "replica_count=2, ",
    "propagation": SHARDED % "",
    "plain": SHARDED.replace(
        "allow_spmd_sharding_propagation_to_parameters={false,true},", ""
    ).replace("allow_spmd_sharding_propagation_to_output={true}, %s", ""),
}


def _copies(module: Module) -> dict[str, Module]:
    return {
        "clone": module.clone(),
        "copy": copy.copy(module),
        "deepcopy": copy.deepcopy(module),
        "pickle": pickle.loads(pickle.dumps(module)),
        "pickle of a pickle": pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(module)))),
        "text": Module.from_text(module.to_text(metadata=True)),
    }


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("after", [None, "algsimp"])
def test_copies_keep_everything(header, after):
    module = Module.from_text(HEADERS[header])
    if after:
        module.run(after)
    text = module.to_text(metadata=True)
    first_line = text.split("\n", 1)[0]
    for word in ("buffer_donor", "entry_computation_layout", "input_output_alias"):
        assert word in first_line
    assert "propagation" in first_line or header == "plain"
    assert ("num_partitions=4" in first_line) == (header in ("both counts", "partitions"))
    assert ("replica_count=2" in first_line) == (header in ("both counts", "replicas"))
    for kind, other in _copies(module).items():
        assert other.to_text(metadata=True) == text, kind
        assert other.fingerprint() == module.fingerprint(), kind
        assert other.context_fingerprint() == module.context_fingerprint(), kind
        assert other.structure() == module.structure(), kind
        assert np.array_equal(other.op_counts(), module.op_counts()), kind
        assert other.cost() == module.cost(), kind


def test_a_proto_keeps_everything_but_device_counts_and_propagation():
    plain = Module.from_text(HEADERS["plain"])
    again = Module.from_proto(plain.to_proto())
    assert again.to_text(metadata=True) == plain.to_text(metadata=True)
    counted = Module.from_text(HEADERS["both counts"])
    again = Module.from_proto(counted.to_proto())
    assert again.to_text(metadata=True) == plain.to_text(metadata=True)


def test_copies_of_models_keep_everything(small_benchmarks):
    for benchmark in small_benchmarks[::4]:
        module = benchmark.load()
        text = module.to_text(metadata=True)
        for kind, other in _copies(module).items():
            assert other.to_text(metadata=True) == text, (benchmark.name, kind)


def test_parse_error_has_line_and_column():
    with pytest.raises(HloParseError) as caught:
        Module.from_text("HloModule m\n\nENTRY main {\n  ROOT p = f32[4] parametre(0)\n}\n")
    assert caught.value.line == 4
    assert caught.value.column is not None
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("proto", [b"", b"\x00" * 40, b"\x7fELF" + bytes(200), b"not a proto"])
def test_bytes_that_are_no_proto(proto):
    with pytest.raises(HloParseError, match="HloModuleProto"):
        Module.from_proto(proto)


def test_every_truncation_of_a_proto_is_an_error_or_a_module(module):
    # A prefix can be a complete message; what matters is that none aborts.
    proto = module.to_proto()
    outcomes = set()
    for length in range(0, len(proto), 7):
        try:
            Module.from_proto(proto[:length])
            outcomes.add("parsed")
        except HloParseError:
            outcomes.add("error")
    assert "error" in outcomes


@pytest.mark.parametrize(
    "line",
    ["ROOT r = f32[3] reshape(p)", "q = f32[4] parameter(5)\n  ROOT r = f32[4] add(p, q)"],
    ids=["reshape to another size", "gap in parameter numbers"],
)
def test_a_failed_check_of_the_parser_is_an_error(line, capfd):
    text = f"HloModule m\nENTRY main {{\n  p = f32[4] parameter(0)\n  {line}\n}}\n"
    for _ in range(3):
        with pytest.raises(HloParseError, match=r"Check failed|numbered 0, 1"):
            Module.from_text(text)
    # Parsing goes on working, also in other threads.
    thread = threading.Thread(target=Module.from_text, args=(TINY,))
    thread.start()
    thread.join()
    assert Module.from_text(TINY).op_count == 8


def test_an_abort_elsewhere_still_ends_the_process():
    program = (
        "import hlograph, os\n"
        "try: hlograph.Module.from_text('HloModule m')\n"
        "except hlograph.HloParseError: os.abort()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGABRT


def test_verify_reports_a_broken_module():
    broken = Module.from_text(
        "HloModule m\nENTRY main {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] add(p, p)\n}\n"
    )
    with pytest.raises(VerificationError):
        broken.verify()


# XLA cannot show that n equals m, and the pass wants to know at compile time.
DYNAMIC = """
HloModule dynamic
inner { x = f32[8] parameter(0) ROOT y = f32[8] tanh(x) }
ENTRY main {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = s32[] parameter(2)
  m = s32[] parameter(3)
  c = f32[8] call(a), to_apply=inner
  da = f32[<=8] set-dimension-size(c, n), dimensions={0}
  db = f32[<=8] set-dimension-size(b, m), dimensions={0}
  ROOT s = f32[<=8] add(da, db)
}
"""


@pytest.mark.parametrize("before", [[], ["call-inliner"]])
def test_failing_pass_leaves_the_module_as_it_was(before):
    module = Module.from_text(DYNAMIC)
    for name in before:
        assert module.run(name)
    fingerprint, op_count = module.fingerprint(), module.op_count
    with pytest.raises(PassError):
        module.run("dynamic_padder")
    assert Module.from_proto(module.to_proto()).fingerprint() == fingerprint
    assert (module.fingerprint(), module.op_count) == (fingerprint, op_count)
    module.verify()


def test_failing_pipeline_leaves_the_module_as_it_was():
    module = Module.from_text(DYNAMIC)
    fingerprint = module.fingerprint()
    with pytest.raises(PassError):
        module.run(hlograph.pipelines["xla-cpu"])
    assert Module.from_proto(module.to_proto()).fingerprint() == fingerprint


def test_threads_step_their_own_modules(corpus_module):
    expected = corpus_module.clone()
    expected.run(hlograph.pipelines["xla-cpu"])
    results: list[str] = []

    def work() -> None:
        for _ in range(3):
            mine = corpus_module.clone()
            mine.run(hlograph.pipelines["xla-cpu"])
            results.append(mine.fingerprint())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected.fingerprint()] * 6


def test_threads_may_share_a_module(corpus_module):
    shared = corpus_module.clone()

    def work() -> None:
        for name in ("algsimp", "cse", "dce"):
            shared.run(name)
            shared.fingerprint()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.verify()


def test_a_pipeline_loses_no_change_of_another_thread(module):
    halfway, done = threading.Event(), threading.Event()

    class Halting(hlograph.Pipeline):
        def run(self, step):
            step(hlograph.passes["dce"])
            halfway.set()
            # The other thread gets as far as it can: to its end, or to where it has to wait.
            done.wait(0.2)
            return []

    def work() -> None:
        halfway.wait()
        module.run("call-inliner")
        done.set()

    expected = module.clone()
    expected.run("dce")
    expected.run("call-inliner")
    thread = threading.Thread(target=work)
    thread.start()
    module.run(Halting("halting", "stops after a pass", ()))
    thread.join()
    assert module.fingerprint() == expected.fingerprint()


def test_import_of_torch_and_jax_after_the_engine():
    program = (
        "import hlograph; hlograph.passes; import torch, jax; "
        "print(torch.ones(2).sum().item(), 'tensorflow' in __import__('sys').modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["2.0", "False"], done.stderr
