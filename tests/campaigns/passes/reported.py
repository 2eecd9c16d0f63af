"""Reports of wrong passes of XLA, each with what came of it here.

Those from openxla/xla#47290 to #47341 come from one campaign upstream, which compared XLA:CPU,
XLA:GPU and the interpreter on generated programs. Each names a pass without which the difference of
some programs goes away. The programs are attachments that are not at hand, so the modules here are
written after what the pass does.
"""

from __future__ import annotations

from tests.campaigns.passes import reported_modules as m
from tests.campaigns.passes.reports import Case, Outcome, Report

_ALGSIMP = ("algsimp", "algsimp:cpu")
_LOOPS = ("simplify-while-loops", "simplify-while-loops:compare")
_EXPS = (m.PRODUCT_OF_EXPS, m.QUOTIENT_OF_EXPS, m.QUOTIENT_BY_EXP, m.POWER_OF_EXP)
_GPU = "needs a GPU"
_LIBRARY = "jaxlib's XLA:CPU runs it after the passes here; plans choose libraries by placement"


def _diverges(
    number: int,
    upstream: str,
    programs: int,
    pair: str,
    outcome: Outcome = "no such pass",
    passes: tuple[str, ...] = (),
    cases: tuple[Case, ...] = (),
    note: str = "",
) -> Report:
    """Returns a report of the campaign: so many programs differ between two platforms."""
    claim = f"{programs} program{'s' if programs > 1 else ''} differ{'' if programs > 1 else 's'}"
    return Report(
        f"openxla/xla#{number}",
        upstream,
        f"{claim}, {pair}",
        passes,
        cases,
        outcome,
        note,
    )


_CPU, _GPU_PAIR, _BOTH = "CPU and interpreter", "with GPU only", "CPU, GPU and interpreter"

