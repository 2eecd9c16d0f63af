"""Loops of recurrent networks by a native kernel, beside NumPy and jaxlib's loops."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from benchmarks.speed_rules.lowering import array, lowered
from benchmarks.speed_rules.topics import loops, recurrences
from hlograph.execution.runs import Run
from hlograph.plans import Program
from hlograph.plans.compiling import compile_program
from tests.hlograph.transforms.kernels.kernel_checks import outputs_of, with_kernels

X = np.array(
    [[-np.inf, np.inf, np.nan, -200, 200, -87.5, 88.5, 0, -0.0, 1e-6, 2, -0.5, 7.3]], np.float32
)
Y = np.array([[1, np.nan, 1, 200, -200, 3, 88.5, 0, 0.0, -1e-6, 0.3, 5, -7.3]], np.float32)

FUNCTIONS = {
    "abs": np.abs,
    "exponential": np.exp,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "negate": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "compare-EQ": np.equal,
    "compare-NE": np.not_equal,
    "compare-GT": np.greater,
    "compare-GE": np.greater_equal,
    "compare-LT": np.less,
    "compare-LE": np.less_equal,
    "select": lambda x, y, z: np.where(x != 0, y, z),
}
"""Functions of rows, and what they are by NumPy."""


def _call(program: str, sizes: list[str], results: str, steps: int = 1) -> hlograph.Module:
    """Returns a module that calls the kernel."""
    parameters = "".join(f"  x{i} = f32[{size}] parameter({i})\n" for i, size in enumerate(sizes))
    attributes = f'program = "{program}", rows = 3 : i64, steps = {steps} : i64, reversed = false'
    return hlograph.Module.from_text(f"""HloModule rows
