"""The work of modules: known amounts, loops, and rewrites that change it."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph import corpus
from hlograph._native import native
from hlograph.execution.rates import features

SCALAR_SUM = """
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
"""


def work_of(module):
    names = features()
    return {names[feature]: amount for feature, amount in native().work(module._native)}


def work(body, before=""):
    module = hlograph.Module.from_text(f"HloModule m\n{before}\nENTRY e {{\n{body}\n}}\n")
    amounts = work_of(module)
    del amounts["programs"], amounts["result_bytes"]
    amounts.pop("argument_bytes", None)
    return amounts


def test_bytes_of_a_module():
    module = hlograph.Module.from_text(
        "HloModule m\nENTRY e {\n a = f32[8] parameter(0)\n"
        " b = s64[] parameter(1)\n ROOT t = (f32[8], f32[8]) tuple(a, a)\n}\n"
    )
    assert work_of(module) == {"programs": 1, "argument_bytes": 40, "result_bytes": 64}


@pytest.mark.parametrize(
    ("operation", "amounts"),
    [
        ("add(a, a)", {"elementwise": 1, "cheap_elements": 8192}),
        ("exponential(a)", {"elementwise": 1, "exponential_elements": 8192}),
        ("logistic(a)", {"elementwise": 1, "exponential_elements": 8192}),
        ("divide(a, a)", {"elementwise": 1, "divide_elements": 8192}),
        ("power(a, a)", {"elementwise": 1, "power_elements": 8192}),
        ("sqrt(a)", {"elementwise": 1, "square_root_elements": 8192}),
        ("copy(a)", {"kernels": 1, "moved_elements": 8192}),
    ],
)
def test_elementwise(operation, amounts):
    assert work(f"a = f32[64,128] parameter(0)\nROOT r = f32[64,128] {operation}") == amounts


def test_eight_bytes_count_twice():
    assert work("a = f64[100] parameter(0)\nROOT r = f64[100] negate(a)") == {
        "elementwise": 1,
        "cheap_elements": 200,
    }


def test_integer_divisions_are_a_kind_of_their_own():
    assert work("a = s32[100] parameter(0)\nROOT r = s32[100] remainder(a, a)") == {
        "elementwise": 1,
        "integer_divide_elements": 100,
    }


def test_few_numbers_are_no_kernel():
    assert work("a = f32[4] parameter(0)\nROOT r = f32[4] tanh(a)") == {"tanh_elements": 4}


DOT = "lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}"


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "numbers", "amounts"),
    [
        ("16,32", "32,64", "16,64", DOT.format(1, 0), {"dot_flops": 2 * 16 * 32 * 64}),
        ("16,3", "3,64", "16,64", DOT.format(1, 0), {"thin_dot_flops": 2 * 16 * 3 * 64}),
        (
            "5,16,32",
            "5,32,64",
            "5,16,64",
            f"lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, {DOT.format(2, 1)}",
            {"batched_dot_flops": 2 * 5 * 16 * 32 * 64, "batched_dots": 5},
        ),
        ("8,8", "8,8", "8,8", DOT.format(1, 0), {"dot_flops": 1024, "tiny_dots": 1, "dots": 0}),
    ],
)
def test_dots(lhs, rhs, result, numbers, amounts):
    found = work(
        f"a = f32[{lhs}] parameter(0)\nb = f32[{rhs}] parameter(1)\n"
        f"ROOT r = f32[{result}] dot(a, b), {numbers}"
    )
    if "thin_dot_flops" not in found:
        sizes = [math.prod(map(int, shape.split(","))) for shape in (lhs, rhs, result)]
        assert found.pop("dot_elements") == sum(sizes)
    expected = {"dots": 1} | amounts
    assert found == {name: amount for name, amount in expected.items() if amount}


def test_matrix_times_vector():
    found = work(
        "a = f32[16,32] parameter(0)\nb = f32[32] parameter(1)\n"
        f"ROOT r = f32[16] dot(a, b), {DOT.format(1, 0)}"
    )
    assert found == {"dots": 1, "matrix_vector_elements": 16 * 32 + 32 + 16}


def test_batches_of_vectors():
    found = work(
        "a = f32[9,16,32] parameter(0)\nb = f32[9,32] parameter(1)\n"
        "ROOT r = f32[9,16] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        f"{DOT.format(2, 1)}"
    )
    assert found["batched_vectors"] == 9
    assert "batched_dots" not in found


def convolution(channels, groups, kernel_inputs, window="size=3x3 pad=1_1x1_1", dtype="f32"):
    return work(
        f"a = {dtype}[1,8,8,{channels}] parameter(0)\n"
        f"b = {dtype}[3,3,{kernel_inputs},{channels}] parameter(1)\n"
        f"ROOT r = {dtype}[1,8,8,{channels}] convolution(a, b), window={{{window}}}, "
        f"dim_labels=b01f_01io->b01f, feature_group_count={groups}"
    )


GAPS = "size=3x3 pad=1_0x1_0 lhs_dilate=2x2 stride=2x2"
DILATED = "size=3x3 pad=2_2x2_2 rhs_dilate=2x2"


@pytest.mark.parametrize(
    ("settings", "kind", "groups"),
    [
        ((16, 1, 16), "convolution_flops", 0),
        ((4, 1, 4), "thin_convolution_flops", 0),
        ((16, 16, 1), "depthwise_convolution_flops", 16),
        ((16, 8, 2), "grouped_convolution_flops", 8),
        ((16, 1, 16, DILATED), "window_dilated_convolution_flops", 0),
        ((16, 1, 16, GAPS), "dilated_convolution_flops", 0),
        ((16, 1, 16, "size=3x3 pad=1_1x1_1", "s32"), "other_convolution_flops", 0),
    ],
)
def test_convolutions(settings, kind, groups):
    found = convolution(*settings)
    channels, _, inputs, *_ = settings
    assert found[kind] == 2 * 64 * channels * 9 * inputs
    assert found.get("convolution_groups", 0) == groups
    assert found["convolutions"] == 1


def test_gradients_of_grouped_kernels():
    found = work(
        "a = f32[4,8,8,16] parameter(0)\nb = f32[4,8,8,16] parameter(1)\n"
        "ROOT r = f32[3,3,1,16] convolution(a, b), window={size=8x8 pad=1_1x1_1}, "
        "dim_labels=f01b_i01o->01bf, batch_group_count=16"
    )
    assert found["batch_grouped_convolution_flops"] == 2 * 9 * 16 * 64 * 4


def test_top_k():
    jax = pytest.importorskip("jax")
    shape = jax.ShapeDtypeStruct((4, 256), "float32")
    lowered = jax.jit(lambda x: jax.lax.top_k(x, 5)).lower(shape)
    found = work_of(hlograph.Module.from_jax(lowered))
    assert found["top_k_elements"] == 1024
    assert found["comparisons"] == 4 * 5 * 8


def test_top_k_of_integers_is_a_sort():
    jax = pytest.importorskip("jax")
    shape = jax.ShapeDtypeStruct((4, 256), "int32")
    lowered = jax.jit(lambda x: jax.lax.top_k(x, 5)).lower(shape)
    assert work_of(hlograph.Module.from_jax(lowered))["comparisons"] == 4 * 256 * 8


@pytest.mark.parametrize(
    ("dimensions", "result", "kind"),
    [
        ("1", "64", "minor_reduced_elements"),
        ("0,1", "", "minor_reduced_elements"),
        ("0", "128", "reduced_elements"),
    ],
)
def test_reductions(dimensions, result, kind):
    found = work(
        "a = f32[64,128] parameter(0)\nz = f32[] constant(0)\n"
        f"ROOT r = f32[{result}] reduce(a, z), dimensions={{{dimensions}}}, to_apply=sum",
        SCALAR_SUM,
    )
    assert found == {"kernels": 1, kind: 64 * 128}


@pytest.mark.parametrize(
    ("operand", "dimension", "kind"),
    [
        ("64,65536", 0, "shallow_reduced_elements"),
        ("256,65536", 0, "reduced_elements"),
        ("65536,4", 0, "narrow_reduced_elements"),
        ("65536,4", 1, "short_reduced_elements"),
    ],
)
def test_kinds_of_reductions(operand, dimension, kind):
    result = operand.split(",")[1 - dimension]
    found = work(
        f"a = f32[{operand}] parameter(0)\nz = f32[] constant(0)\n"
        f"ROOT r = f32[{result}] reduce(a, z), dimensions={{{dimension}}}, to_apply=sum",
        SCALAR_SUM,
    )
    assert found == {"kernels": 1, kind: math.prod(map(int, operand.split(",")))}


@pytest.mark.parametrize(
    ("dtype", "dimension", "kind"),
    [("f32", 1, "comparisons"), ("s32", 1, "integer_comparisons"), ("s32", 0, "strided")],
)
def test_kinds_of_sorts(dtype, dimension, kind):
    less = f"less {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n"
    less += " ROOT l = pred[] compare(a, b), direction=LT\n}\n"
    body = f"a = {dtype}[1024,1024] parameter(0)\n"
    body += f"ROOT r = {dtype}[1024,1024] sort(a), dimensions={{{dimension}}}, to_apply=less"
    found = work(body, less)
    if kind == "strided":
        assert found["strided_sorted_elements"] == found["sorted_elements"] == 2**20
    else:
        assert found[kind] == 10 * 2**20
        assert "strided_sorted_elements" not in found


def test_sort_and_gather():
    less = "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    less += " ROOT l = pred[] compare(a, b), direction=LT\n}\n"
    body = "a = f32[10,1000] parameter(0)\n"
    body += "ROOT r = f32[10,1000] sort(a), dimensions={1}, to_apply=less"
    assert work(body, less) == {"sorts": 1, "comparisons": 1e5, "sorted_elements": 1e4}
    body = "a = f32[1000,64] parameter(0)\ni = s32[20,1] parameter(1)\n"
    body += "ROOT r = f32[20,64] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
    body += "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}"
    assert work(body) == {"kernels": 1, "gathered_slices": 20, "gathered_elements": 1280}


@pytest.mark.parametrize("lengths", ["16", "16,16", "16,16,16"])
def test_a_kernel_takes_half_the_operations_of_a_transform(lengths):
    module = hlograph.Module.from_text(
        "HloModule m\nENTRY e {\n a = c64[16,16,16] parameter(0)\n ROOT r = c64[16,16,16] fft(a), "
        f"fft_type=FFT, fft_length={{{lengths}}}\n}}\n"
    )
    operations = work_of(module)["transform_operations"]
    (rewrite,) = module.rewrites(["kernel-fourier"])
    module.apply(rewrite)
    assert work_of(module)["transform_operations"] == operations / 2


def test_a_kernel_does_the_work_of_a_recurrence():
    def function(h, xs, w):
        def step(h, x):
            h = jnp.tanh(h @ w + x)
            return h, h

        return jax.lax.scan(step, h, xs)

    shapes = (16, 32), (10, 16, 32), (32, 32)
    arrays = (np.ones(shape, np.float32) for shape in shapes)
    module = hlograph.Module.from_jax(jax.jit(function).lower(*arrays))
    module.run("call-inliner")
    names = ("dot_flops", "tanh_elements")
    before = [work_of(module)[name] for name in names]
    assert before == [2 * 10 * 16 * 32 * 32, 10 * 16 * 32]
    (rewrite,) = module.rewrites(["kernel-recurrence"])
    module.apply(rewrite)
    assert [work_of(module)[name] for name in names] == before


def loop(first=0, bound=10, step=1, direction="LT", inner="tanh(x)", size=1000, outer=""):
    state = f"(s32[], f32[{size}])"
    return f"""
