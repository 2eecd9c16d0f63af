"""Defects of XLA's passes that walks over the corpus found, each on the smallest module."""

import subprocess
import sys
from pathlib import Path

import pytest

import hlograph
from hlograph import Module, PassError, VerificationError
from tests.campaigns.passes import reported_modules
from tests.campaigns.passes.reports import try_pass


def run_twice(text: str, name: str) -> tuple[Module, Module]:
    modules = Module.from_text(text), Module.from_text(text)
    for module in modules:
        module.verify()
        module.run(name)
        module.verify()
    return modules


# One side of the new dot has no dimension of its own: XLA builds it and decides against it.
UNPROFITABLE = {
    "slice": """
HloModule slice_of_dot
ENTRY main {
  a = f32[5,5] parameter(0)
  b = f32[4,5] parameter(1)
  product = f32[5,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT row = f32[1,4] slice(product), slice={[0:1], [0:4]}
}
""",
    "reduce": """
HloModule reduce_of_dot
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT sum = f32[] add(x, y) }
ENTRY main {
  a = f32[5,5] parameter(0)
  b = f32[4,5] parameter(1)
  zero = f32[] constant(0)
  product = f32[5,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT sums = f32[4] reduce(product, zero), dimensions={0}, to_apply=add
}
""",
}


@pytest.mark.parametrize("text", UNPROFITABLE.values(), ids=UNPROFITABLE)
def test_raise_through_dot_leaves_nothing_of_what_it_decides_against(text):
    """XLA's pass adds a dot and more on each run, and reports no change."""
    module = Module.from_text(text)
    for _ in range(4):
        fingerprint = module.fingerprint()
        changed = module.run("algsimp:raise-through-dot")
        assert (module.fingerprint(cached=False) != fingerprint) == changed
    assert not changed
    assert module.op_count < 20
    assert not module.run("dce")


def test_raise_through_dot_still_raises_slices():
    text = """
HloModule slice_of_dot
ENTRY main {
  a = f32[16,5] parameter(0)
  b = f32[5,16] parameter(1)
  product = f32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT corner = f32[4,4] slice(product), slice={[0:4], [0:4]}
}
"""
    module = Module.from_text(text)
    plain = module.clone()
    plain.run("algsimp")
    assert module.run("algsimp:raise-through-dot")
    assert "f32[16,16]" in plain.to_text()
    assert "f32[16,16]" not in module.to_text()


INDEX_VECTOR = """
HloModule indices_in_a_vector
ENTRY main {
  x = f32[6,4] parameter(0)
  index = s32[2] parameter(1)
  y = f32[2,2] parameter(2)
  cut = f32[2,2] dynamic-slice(x, index), dynamic_slice_sizes={2,2}
  put = f32[6,4] dynamic-update-slice(x, y, index)
  ROOT both = (f32[2,2], f32[6,4]) tuple(cut, put)
}
"""


@pytest.mark.parametrize("name", [n for n in hlograph.passes.names if n.startswith("algsimp")])
def test_algsimp_takes_dynamic_slices_with_an_index_vector(name):
    """XLA's pass reads beyond the operands, unless dynamic-index-splitter runs first."""
    module, _ = run_twice(INDEX_VECTOR, name)
    assert "(x, index)" not in module.to_text()


TOPK_OF_VALUES = """
HloModule topk
greater {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT more = pred[] compare(x, y), direction=GT, type=TOTALORDER
}
ENTRY main {
  p = f32[8,32] parameter(0)
  top = (f32[8,3], s32[8,3]) custom-call(p), custom_call_target="TopK",
      called_computations={greater}
  ROOT indices = s32[8,3] get-tuple-element(top), index=1
}
"""


def test_topk_decomposer_leaves_a_comparator_of_values_alone():
    """XLA's pass calls it from a sort of values and indices, which the verifier rejects."""
    module, _ = run_twice(TOPK_OF_VALUES, "topk-decomposer")
    assert "TopK" in module.to_text()


def test_topk_decomposer_takes_custom_calls_of_any_form():
    text = TOPK_OF_VALUES.replace(",\n      called_computations={greater}", "")
    run_twice(text, "topk-decomposer")
    run_twice(text.replace("TopK", "other"), "topk-decomposer")


def test_topk_decomposer_still_decomposes_the_operation():
    text = """
HloModule topk
ENTRY main {
  p = f32[8,32] parameter(0)
  top = (f32[8,3], s32[8,3]) topk(p), k=3, largest=true
  ROOT indices = s32[8,3] get-tuple-element(top), index=1
}
"""
    module, _ = run_twice(text, "topk-decomposer")
    assert " sort(" in module.to_text()
    assert " topk(" not in module.to_text()