ENTRY main {{
{parameters}  ROOT result = {results} custom-call({", ".join(f"x{i}" for i in range(len(sizes)))}),
    custom_call_target="hlograph.kernel.recurrence", api_version=API_VERSION_TYPED_FFI,
    operand_layout_constraints={{{", ".join(f"f32[{size}]{{1,0}}" for size in sizes)}}},
    backend_config={{{attributes}}}
}}""")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_rows(name):
    function = FUNCTIONS[name]
    count = function.nin if isinstance(function, np.ufunc) else function.__code__.co_argcount
    third = np.float32(-1.5)
    operands = " ".join(map(str, range(count)))
    program = (
        f"carried 39 0;read 39 1 0;constant 39 {third.view(np.uint32)};"
        f"{name} 39 {operands};carry 39 3 0;"
    )
    rows = [np.tile(np.roll(side, i), (3, 3)) for i, side in enumerate((X, Y))]
    (result,) = outputs_of(_call(program, ["3,39", "3,39"], "f32[3,39]"), rows)
    with np.errstate(all="ignore"):
        wide = [row.astype(np.float64) for row in rows]
        expected = function(*[*wide, np.full_like(wide[0], third)][:count]).astype(np.float32)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-37)


SIZES = {
    "few rows": (3, 8, 5),
    "rows for two threads": (16, 33, 7),
    "rows of several parts": (100, 70, 12),
    "one vector": (1, 129, 3),
    "few rows and large matrices, of which threads share panels": (4, 200, 9),
}
"""Rows, states, and inputs."""


@pytest.mark.parametrize("cell", recurrences.CELLS, ids=lambda cell: cell.__name__)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
def test_cells_are_those_of_jax(cell, sizes):
    rows, width, inputs = sizes
    width += width % 2
    columns = recurrences.CELLS[cell] * width
    shapes = (inputs, columns), (width, columns), (9, rows, inputs), (rows, width)
    function = partial(recurrences.run, cell, reverse=rows % 2 == 0)
    module, rewritten = with_kernels(
        "kernel-recurrence", lowered(function, *(array(*shape) for shape in shapes))
    )
    assert "while" not in rewritten.opcodes()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) / shape[0] ** 0.5 for shape in shapes]
    for expected, result in zip(
        outputs_of(module, arrays), outputs_of(rewritten, arrays), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_calls_beside_each_other_share_the_threads():
    # More calls than threads: teams are alone, or get threads late.
    shapes = (24, 200), (200, 200), (30, 4, 24), (4, 200)
    function = partial(recurrences.run, recurrences.plain)
    text = lowered(function, *(array(*shape) for shape in shapes))
    module, rewritten = with_kernels("kernel-recurrence", text)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) / shape[0] ** 0.5 for shape in shapes]
    executable = compile_program(Program("recurrence", "hlo", rewritten.to_proto()))
    with ThreadPoolExecutor(5) as pool:
        runs = [pool.submit(Run(executable, arrays).outputs) for _ in range(60)]
    expected = outputs_of(module, arrays)
    for run in runs:
        for result, wanted in zip(run.result(), expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_a_matrix_times_a_vector():
    module, rewritten = with_kernels(
        "kernel-recurrence", lowered(loops.small_system, array(24, 24), array(24))
    )
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=size).astype(np.float32) for size in ((24, 24), 24)]
    expected, result = (outputs_of(each, arrays)[0] for each in (module, rewritten))
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def test_states_change_places():
    def swapped(first, second, matrix):
        def step(pair, _):
            return (pair[1], pair[0] @ matrix), None

        return jax.lax.scan(step, (first, second), length=5)[0]

    text = lowered(swapped, array(2, 8), array(2, 8), array(8, 8))
    _, rewritten = with_kernels("kernel-recurrence", text)
    first, second = np.arange(32, dtype=np.float32).reshape(2, 2, 8)
    results = outputs_of(rewritten, [first, second, 2 * np.eye(8, dtype=np.float32)])
    np.testing.assert_array_equal(results, [second * 4, first * 8])


def test_masked_steps_keep_their_states():
    def masked(matrix, lengths, start):
        def step(state, number):
            return jnp.where((number < lengths)[:, None], state @ matrix, state), None

        return jax.lax.scan(step, start, jnp.arange(6))[0]

    text = lowered(masked, array(8, 8), array(3, dtype="int32"), array(3, 8))
    _, rewritten = with_kernels("kernel-recurrence", text)
    lengths = np.array([0, 4, 9], np.int32)
    arrays = [2 * np.eye(8, dtype=np.float32), lengths, np.ones((3, 8), np.float32)]
    (result,) = outputs_of(rewritten, arrays)
    np.testing.assert_array_equal(result[:, 0], [1, 16, 64])


def test_gradients_after_accumulations_have_left_the_loop():
    shapes = ((5, 32), (8, 32), (6, 3, 5), (3, 8))
    module = hlograph.Module.from_text(
        lowered(recurrences.memory_loss, *(array(*shape) for shape in shapes))
    )
    rewritten = module.clone()
    for rule, places in (("sink-accumulation", 1), ("kernel-recurrence", 2)):
        rewrites = rewritten.rewrites([rule])
        assert len(rewrites) == places
        for _ in rewrites:
            rewritten.apply(rewritten.rewrites([rule])[0])
    assert "while" not in rewritten.opcodes()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    for expected, result in zip(
        outputs_of(module, arrays), outputs_of(rewritten, arrays), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)


FAULTS = {
    "a function that there is not": "carried 5 0;sine 5 0;carry 5 1 0;",
    "a value that comes later": "carried 5 0;negate 5 1;carry 5 1 0;",
    "columns that there are not": "carried 5 0;slice 5 0 1;carry 5 1 0;",
    "another number of columns": "carried 5 0;negate 4 0;carry 5 1 0;",
    "no numbers": "carried 5 0;carry;",
    "letters": "carried 5 x;carry 5 0 0;",
    "no columns": "carried 0 0;carry 0 0 0;",
    "an argument that there is not": "carried 5 1;carry 5 0 0;",
    "an argument of another size": "carried 6 0;carry 6 0 0;",
    "a result that there is not": "carried 5 0;carry 5 0 0;write 5 0;",
    "no result": "carried 5 0;",
    "what is carried by nothing": "carried 5 0;negate 5 0;carry 5 1 1;",
    "a result as a value": "carried 5 0;carry 5 0 0;negate 5 1;",
}


@pytest.mark.parametrize("program", FAULTS.values(), ids=FAULTS.keys())
def test_a_call_refuses_a_program_that_does_not_fit(program):
    module = _call(program, ["3,5"], "f32[3,5]")
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"expected (statements|arrays)"):
        outputs_of(module, [np.zeros((3, 5), np.float32)])


def test_a_call_refuses_no_iterations():
    module = _call("carried 5 0;carry 5 0 0;", ["3,5"], "f32[3,5]", steps=0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="one iteration"):
        outputs_of(module, [np.zeros((3, 5), np.float32)])