_CAMPAIGN = (
    _diverges(
        47290, "algsimp", 337, _BOTH, "different", _ALGSIMP,
        (m.LOG_OF_EXP, m.ROOT_OF_SQUARE, *_EXPS),
        "formulas that are equal over the reals",
    ),
    _diverges(47291, "all-reduce-simplifier", 1, _GPU_PAIR, note="needs several devices"),
    _diverges(
        47294, "call-inliner", 135, _BOTH, "equal",
        (
            "call-inliner", "call-inliner:small", "call-inliner:single-call-site",
            "flatten-call-graph",
        ),
        (m.CALLED_TWICE,), "compilers fuse what is inlined, and round otherwise",
    ),
    _diverges(
        47295, "comparison-expander", 13, _GPU_PAIR, "equal", ("comparison-expander",),
        m.TOTAL_ORDER, "all pairs of NaN, infinities, zeros of both signs, denormals",
    ),
    _diverges(47296, "composite-rewriter", 134, _GPU_PAIR, note=_GPU),
    _diverges(
        47299, "constant_folding", 1, _BOTH, "different", ("constant_folding",),
        (m.CONSTANT_SUM, m.CONSTANT_SUM_THAT_OVERFLOWS, m.CONSTANT_GATHER),
        "a folded sum is made in float64: no overflow in between",
    ),
    _diverges(47300, "conv-fusion-rewriter", 16, _GPU_PAIR, note=_GPU),
    _diverges(47303, "convolution_4d_expander", 3, _GPU_PAIR, note="compared with GPUs only"),
    _diverges(
        47304, "cse", 35, _BOTH, "equal", ("cse", "cse:ignore-control"),
        (m.ZEROS_OF_BOTH_SIGNS, m.XOR_OF_EQUALS, m.DIFFERENCE_OF_PRODUCTS),
        "constants of both zeros stay apart; compilers fuse what is merged otherwise",
    ),
    _diverges(
        47308, "dce", 5, _GPU_PAIR, "equal", ("dce",), (m.ZEROS_OF_BOTH_SIGNS,),
    ),
    _diverges(
        47309, "dot_decomposer", 4, _GPU_PAIR, "equal", ("dot_decomposer",),
        (m.DOT_OF_TWO_DIMENSIONS,),
    ),
    _diverges(47310, "dot-library-rewriter", 22, _CPU, note=_LIBRARY),
    _diverges(
        47312, "dynamic-dimension-simplifier", 1, _GPU_PAIR, "equal",
        ("dynamic-dimension-simplifier",), (m.SIZES,),
    ),
    _diverges(
        47314, "float-normalization-bf16", 65, _BOTH, "equal", ("float-normalization-bf16",),
        (m.BFLOAT16_SUM, m.BFLOAT16_CHAIN),
        "the evaluator rounds after each operation before and after the pass; compilers need not",
    ),
    _diverges(47315, "float-normalization-s4", 1, _CPU, note="4 bits are not in the registry"),
    _diverges(47319, "layout-assignment", 1, _CPU, note="needs a target"),
    _diverges(47320, "layout_normalization", 2, _GPU_PAIR, note=_GPU),
    _diverges(
        47321, "logistic-expander", 2, _GPU_PAIR, "rounding", ("logistic-expander",),
        (m.LOGISTIC, m.LOGISTIC_FLOAT16),
    ),
    _diverges(47324, "reduction-degenerate-dim-remover", 11, _GPU_PAIR, note=_GPU),
    _diverges(47325, "reduction-dimension-grouper", 44, _GPU_PAIR, note=_GPU),
    _diverges(47326, "reduction-splitter", 63, _GPU_PAIR, note=_GPU),
    _diverges(47327, "rename-instructions", 2, _GPU_PAIR, note=_GPU),
    _diverges(
        47328, "reshape-mover", 6, _GPU_PAIR, "equal",
        ("reshape-mover", "reshape-mover:cheap-broadcast"), (m.RESHAPED_OPERANDS,),
    ),
    _diverges(
        47329, "result_caster", 11, _CPU, "rounding", ("result_caster",), (m.NARROW_RESULT,),
        "sums are made in float32 and rounded once",
    ),
    _diverges(47330, "scatter_determinism_expander", 231, _GPU_PAIR, note=_GPU),
    _diverges(
        47331, "select_and_scatter_expander", 3, _GPU_PAIR, "equal",
        ("select_and_scatter_expander",), m.SELECTED_SUMS, "ties and NaN",
    ),
    _diverges(47332, "simplification", 1, _GPU_PAIR, note="a pipeline, not a pass"),
    _diverges(
        47333, "simplify-fp-conversions", 63, _BOTH, "different", ("simplify-fp-conversions",),
        (m.THROUGH_BFLOAT16, m.THROUGH_FLOAT16), "the rounding and the overflow are left out",
    ),
    _diverges(47334, "stable-sort-expander", 1, _GPU_PAIR, note=_GPU),
    _diverges(47335, "topk-specializer", 6, _GPU_PAIR, note=_GPU),
    _diverges(
        47337, "tree_reduction_rewriter", 17, _CPU, "different", ("tree_reduction_rewriter",),
        (m.SUM_OF_NORMALS, m.MAXIMUM_WITH_NAN, m.SUM_FROM_FIVE, m.REDUCED_DIFFERENCES),
        "an initial value that is not neutral counts for each part; sums alone differ by rounding",
    ),
    _diverges(
        47341, "while-loop-invariant-code-motion", 1, _GPU_PAIR, "equal",
        ("while-loop-invariant-code-motion", "while-loop-invariant-code-motion:all"),
        (m.DIVISION_IN_LOOP, *m.OTHER_LOOPS),
    ),
)  # fmt: skip