RNG = """
HloModule rng
ENTRY main {
  a = f32[] constant(0)
  b = f32[] constant(1)
  uniform = f32[3,5] rng(a, b), distribution=rng_uniform
  normal = f32[7] rng(a, b), distribution=rng_normal
  ROOT both = (f32[3,5], f32[7]) tuple(uniform, normal)
}
"""


def test_rng_expander_is_deterministic():
    """XLA's pass draws the key of each rng from a generator of the process."""
    one, other = run_twice(RNG, "rng-expander")
    assert one.fingerprint() == other.fingerprint()
    assert " rng(" not in one.to_text()
    # Both calls, and both states that make their numbers differ, are there.
    assert one.to_text().count(" rng-get-and-update-state(") == 2


SHARED_COMPUTATION = """
HloModule shared, replica_count=2
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT sum = f32[] add(x, y) }
ENTRY main {
  p = f32[4,3] parameter(0)
  zero = f32[] constant(0)
  sums = f32[4] reduce(p, zero), dimensions={1}, to_apply=add
  ROOT all = f32[4] all-reduce(sums), replica_groups={{0,1}}, to_apply=add
}
"""


@pytest.mark.parametrize("name", ["float-normalization-bf16", "bf16-mixed-precision-removal"])
def test_float_normalization_reports_the_computations_that_it_clones(name):
    module = Module.from_text(SHARED_COMPUTATION)
    fingerprint = module.fingerprint()
    assert module.run(name)
    assert module.fingerprint() != fingerprint
    assert not module.run(name)
    module.verify()


ENDLESS = """
HloModule endless
body {
  n = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(n, one)
}
condition { m = s32[] parameter(0) ROOT yes = pred[] constant(true) }
ENTRY main {
  zero = s32[] constant(0)
  ROOT never = s32[] while(zero), condition=condition, body=body
}
"""


def test_no_pass_evaluates_a_loop_that_does_not_end():
    """Constant folding of level kAggressive would, for ever."""
    assert "constant_folding:aggressive" not in hlograph.passes
    for entry in hlograph.passes:
        Module.from_text(ENDLESS).run(entry)


# XLA prints "-0", and its parser reads that as an integer.
NEGATIVE_ZERO = """
HloModule zeros
ENTRY main {
  scalar = f32[] constant(-0.0)
  row = f32[3] constant({-0.0, -0.5, -0.0})
  table = bf16[2,2] constant({{-0.0, 0}, {0, -0.0}})
  complex = c64[] constant((-0.0, 2))
  whole = s32[2] constant({0, -10})
  odd = f32[] constant(-0.0), frontend_attributes={text="( -0, -0 )"}
  ROOT all = (f32[], f32[3], bf16[2,2], c64[], s32[2], f32[])
      tuple(scalar, row, table, complex, whole, odd)
}
"""


def test_text_keeps_negative_zeros():
    module = Module.from_text(NEGATIVE_ZERO)
    assert Module.from_text(module.to_text()).fingerprint() == module.fingerprint()
    positive = Module.from_text(NEGATIVE_ZERO.replace("-0.0", "0"))
    assert positive.fingerprint() != module.fingerprint()
    assert 'text="( -0, -0 )"' in module.to_text()


# Each of the following modules is valid, and ended the process.

SCALAR_SELECT_AND_SCATTER = """
HloModule scalars
ge { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = pred[] compare(x, y), direction=GE }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  zero = f32[] constant(0)
  ROOT o = f32[] select-and-scatter(p, q, zero), window={}, select=ge, scatter=add
}
"""


def test_select_and_scatter_expander_leaves_scalars_alone():
    module, _ = run_twice(SCALAR_SELECT_AND_SCATTER, "select_and_scatter_expander")
    assert " select-and-scatter(" in module.to_text()


EMPTY_SLICES = {
    "slice": "ROOT cut = f32[0] slice(one), slice={[0:0]}",
    "dynamic-slice": "ROOT cut = f32[0] dynamic-slice(one, zero), dynamic_slice_sizes={0}",
}


