"""Kinds of kernels in plain words, and the libraries that run them."""

from __future__ import annotations

import re

from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.reading.hlo_text import InstructionText, numbers

CONVOLUTION = "convolution"
DOT = "dot"
SORT = "sort"
TOP_K = "top-k"
FFT = "fft"
LINEAR_ALGEBRA = "linear algebra"
RANDOM = "random numbers"
GATHER = "gather or scatter"
REDUCTION = "reduction"
ELEMENTWISE = "elementwise"
TRANSPOSE = "transpose or copy"
MOVEMENT = "data movement"
LOOP = "loop overhead"
OTHER = "other"
OUTSIDE = "outside kernels"

KINDS = (
    *(CONVOLUTION, DOT, SORT, TOP_K, FFT, LINEAR_ALGEBRA, RANDOM, GATHER, REDUCTION, ELEMENTWISE),
    *(TRANSPOSE, MOVEMENT, LOOP, OTHER, OUTSIDE),
)
"""All kinds. A fusion is of the first of these kinds that its computation contains."""

_OPCODES = {
    CONVOLUTION: "convolution",
    DOT: "dot ragged-dot scaled-dot",
    SORT: "sort",
    TOP_K: "topk",
    FFT: "fft",
    LINEAR_ALGEBRA: "cholesky triangular-solve",
    RANDOM: "rng rng-bit-generator rng-get-and-update-state",
    GATHER: "gather scatter select-and-scatter",
    REDUCTION: "reduce reduce-window scan",
    ELEMENTWISE: (
        "abs acos acosh add and asin asinh atan2 atanh cbrt ceil clamp compare complex convert "
        "cosine cosh count-leading-zeros divide erf exponential exponential-minus-one floor imag "
        "is-finite log log-plus-one logistic map maximum minimum multiply multiply-high negate not "
        "or popcnt power real reduce-precision remainder round-nearest-afz round-nearest-even "
        "rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine sinh sqrt "
        "stochastic-convert subtract tan tanh xor"
    ),
    TRANSPOSE: "copy reshape transpose bitcast-convert",
    MOVEMENT: (
        "broadcast concatenate dynamic-reshape dynamic-slice dynamic-update-slice iota pad reverse "
        "slice set-dimension-size"
    ),
    LOOP: "call conditional while",
}

KIND_OF_OPCODE = {opcode: kind for kind, codes in _OPCODES.items() for opcode in codes.split()}
"""Kind of each opcode that takes time and is no fusion or custom call."""

FREE = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}
    | {"add-dependency", "domain", "optimization-barrier", "get-dimension-size"}
)
"""Opcodes that take no time."""

# The first entry that the target of a custom call contains says its kind.
_KIND_OF_TARGET = (
    ("TopK", TOP_K),
    ("$matmul", DOT),
    ("$convolution", CONVOLUTION),
    ("$softmax", REDUCTION),
    ("$layernorm", REDUCTION),
    ("lapack_", LINEAR_ALGEBRA),
    ("blas_", LINEAR_ALGEBRA),
    ("cpu_lu_", LINEAR_ALGEBRA),
    ("tridiagonal", LINEAR_ALGEBRA),
    ("threefry", RANDOM),
    ("kernel.sort", SORT),
    ("kernel.top_k", TOP_K),
    ("kernel.int8_product", DOT),
    ("kernel.complex_rows", DOT),
    ("kernel.small_", LINEAR_ALGEBRA),
    ("kernel.binary_search", GATHER),
    ("kernel.scatter_add", GATHER),
    ("kernel.cumulative", REDUCTION),
    ("kernel.convolution", CONVOLUTION),
    ("kernel.fourier", FFT),
    ("kernel.recurrence", DOT),
    ("PadToStatic", MOVEMENT),
    ("SliceToDynamic", MOVEMENT),
    ("fft", FFT),
)

_LIBRARY_FUSION = re.compile(r'"kind":"__(ynn|onednn)_fusion"')
_ARRAY = re.compile(r"(\w+)\[([\d,<=]*)\]")
# XLA:CPU has these types' products and convolutions computed by Eigen.
_EIGEN_DOTS = frozenset({"f16", "f32", "f64", "c64", "c128", "s32"})
_EIGEN_CONVOLUTIONS = frozenset({"f16", "f32"})


def kind_of(instruction: InstructionText, program: OptimizedModule) -> str:
    """Returns the kind of kernel that implements an instruction: one of ``KINDS``.

    A fusion, also one that a library runs, has the kind of what dominates its computation: the
    first of ``KINDS`` that is in it. So has a call whose whole computation is one kernel. A loop,
    branch or other call is ``loop overhead``: its time does not include the steps inside.

    Args:
        instruction: An instruction of the program.
        program: The program.
    """
    if instruction.opcode == "fusion" or is_kernel_call(instruction):
        return _dominant(instruction.calls, program)
    if instruction.opcode == "custom-call":
        target = instruction.attribute("custom_call_target")
        return next((kind for part, kind in _KIND_OF_TARGET if part in target), OTHER)
    return KIND_OF_OPCODE.get(instruction.opcode, OTHER)


def library_of(instruction: InstructionText) -> str:
    """Returns the library that runs an instruction: ``ynn``, ``onednn``, ``eigen`` or ``none``.

    Fusions and custom calls name their library. For a dot or convolution outside of fusions it
    follows from the type and shape, by the rules of XLA:CPU: matrix-vector products and other
    types are generated code.
    """
    if match := _LIBRARY_FUSION.search(instruction.attributes):
        return match.group(1)
    if instruction.opcode == "custom-call":
        target = instruction.attribute("custom_call_target")
        return "onednn" if target.startswith('"__onednn') else "none"
    array = _ARRAY.match(instruction.shape)
    if array is None:
        return "none"
    dims = [int(size) for size in array.group(2).split(",") if size.isdigit()]
    if instruction.opcode == "dot":
        inner = dims[len(numbers(instruction.attribute("lhs_batch_dims"))) :]
        is_product = len(inner) == 2 and 1 not in inner
        return "eigen" if is_product and array.group(1) in _EIGEN_DOTS else "none"
    if instruction.opcode == "convolution" and array.group(1) in _EIGEN_CONVOLUTIONS:
        plain = not re.search(r"batch_group_count=|rhs_reversal=", instruction.tail)
        return "eigen" if plain and 3 <= len(dims) <= 5 else "none"
    return "none"


def is_kernel_call(instruction: InstructionText) -> bool:
    """Returns True for a call that XLA:CPU compiles to one kernel, loops in it included."""
    return instruction.opcode == "call" and 'xla_cpu_small_call="true"' in instruction.attributes


def _dominant(called: tuple[str, ...], program: OptimizedModule) -> str:
    """Returns the first of ``KINDS`` in computations and those that they call."""
    kinds, scalars = set(), set()
    for name in called:
        for instruction in program.computations.get(name, ()):
            if instruction.opcode in FREE:
                continue
            if instruction.opcode in ("while", "conditional", "call"):
                kinds.add(_dominant(instruction.calls, program))
                continue
            kind = kind_of(instruction, program)
            # Arithmetic on one number, such as an index, does not dominate.
            is_scalar = kind == ELEMENTWISE and "[]" in instruction.shape
            (scalars if is_scalar else kinds).add(kind)
    return min(kinds or scalars or {TRANSPOSE}, key=KINDS.index)