REPORTS: tuple[Report, ...] = (
    *_CAMPAIGN,
    Report(
        "openxla/xla#42732", "algsimp",
        "log(exp(x)) and sqrt(x * x) are folded although the inner value overflows",
        _ALGSIMP, (m.LOG_OF_EXP, m.ROOT_OF_SQUARE), "different", "documented: `Pass.claim`",
    ),
    Report(
        "jax-ml/jax#38099", "algsimp", "log(exp(89)) is 89 in float32", _ALGSIMP,
        (m.LOG_OF_EXP,), "different",
    ),
    Report(
        "jax-ml/jax#37919", "algsimp", "sqrt(abs(x * x)) is finite for the largest number",
        _ALGSIMP, (m.ROOT_OF_ABS,), "different",
    ),
    Report(
        "tensorflow/tensorflow#123169", "algsimp",
        "exp(a) * exp(b) becomes exp(a + b), and NaN a number; so do three more of exponentials",
        _ALGSIMP, _EXPS, "different",
    ),
    Report(
        "openxla/xla#44705", "algsimp",
        "xor of equal masks makes NaN of atan2", (*_ALGSIMP, "cse", "constant_folding"),
        (m.XOR_OF_EQUALS,), "equal", "code generation is wrong, no pass",
    ),
    Report(
        "jax-ml/jax#38602", "algsimp", "c / c is NaN where c is x * y - y * x",
        (*_ALGSIMP, "cse"), (m.DIFFERENCE_OF_PRODUCTS,), "equal",
        "code generation contracts the products, no pass",
    ),
    Report(
        "openxla/xla#49174", "algsimp", "maximum(x, sqrt(x)) loses NaN", _ALGSIMP,
        (m.MAXIMUM_OF_ROOT, *m.SELECT_OF_GREATER), "unchanged", "code generation is wrong",
    ),
    Report(
        "openxla/xla#48715", "algsimp",
        "a pad that crops is added to the padding of a window", _ALGSIMP,
        (m.CROP_BEFORE_WINDOW, m.CROP_BEFORE_CONVOLUTION), "refused",
    ),
    Report(
        "openxla/xla#48719", "algsimp",
        "a reduce-window of single elements that only crops ends the process", _ALGSIMP,
        (m.CROPPING_WINDOW,), "refused",
    ),
    Report(
        "openxla/xla#49121", "algsimp",
        "dynamic slices of dynamic slices are joined without the clamps of their indices",
        _ALGSIMP, (m.SLICE_OF_SLICE, m.UPDATE_OF_SLICE), "equal",
        "XLA's pass does; the entry clamps the indices first",
    ),
    Report(
        "tensorflow/tensorflow#123067", "simplify-while-loops",
        "a loop whose step passes its bound is removed with its one iteration", _LOOPS,
        (*m.MISCOUNTED_LOOPS, *m.OTHER_LOOPS), "refused",
    ),
    Report(
        "jax-ml/jax#33479", "constant_folding", "a folded gather reads the wrong elements",
        ("constant_folding", "gather_expander"), (m.CONSTANT_GATHER,), "equal",
    ),
    Report(
        "openxla/xla#47359", "topk-rewriter", "XLA:CPU has no code for top-k of other types",
        ("topk-rewriter",), (m.FIRST_OF_SORTED,), "equal", "the entry converts float32 only",
    ),
    Report(
        "tensorflow/tensorflow#119438", "topk-rewriter", "top-k ranks NaN highest",
        ("topk-rewriter",), (m.FIRST_OF_SORTED,), "equal",
        "the sort before the pass ranks NaN highest, too",
    ),
    Report(
        "openxla/xla#49143", "while-loop-all-reduce-code-motion",
        "gradients of scatters are summed up wrongly in a loop", (), (), "no such pass",
        "needs TPUs",
    ),
    Report(
        "openxla/xla#42041", "scalar-constant-sinker", "the process ends while loops are unrolled",
        (), (), "no such pass", _GPU,
    ),
)  # fmt: skip
"""All reports."""

OWN: tuple[Report, ...] = (
    Report(
        "", "algsimp", "an array of constants {-0.0, 1, 2} becomes an iota, which begins with 0",
        _ALGSIMP, (m.IOTA_WITH_NEGATIVE_ZERO,), "different", "`1 / x` becomes another infinity",
    ),
    Report(
        "", "algsimp", "a reduction of one element drops an initial value that is not neutral",
        _ALGSIMP, (m.SUM_OF_ONE_FROM_FIVE,), "different",
    ),
    Report(
        "", "reduce-window-rewriter", "an initial value that is not neutral counts several times",
        ("reduce-window-rewriter",), (m.SCAN_FROM_FIVE,), "different",
    ),
    Report(
        "", "convolution-group-converter", "an infinity in one group makes NaN in the others",
        ("convolution-group-converter",), (m.GROUPS_WITH_INFINITY,), "different",
    ),
)  # fmt: skip
"""Faults that were seen here, in the same form."""