@pytest.mark.parametrize("cut", EMPTY_SLICES.values(), ids=EMPTY_SLICES)
def test_algsimp_takes_slices_without_elements(cut):
    """XLA's pass makes a reshape of one element to none, which is a failed check."""
    text = f"""
HloModule empty_slice
ENTRY main {{
  scalar = f32[] parameter(0)
  zero = s32[] constant(0)
  one = f32[1] broadcast(scalar), dimensions={{}}
  {cut}
}}
"""
    for name in [n for n in hlograph.passes.names if n.startswith("algsimp")]:
        module, _ = run_twice(text, name)
        assert "slice(" not in module.to_text()
    module = Module.from_text(text)
    module.run(hlograph.pipelines["xla-simplify"])
    assert "slice(" not in module.to_text()
    found = Module.from_text(text).rewrites(["algebraic"])
    assert "cut" not in [rewrite.instruction for rewrite in found]


SCALAR_SLICES = """
HloModule scalar_slices
ENTRY main {
  one = f32[] constant(1)
  two = f32[] constant(2)
  none = s32[0] constant({})
  cut = f32[] dynamic-slice(one), dynamic_slice_sizes={}
  put = f32[] dynamic-update-slice(one, two)
  old = f32[] dynamic-slice(two, none), dynamic_slice_sizes={}
  ROOT all = (f32[], f32[], f32[]) tuple(cut, put, old)
}
"""


def test_constant_folding_takes_dynamic_slices_of_scalars():
    """XLA's evaluator reads the first index, and there is none."""
    module, _ = run_twice(SCALAR_SLICES, "constant_folding")
    assert "slice(" not in module.to_text()


def test_cost_of_dynamic_slices_of_scalars():
    """XLA's cost analysis reads the first index, and there is none."""
    module = Module.from_text(SCALAR_SLICES)
    # Two operands of a float each and a float for the update; the index vector has no bytes.
    assert 20 <= module.cost().bytes_accessed <= 100
    assert module.cost().flops == 0


DYNAMIC_CONSTANT = """
HloModule dynamic_constant
ENTRY main {
  one = f32[] constant(1)
  many = f32[2,3] broadcast(one), dimensions={}
  size = s32[] constant(1)
  bounded = f32[<=2,3] set-dimension-size(many, size), dimensions={0}
  negated = f32[<=2,3] negate(bounded)
  ROOT back = s32[] get-dimension-size(negated), dimensions={0}
}
"""


def test_dynamic_padder_refuses_dimensions_without_a_bound():
    """XLA takes their size, the least number of 64 bits, for that of a static dimension."""
    text = """
HloModule exported_with_symbolic_sizes
ENTRY main {
  x = f32[?,2] parameter(0)
  ROOT y = f32[?,2] negate(x)
}
"""
    module = Module.from_text(text)
    for steps in ("dynamic_padder", "xla-cpu"):
        with pytest.raises(PassError, match="needs a bound of each dimension, such as x"):
            module.run(steps)
        assert module.fingerprint(cached=False) == Module.from_text(text).fingerprint()


def test_constant_folding_refuses_arrays_of_dynamic_size():
    """XLA's pass makes a constant of unknown size, which ends the process when it is printed."""
    module = Module.from_text(DYNAMIC_CONSTANT)
    before = module.structure()
    with pytest.raises(PassError, match="constant_folding does not fold constants of dynamic size"):
        module.run("constant_folding")
    assert module.structure() == before
    assert module.rewrites(["constant_folding"]) == []


@pytest.mark.parametrize(
    "line",
    [
        "ROOT all = f32[0] all-gather(p), replica_groups={{0}}, dimensions={0}",
        "ROOT all = f32[0] reduce-scatter(p), replica_groups={{0}}, dimensions={0}, to_apply=add",
    ],
)
def test_verify_refuses_collectives_without_elements(line):
    """XLA's verifier divides by the size of a dimension."""
    add = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}"
    module = Module.from_text(
        f"HloModule empty\n\n{add}\n\nENTRY main {{\n  p = f32[0] parameter(0)\n  {line}\n}}\n"
    )
    with pytest.raises(VerificationError, match="without elements"):
        module.verify()


@pytest.mark.parametrize("dimension", [2, 7, -1])
def test_verify_refuses_sorts_along_no_dimension(dimension):
    """XLA's verifier ends the process."""
    module = Module.from_text(f"""
HloModule sorts

less {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}}

ENTRY main {{
  x = f32[3,4] parameter(0)
  y = s32[3,4] parameter(1)
  ROOT s = (f32[3,4], s32[3,4]) sort(x, y), dimensions={{{dimension}}}, to_apply=less
}}
""")
    with pytest.raises(VerificationError, match="to sort along one of 2 dimensions"):
        module.verify()


