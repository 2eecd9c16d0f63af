"""Tests of the kinds of kernels and their libraries."""

import pytest

import hlograph
from hlograph.profiling.kernel_categories import KIND_OF_OPCODE, KINDS, kind_of, library_of
from hlograph.profiling.optimized_module import OptimizedModule


def _program(line, *, inner="", parameters="x: f32[8,8]"):
    """Returns a module with one instruction ``it``, and a computation ``inner``."""
    return OptimizedModule.from_text(
        "HloModule m\n\n"
        f"%inner (p: f32[8,8]) -> f32[8,8] {{\n  %p = f32[8,8]{{1,0}} parameter(0)\n{inner}\n}}\n\n"
        f"ENTRY %main ({parameters}) -> f32[8,8] {{\n  ROOT %it = {line}\n}}\n"
    )


def _of(line, **more):
    program = _program(line, **more)
    return kind_of(program.instructions["it"], program), library_of(program.instructions["it"])


def _inner(*opcodes, shape="f32[8,8]"):
    return "\n".join(f"  %i{n} = {shape} {opcode}(%p)" for n, opcode in enumerate(opcodes))


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("dot", "dot"),
        ("convolution", "convolution"),
        ("sort", "sort"),
        ("fft", "fft"),
        ("topk", "top-k"),
        ("cholesky", "linear algebra"),
        ("rng-bit-generator", "random numbers"),
        ("scatter", "gather or scatter"),
        ("reduce-window", "reduction"),
        ("tanh", "elementwise"),
        ("transpose", "transpose or copy"),
        ("dynamic-update-slice", "data movement"),
        ("while", "loop overhead"),
        ("conditional", "loop overhead"),
        ("call", "loop overhead"),
        ("all-reduce", "other"),
    ],
)
def test_kind_of_an_opcode(opcode, kind):
    assert _of(f"f32[8,8]{{1,0}} {opcode}(%x)")[0] == kind


def test_opcodes_of_the_table_exist():
    # These are new in the XLA of jaxlib.
    assert set(KIND_OF_OPCODE) - set(hlograph.OPCODES) <= {
        "erf",
        "multiply-high",
        "scan",
        "scaled-dot",
    }
    assert set(KIND_OF_OPCODE.values()) < set(KINDS)


@pytest.mark.parametrize(
    ("opcodes", "kind"),
    [
        (("multiply", "reduce", "add"), "reduction"),
        (("convert", "dot", "reduce", "copy"), "dot"),
        (("gather", "add"), "gather or scatter"),
        (("transpose", "add"), "elementwise"),
        (("slice", "transpose", "concatenate"), "transpose or copy"),
        (("slice", "pad"), "data movement"),
        (("bitcast",), "transpose or copy"),
    ],
)
def test_fusion_is_what_dominates_it(opcodes, kind):
    line = "f32[8,8]{1,0} fusion(%x), kind=kLoop, calls=%inner"
    assert _of(line, inner=_inner(*opcodes)) == (kind, "none")


def test_arithmetic_on_an_index_does_not_dominate():
    line = "f32[8,8]{1,0} fusion(%x), kind=kLoop, calls=%inner"
    index = _inner("add", shape="s32[]")
    assert _of(line, inner=index + "\n  %s = f32[8,8] dynamic-slice(%p)")[0] == "data movement"
    assert _of(line, inner=index)[0] == "elementwise"


@pytest.mark.parametrize("library", ["ynn", "onednn"])
def test_library_fusion_is_of_its_content(library):
    line = (
        "f32[8,8]{1,0} fusion(%x), kind=kCustom, calls=%inner, "
        f'backend_config={{"fusion_config":{{"kind":"__{library}_fusion"}}}}'
    )
    assert _of(line, inner=_inner("convolution", "add")) == ("convolution", library)


def test_call_that_is_one_kernel_is_of_its_content():
    line = "f32[8,8]{1,0} call(%x), to_apply=%inner"
    assert _of(line, inner=_inner("sort"))[0] == "loop overhead"
    small = line + ', frontend_attributes={xla_cpu_small_call="true"}'
    assert _of(small, inner=_inner("sort", "while"))[0] == "sort"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("TopK", ("top-k", "none")),
        ("lapack_spotrf_ffi", ("linear algebra", "none")),
        ("__onednn$matmul", ("dot", "onednn")),
        ("xla_ffi_python_cpu_callback", ("other", "none")),
    ],
)
def test_custom_calls(target, expected):
    assert _of(f'f32[8,8]{{1,0}} custom-call(%x), custom_call_target="{target}"') == expected


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}", "eigen"),
        ("f32[3,8,8]{2,1,0} dot(%x, %x), lhs_batch_dims={0}, rhs_batch_dims={0}", "eigen"),
        ("f32[3,8]{1,0} dot(%x, %x), lhs_batch_dims={0}, rhs_batch_dims={0}", "none"),
        ("f32[8,1]{1,0} dot(%x, %x), lhs_contracting_dims={1}", "none"),
        ("s64[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}", "none"),
        ("f32[1,8,8,4]{3,2,1,0} convolution(%x, %x), window={size=3x3}", "eigen"),
        ("f64[1,8,8,4]{3,2,1,0} convolution(%x, %x), window={size=3x3}", "none"),
    ],
)
def test_library_of_dots_and_convolutions(line, library):
    assert _of(line)[1] == library


@pytest.mark.parametrize("target", sorted({rule.kernel for rule in hlograph.rules if rule.kernel}))
def test_every_native_kernel_has_a_kind(target):
    line = f'f32[8,8]{{1,0}} custom-call(%x), custom_call_target="{target}"'
    assert _of(line)[0] != "other"
