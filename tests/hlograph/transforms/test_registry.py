"""The registry of passes."""

import pickle
import re
from collections.abc import Iterator

import numpy as np
import pytest

import hlograph
from hlograph import HloError, Module, UnknownNameError
from hlograph._native import native
from hlograph.transforms.pass_claims import CLAIMS
from tests.hlograph import rare_modules, samples


def test_at_least_sixty_entries_with_unique_names():
    assert len(hlograph.passes) >= 60
    assert len(set(hlograph.passes.names)) == len(hlograph.passes)


def test_every_entry_is_described():
    for index, entry in enumerate(hlograph.passes):
        assert entry.index == index
        assert entry.description.endswith(".")
        assert entry.xla_class
        # A variant differs from its base in an option.
        if ":" in entry.name:
            assert entry.options, entry.name
        if entry.requires is not None:
            assert entry.requires in hlograph.passes


def test_variants_belong_to_the_class_of_their_base():
    for entry in hlograph.passes:
        base = entry.name.split(":")[0]
        if base in hlograph.passes:
            assert hlograph.passes[base].xla_class == entry.xla_class


def test_is_a_sequence_that_looks_up_by_name():
    dce = hlograph.passes["dce"]
    assert hlograph.passes[dce.index] is dce
    assert hlograph.passes.index("dce") == hlograph.passes.index(dce) == dce.index
    assert "dce" in hlograph.passes
    assert dce in hlograph.passes
    assert "layout-assignment" not in hlograph.passes
    assert hlograph.passes[:2] == tuple(hlograph.passes)[:2]
    with pytest.raises(UnknownNameError, match="call-inliner"):
        hlograph.passes["call-inline"]
    with pytest.raises(IndexError):
        hlograph.passes[1000]


def test_prints_as_a_table():
    lines = str(hlograph.passes).splitlines()
    assert len(lines) == len(hlograph.passes)
    assert "algsimp" in lines[0]
    assert "AlgebraicSimplifier" in lines[0]


def test_numerics():
    exact = hlograph.passes.exact
    assert all(hlograph.passes[name].numerics == "exact" for name in exact)
    assert hlograph.passes["dce"].numerics == "exact"
    assert hlograph.passes["tree_reduction_rewriter"].numerics == "reassociating"
    assert {entry.numerics for entry in hlograph.passes if entry.name.startswith("algsimp")} == {
        "approximate"
    }
    assert len(exact) >= 30


def test_claims_agree_with_the_classes():
    for entry in hlograph.passes:
        effects = entry.claim.effects
        assert (entry.numerics == "exact") == (not effects), entry.name
        # What is approximate changes more than the order and the precision of sums.
        if entry.numerics != "exact":
            is_more = bool(effects - {"order", "precision"}) or "order" not in effects
            assert is_more == (entry.numerics == "approximate"), entry.name
        assert entry.claim.words[0].islower()
        assert not entry.claim.words.endswith(".")
    assert str(hlograph.passes["dce"].claim) == "nothing"
    assert "log(exp(x))" in str(hlograph.passes["algsimp:cpu"].claim)


def test_each_claim_is_of_a_pass():
    assert set(CLAIMS) <= {name.split(":")[0] for name in hlograph.passes.names}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("dce", []), ("cse", []), ("dce", [])], "expected each pass once, got dce twice"),
        ([("dce", []), ("algsimp", ["dcee"])], "expected the name of a pass in algsimp, got dcee"),
    ],
)
def test_names_are_checked_when_a_registry_is_loaded(entries, message):
    with pytest.raises(HloError, match=message):
        native().check_names("pass", entries)


def test_opcodes_that_passes_act_on():
    acts_on = {entry.name: entry.acts_on for entry in hlograph.passes}
    assert acts_on["call-inliner"] == ("call",)
    assert acts_on["gather_expander"] == ("gather", "scatter")
    assert not acts_on["algsimp"]
    assert {opcode for opcodes in acts_on.values() for opcode in opcodes} <= set(hlograph.OPCODES)


@pytest.mark.parametrize("opcode", ["call", "gather", "add"])
def test_may_act(opcode):
    counts = np.zeros(len(hlograph.OPCODES))
    counts[hlograph.OPCODES.index(opcode)] = 3
    for entry, may_act in zip(hlograph.passes, hlograph.passes.may_act(counts), strict=True):
        assert may_act == (not entry.acts_on or opcode in entry.acts_on)