body {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  c = s32[] constant({step})
  j = s32[] add(i, c)
  x = f32[{size}] get-tuple-element(s), index=1
  y = f32[{size}] {inner}
  ROOT t = {state} tuple(j, y)
}}
condition {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({bound})
  ROOT l = pred[] compare(i, n), direction={direction}
}}
""" + (
        outer
        or f"""
ENTRY e {{
  x = f32[{size}] parameter(0)
  i = s32[] constant({first})
  s = {state} tuple(i, x)
  ROOT w = {state} while(s), condition=condition, body=body
}}
"""
    )


@pytest.mark.parametrize(
    ("settings", "trips"),
    [
        ({}, 10),
        ({"first": 4}, 6),
        ({"step": 3}, 4),
        ({"direction": "LE"}, 11),
        ({"first": 9, "bound": 0, "step": -1, "direction": "GE"}, 10),
        ({"first": 20}, 0),
        ({"direction": "EQ"}, 8),
    ],
)
def test_trip_counts(settings, trips):
    found = work_of(hlograph.Module.from_text("HloModule m\n" + loop(**settings)))
    assert found.get("tanh_elements", 0) == 1000 * trips
    assert found.get("iterations", 0) == trips


@pytest.mark.parametrize(
    ("known", "trips"),
    [('{"n":"300"}', 300), ('{"n":"0"}', 0), ('{"n":"many"}', 10), ('{"n":"-1"}', 10), ("{}", 10)],
)
def test_trip_counts_that_xla_has_found_out_come_first(known, trips):
    text = loop().replace(
        "while(s),", f'while(s), backend_config={{"known_trip_count":{known},"new_field":[]}},'
    )
    found = work_of(hlograph.Module.from_text("HloModule m\n" + text))
    assert found.get("tanh_elements", 0) == 1000 * trips


def test_trip_count_of_an_unrolled_loop():
    jax = pytest.importorskip("jax")

    def repeated(x):
        return jax.lax.fori_loop(0, 64, lambda _, x: jax.numpy.tanh(x), x)

    module = hlograph.Module.from_jax(jax.jit(repeated).lower(jax.numpy.ones(1000)))
    module.run("call-inliner")
    (found,) = module.rewrites(["unroll-loop:8"])
    module.apply(found)
    amounts = work_of(module)
    assert amounts["iterations"] == 8
    assert amounts["tanh_elements"] == 64 * 1000


def test_loops_over_few_numbers():
    found = work_of(hlograph.Module.from_text("HloModule m\n" + loop(size=4)))
    assert found["small_iterations"] == 10
    assert "iterations" not in found


def test_nested_loops():
    """The body of the inner loop runs as often as both loops say."""
    jax = pytest.importorskip("jax")

    def nested(x):
        def inner(_, x):
            return jax.numpy.tanh(x)

        return jax.lax.fori_loop(0, 7, lambda _, x: jax.lax.fori_loop(0, 5, inner, x), x)

    shape = jax.ShapeDtypeStruct((1000,), "float32")
    found = work_of(hlograph.Module.from_jax(jax.jit(nested).lower(shape)))
    assert found["tanh_elements"] == 35_000
    assert found["iterations"] == 42


def test_rewrites_in_loops_count_as_often_as_they_run():
    module = hlograph.Module.from_text("HloModule m\n" + loop(inner="multiply(x, x)"))
    module.run("call-inliner")
    before = work_of(module)["cheap_elements"]
    assert before >= 10_000
    for rewrite in module.rewrites(hlograph.rules):
        after = module.clone()
        after.apply(rewrite)
        assert_adds_up(module, rewrite, after)


def assert_adds_up(before, rewrite, after):
    """Asserts that the work after a rewrite is that before and the rewrite's."""
    expected = dict(work_of(before))
    for feature, amount in rewrite.work:
        name = features()[feature]
        expected[name] = expected.get(name, 0) + amount
    found = work_of(after)
    for name in expected.keys() | found.keys():
        assert found.get(name, 0) == pytest.approx(expected.get(name, 0), rel=1e-9, abs=1e-6), (
            f"{rewrite}: {name}"
        )


@pytest.mark.parametrize("split", ["train", "validation"])
def test_work_of_rewrites_adds_up(split):
    chosen = [one for one in corpus.load("diverse", split=split) if one.op_count < 400][::40]
    for benchmark in itertools.islice(chosen, 6):
        module = benchmark.load()
        module.run("call-inliner")
        seen = set()
        for rewrite in module.rewrites(hlograph.rules):
            if rewrite.rule in seen:
                continue
            seen.add(rewrite.rule)
            after = module.clone()
            after.apply(rewrite)
            assert_adds_up(module, rewrite, after)