CROPPING_WINDOW = reported_modules.CROPPING_WINDOW.text
PADDED_CROP = reported_modules.CROP_BEFORE_WINDOW.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CROPPING_WINDOW, "does not take reduce-windows that only crop, such as r"),
        (PADDED_CROP, "does not take windows that pad what a pad crops, such as r"),
        (reported_modules.CROP_BEFORE_CONVOLUTION.text, "does not take windows that pad"),
    ],
)
def test_algsimp_refuses_windows_that_it_would_simplify_wrongly(text, message):
    """XLA's pass ends the process, or adds the padding to what is cropped."""
    for name in ("algsimp", "algsimp:raise-through-dot"):
        with pytest.raises(PassError, match=message):
            Module.from_text(text).run(name)


UNSAFE = (
    reported_modules.CROPPING_WINDOW,
    reported_modules.CROP_BEFORE_WINDOW,
    reported_modules.CROP_BEFORE_CONVOLUTION,
    reported_modules.SLICE_OF_SLICE,
    reported_modules.UPDATE_OF_SLICE,
)


@pytest.mark.parametrize("case", UNSAFE)
def test_the_algebraic_rule_leaves_alone_what_it_would_simplify_wrongly(case):
    rewrites = Module.from_text(case.text).rewrites(["algebraic"])
    assert "r" not in {rewrite.instruction for rewrite in rewrites}


def test_algsimp_still_takes_windows_that_crop_and_pad_different_sides():
    text = PADDED_CROP.replace("0_0_1x-1_0", "0_0x0_-1").replace("1_0}, to", "1_0}, to")
    module, _ = run_twice(text, "algsimp")
    assert module.equivalent_to(Module.from_text(text))


@pytest.mark.parametrize(
    "case", [reported_modules.SLICE_OF_SLICE, reported_modules.UPDATE_OF_SLICE]
)
def test_algsimp_clamps_the_indices_of_slices_of_slices(case):
    """XLA's pass adds the indices of both slices, and clamps their sum alone."""
    for name in ("algsimp", "algsimp:one-pass", "algsimp:raise-through-dot"):
        assert try_pass(case, name) == "equal"
        module, _ = run_twice(case.text, name)
        assert not module.run(name)


def test_algsimp_joins_slices_whose_indices_are_in_range_as_before():
    text = reported_modules.SLICE_OF_SLICE.text.replace("parameter(1)", "constant(2)").replace(
        "parameter(2)", "constant(3)"
    )
    module, _ = run_twice(text, "algsimp")
    assert "clamp" not in module.to_text()
    assert "dynamic-slice" not in module.to_text()


INDEX_OF_TABLE = """  n = s32[] parameter(2)
  table = s32[4] constant({0, 2, 4, LAST})
  looked_up = s32[1] dynamic-slice(table, n), dynamic_slice_sizes={1}
  j = s32[] reshape(looked_up)
"""


@pytest.mark.parametrize(("last", "clamps"), [("5", False), ("6", True), ("-1", True)])
def test_algsimp_clamps_indices_from_tables_only_if_they_may_be_out_of_range(last, clamps):
    """Programs that were partitioned over devices look their indices up in constants."""
    text = reported_modules.SLICE_OF_SLICE.text.replace("parameter(1)", "constant(2)")
    text = text.replace("  j = s32[] parameter(2)\n", INDEX_OF_TABLE.replace("LAST", last))
    text = text.replace("n = s32[] parameter(2)", "n = s32[] parameter(1)")
    module, _ = run_twice(text, "algsimp")
    assert ("clamp" in module.to_text()) == clamps
    assert module.equivalent_to(Module.from_text(text))


@pytest.mark.parametrize("name", ["simplify-while-loops", "simplify-while-loops:compare"])
@pytest.mark.parametrize("numbers", [(0, 2, 1, "LT"), (5, 3, 3, "LE")])
def test_loops_that_xla_counts_wrongly_are_refused(name, numbers):
    """XLA counts no iteration of a loop whose first step passes its bound."""
    module = Module.from_text(reported_modules.counted_loop(*numbers))
    before = module.fingerprint()
    with pytest.raises(PassError, match="loops whose iterations XLA counts wrongly, such as r"):
        module.run(name)
    assert module.fingerprint(cached=False) == before


@pytest.mark.parametrize(
    ("numbers", "iterations"),
    [
        ((0, 1, 1, "LT"), 1),
        ((0, 7, 5, "LT"), 1),
        ((5, 1, 3, "LT"), 0),
        ((1, -2, 0, "GE"), 1),
        ((4, 1, 3, "LE"), 0),
    ],
)
def test_loops_of_at_most_one_iteration_are_still_removed(numbers, iterations):
    case = reported_modules.loop_case(*numbers)
    module, _ = run_twice(case.text, "simplify-while-loops")
    assert "while" not in module.to_text()
    assert module.to_text().count("negate") == iterations
    assert try_pass(case, "simplify-while-loops") == "equal"