def test_passes_without_their_opcodes_change_nothing():
    """Checked on one module of each family, before and after simplification, and on rare ones."""
    tried = set()
    for module in _modules_of_all_kinds():
        fingerprint = module.fingerprint()
        may_act = hlograph.passes.may_act(module.op_counts())
        idle = [entry for entry in hlograph.passes if not may_act[entry.index]]
        tried |= {entry.name for entry in idle}
        for entry in idle:
            assert not module.run(entry), entry.name
            assert module.fingerprint() == fingerprint, entry.name
    assert tried == {entry.name for entry in hlograph.passes if entry.acts_on}


def _modules_of_all_kinds() -> Iterator[Module]:
    for text in {**samples.ALL, **rare_modules.ALL}.values():
        yield Module.from_text(text)
    smallest: dict[str, hlograph.corpus.Benchmark] = {}
    for benchmark in sorted(hlograph.corpus.load(max_op_count=400), key=lambda b: -b.op_count):
        smallest[benchmark.family] = benchmark
    for benchmark in smallest.values():
        module = benchmark.load().clone()
        yield module
        hlograph.pipelines["xla-simplify"].run(module.run)
        yield module


def test_entries_survive_pickling():
    entry = hlograph.passes["gather_expander:simple"]
    assert pickle.loads(pickle.dumps(entry)) == entry


SCATTER_WITH_BATCH_DIMS = """
HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e {
  operand = f32[2,8] parameter(0)
  indices = s32[2,3,1] parameter(1)
  updates = f32[2,3] parameter(2)
  ROOT s = f32[2,8] scatter(operand, indices, updates), update_window_dims={},
    inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0},
    scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add
}
"""

GATHER_WITH_BATCH_DIMS = """
HloModule m
ENTRY e {
  operand = f32[2,8] parameter(0)
  indices = s32[2,3,1] parameter(1)
  ROOT g = f32[2,3] gather(operand, indices), offset_dims={}, collapsed_slice_dims={1},
    start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0},
    index_vector_dim=2, slice_sizes={1,1}
}
"""


@pytest.mark.parametrize("name", [n for n in hlograph.passes.names if "scatter" in n])
def test_scatters_with_batching_dims_do_not_abort(name):
    module = Module.from_text(SCATTER_WITH_BATCH_DIMS)
    module.verify()
    module.run(name)
    module.verify()


@pytest.mark.parametrize("name", [n for n in hlograph.passes.names if "gather" in n])
def test_gathers_with_batching_dims_are_no_error(name):
    module = Module.from_text(GATHER_WITH_BATCH_DIMS)
    module.verify()
    module.run(name)
    module.verify()


def test_no_pass_of_a_target_is_an_action():
    for name in ("fusion", "copy-insertion", "layout-assignment", "reshape-decomposer"):
        assert name not in hlograph.passes


LONG_SCAN = """
HloModule scan
sum { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b) }
ENTRY main {
  p = s32[729] parameter(0)
  zero = s32[] constant(0)
  ROOT r = s32[729] reduce-window(p, zero), window={size=729 pad=728_0}, to_apply=sum
}
"""


def test_long_scans_are_split_until_all_are_short():
    """As in XLA:CPU: the parts of a split scan may be too long again."""
    module = Module.from_text(LONG_SCAN)
    assert module.run("reduce-window-rewriter")
    sizes = re.findall(r"window=\{size=([0-9x]+)", module.to_text())
    assert len(sizes) > 1
    assert all(int(size) <= 16 for window in sizes for size in window.split("x"))
    assert not module.run("reduce-window-rewriter")


def _calls(sines: int, times: int) -> Module:
    """Returns a module that calls a computation of so many sines several times in turn."""
    body = "\n".join(f"  x{n + 1} = f32[] sine(x{n})" for n in range(sines - 1))
    calls = "\n".join(f"  v{n + 1} = f32[] call(v{n}), to_apply=f" for n in range(times))
    return Module.from_text(f"""
HloModule calls
f {{
  p = f32[] parameter(0)
  x0 = f32[] sine(p)
{body}
  ROOT end = f32[] negate(x{sines - 1})
}}
ENTRY main {{
  v0 = f32[] parameter(0)
{calls}
  ROOT end = f32[] abs(v{times})
}}
""")


@pytest.mark.parametrize(
    ("sines", "times", "inlined"),
    [(31, 3, ["", "small"]), (32, 3, [""]), (32, 1, ["", "small", "single-call-site"])],
)
def test_which_calls_are_inlined(sines, times, inlined):
    """Computations of up to 32 instructions, the parameter left out, are small."""
    left = {}
    for option in ("", "small", "single-call-site"):
        module = _calls(sines, times)
        changed = module.run(f"call-inliner:{option}" if option else "call-inliner")
        left[option] = module.op_counts()[hlograph.OPCODES.index("call")]
        assert changed == (left[option] == 0)
    assert left == {name: 0 if name in inlined else times for name in left}