def explosion(levels: int) -> str:
    """A module whose computations call the one before twice: inlined, 2**levels and more."""
    computations = "".join(
        f"""
f_{level} {{
  x{level} = f32[4] parameter(0)
  y{level} = f32[4] {f"call(x{level}), to_apply=f_{level - 1}" if level else f"negate(x{level})"}
  ROOT z{level} = f32[4] {f"call(y{level}), to_apply=f_{level - 1}" if level else f"abs(y{level})"}
}}
"""
        for level in range(levels)
    )
    return f"""HloModule explosion
{computations}
ENTRY main {{
  p = f32[4] parameter(0)
  t = (f32[4]) tuple(p)
  g = f32[4] get-tuple-element(t), index=0
  ROOT r = f32[4] call(g), to_apply=f_{levels - 1}
}}
"""


@pytest.mark.parametrize("name", ["call-inliner", "flatten-call-graph"])
def test_a_pass_whose_copies_would_fill_the_memory_is_refused(name: str):
    module = Module.from_text(explosion(30))
    before = module.to_text()
    with pytest.raises(PassError, match="at most 4194304 are made"):
        module.run(name)
    assert module.to_text() == before
    few = Module.from_text(explosion(5))
    assert few.run(name)
    assert few.op_count >= 2**5


@pytest.mark.parametrize("name", ["call-inliner:small", "call-inliner:single-call-site"])
def test_a_pass_that_inlines_small_computations_does_not_explode(name: str):
    # Not more levels: XLA asks each call anew whether anything that it calls has side effects.
    module = Module.from_text(explosion(15))
    module.run(name)
    assert module.op_count < 15 * 64


OUT_OF_MEMORY = """
import ctypes, resource, sys, threading
from pathlib import Path
from hlograph import Module, PassError, passes

text = sys.stdin.read()
passes.names  # loads the extension


class Library(ctypes.Structure):  # struct dl_phdr_info of <link.h>
    _fields_ = [
        ("address", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.c_void_p),
        ("num_headers", ctypes.c_uint16),
        ("added", ctypes.c_ulonglong),
        ("removed", ctypes.c_ulonglong),
        ("tls_module", ctypes.c_size_t),
        ("tls_data", ctypes.c_void_p),
    ]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Library), ctypes.c_size_t, ctypes.c_void_p)
def allocate(library, size, data):
    module = library.contents.tls_module
    if module:
        libc.__tls_get_addr((ctypes.c_size_t * 2)(module, 0))
    return 0


# glibc ends a process that finds no memory for the thread-local data of a library, which it
# allocates on first use. So that is done before the limit.
libc = ctypes.CDLL(None)


def main():
    libc.dl_iterate_phdr(allocate, None)
    module = Module.from_text(text)
    assert module.run("tuple-simplifier")
    before, fingerprint = module.to_text(), module.fingerprint()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (int(sys.argv[2]) << 20)
    # For the pass alone: the checks need memory of their own.
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        module.run(sys.argv[1])
    except PassError as error:
        assert "more memory than there is" in str(error), error
    else:
        raise AssertionError("the pass had memory enough")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    assert module.to_text() == before
    assert module.fingerprint(cached=False) == fingerprint
    assert module.clone().fingerprint(cached=False) == fingerprint
    module.verify()
    print("unharmed")


# The stack of the main thread grows on use, which the limit forbids; a thread has all of its own.
threading.stack_size(64 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


def test_a_pass_that_runs_out_of_memory_leaves_the_module_as_it_was():
    """The allocator throws in the middle of the pass, in a process of little memory.

    XLA is compiled without clean-up after exceptions. Where the allocation fails differs from run
    to run, and in some places, one of thirty seen, XLA ends the process by a signal. A process that
    goes on must have the module that it had.
    """
    done = [
        subprocess.run(
            [sys.executable, "-c", OUT_OF_MEMORY, name, str(mebibytes)],
            input=explosion(20),
            capture_output=True,
            text=True,
            timeout=300,
            cwd=Path(__file__).parents[3],
        )
        for name in ("call-inliner", "flatten-call-graph")
        for mebibytes in (128, 256)
    ]
    results = [(each.returncode, each.stdout, each.stderr) for each in done]
    assert all(each.stdout == "unharmed\n" or each.returncode < 0 for each in done), results
    assert any(each.stdout == "unharmed\n" for each in done), results
