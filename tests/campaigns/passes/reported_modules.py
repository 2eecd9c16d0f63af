"""Small modules on which reports say that passes of XLA go wrong, with inputs that show it."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from tests.campaigns.passes.reports import Case

_NAN, _INFINITY = float("nan"), float("inf")
_SPECIAL = (_NAN, _INFINITY, -_INFINITY, 0.0, -0.0, 1e-45, 3e38, 1.5)


def _floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _integers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _integer(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def _module(body: str, computations: str = "") -> str:
    return f"HloModule reported\n{computations}\nENTRY main {{\n{body}\n}}\n"


def _reducer(opcode: str, element_type: str = "f32") -> str:
    scalar = f"{element_type}[]"
    return f"""op {{
  op_x = {scalar} parameter(0)
  op_y = {scalar} parameter(1)
  ROOT op_r = {scalar} {opcode}(op_x, op_y)
}}"""


def _reduction(opcode: str, size: int, initial: str, element_type: str = "f32") -> str:
    body = f"""  x = {element_type}[{size}] parameter(0)
  z = {element_type}[] constant({initial})
  ROOT r = {element_type}[] reduce(x, z), dimensions={{0}}, to_apply=op"""
    return _module(body, _reducer(opcode, element_type))


def _scan(opcode: str, initial: str) -> str:
    body = f"""  x = f32[64] parameter(0)
  z = f32[] constant({initial})
  ROOT r = f32[64] reduce-window(x, z), window={{size=64 pad=63_0}}, to_apply=op"""
    return _module(body, _reducer(opcode))


def _pointwise(lines: str, *inputs: np.ndarray) -> Case:
    """Returns a case of a few lines on vectors x and y of the size of the inputs."""
    size = inputs[0].size
    parameters = "\n".join(
        f"  {name} = f32[{size}] parameter({number})"
        for number, name in enumerate("xy"[: len(inputs)])
    )
    return Case(_module(parameters + "\n" + lines.replace("f32", f"f32[{size}]")), inputs)


# Formulas that are equal over the reals.

LOG_OF_EXP = _pointwise("  a = f32 exponential(x)\n  ROOT r = f32 log(a)", _floats(89, 200, 1))
ROOT_OF_SQUARE = _pointwise(
    "  a = f32 multiply(x, x)\n  ROOT r = f32 sqrt(a)", _floats(1e30, -1e-30)
)
ROOT_OF_ABS = _pointwise(
    "  a = f32 multiply(x, x)\n  b = f32 abs(a)\n  ROOT r = f32 sqrt(b)", _floats(3.4028235e38)
)
_EXPS = "  a = f32 exponential(x)\n  b = f32 exponential(y)\n"
PRODUCT_OF_EXPS = _pointwise(_EXPS + "  ROOT r = f32 multiply(a, b)", _floats(100), _floats(-200))
QUOTIENT_OF_EXPS = _pointwise(_EXPS + "  ROOT r = f32 divide(a, b)", _floats(100), _floats(100))
QUOTIENT_BY_EXP = _pointwise(
    "  b = f32 exponential(y)\n  ROOT r = f32 divide(x, b)", _floats(0), _floats(-100)
)
POWER_OF_EXP = _pointwise(
    "  a = f32 exponential(x)\n  ROOT r = f32 power(a, y)", _floats(100), _floats(0.5)
)
IOTA_WITH_NEGATIVE_ZERO = Case(
    _module(
        "  x = f32[3] parameter(0)\n  c = f32[3] constant({-0.0, 1, 2})\n"
        "  ROOT r = f32[3] divide(x, c)"
    ),
    (_floats(1, 1, 1),),
)
DIFFERENCE_OF_PRODUCTS = _pointwise(
    "  a = f32 multiply(x, y)\n  b = f32 multiply(y, x)\n  d = f32 subtract(a, b)\n"
    "  ROOT r = f32 divide(d, d)",
    _floats(0.1, 0.9, _INFINITY),
    _floats(0.3, 0.7, 2),
)
XOR_OF_EQUALS = Case(
    _module("""  a = s32[3] parameter(0)
  z = s32[] constant(0)
  zeros = s32[3] broadcast(z), dimensions={}
  b = pred[3] compare(a, zeros), direction=NE
  c = pred[3] compare(a, zeros), direction=NE
  d = pred[3] xor(b, c)
  f = f32[3] convert(d)
  ROOT r = f32[3] atan2(f, f)"""),
    (_integers(0, 1, 2),),
)
SELECT_OF_GREATER = tuple(
    _pointwise(
        f"  c = pred{'[6]'} compare(x, y), direction={direction}\n  ROOT r = f32 select(c, x, y)",
        _floats(_NAN, 1, 0.0, -0.0, 2, _NAN),
        _floats(1, _NAN, -0.0, 0.0, 3, _NAN),
    )
    for direction in ("GT", "GE", "LT", "LE")
)
MAXIMUM_OF_ROOT = _pointwise(
    "  a = f32 sqrt(x)\n  ROOT r = f32 maximum(x, a)", _floats(1.56, -0.0905, 2.736)
)

# Windows, slices and loops.

CROP_BEFORE_WINDOW = Case(
    _module(
        """  x = s32[1,2] parameter(0)
  z = s32[] constant(0)
  p = s32[1,1] pad(x, z), padding=0_0_1x-1_0
  ROOT r = s32[1,1] reduce-window(p, z), window={size=1x2 pad=0_0x1_0}, to_apply=op""",
        _reducer("add", "s32"),
    ),
    (np.array([[669, -763]], np.int32),),
)
CROP_BEFORE_CONVOLUTION = Case(
    _module("""  x = f32[1,1,2,1] parameter(0)
  k = f32[1,2,1,1] parameter(1)
  z = f32[] constant(0)
  p = f32[1,1,1,1] pad(x, z), padding=0_0x0_0_1x-1_0x0_0
  ROOT r = f32[1,1,1,1] convolution(p, k), window={size=1x2 pad=0_0x1_0},
      dim_labels=b01f_01io->b01f"""),
    (_floats(669, -763).reshape(1, 1, 2, 1), np.ones((1, 2, 1, 1), np.float32)),
)
CROPPING_WINDOW = Case(
    _module(
        """  x = f32[8,4] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[7,4] reduce-window(x, z), window={size=1x1 pad=-1_0x0_0}, to_apply=op""",
        _reducer("add"),
    ),
    (np.arange(32, dtype=np.float32).reshape(8, 4),),
)
SLICE_OF_SLICE = Case(
    _module("""  x = s32[18] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  s = s32[9] dynamic-slice(x, i), dynamic_slice_sizes={9}
  ROOT r = s32[4] dynamic-slice(s, j), dynamic_slice_sizes={4}"""),
    (np.arange(18, dtype=np.int32), _integer(5), _integer(12)),
)
UPDATE_OF_SLICE = Case(
    _module("""  x = s32[18] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  u = s32[2] parameter(3)
  s = s32[9] dynamic-slice(x, i), dynamic_slice_sizes={9}
  p = s32[9] dynamic-update-slice(s, u, j)
  ROOT r = s32[18] dynamic-update-slice(x, p, i)"""),
    (np.arange(18, dtype=np.int32), _integer(15), _integer(1), _integers(100, 101)),
)


def counted_loop(initial: int, step: int, bound: int, direction: str) -> str:
    """Returns a module whose loop counts and negates a vector in each iteration."""
    state = "(s32[], f32[3])"
    return _module(
        f"""  x = f32[3] parameter(0)
  i = s32[] constant({initial})
  t = {state} tuple(i, x)
  ROOT r = {state} while(t), condition=goes_on, body=counts""",
        f"""counts {{
  b = {state} parameter(0)
  bi = s32[] get-tuple-element(b), index=0
  bx = f32[3] get-tuple-element(b), index=1
  step = s32[] constant({step})
  bn = s32[] add(bi, step)
  by = f32[3] negate(bx)
  ROOT bt = {state} tuple(bn, by)
}}

goes_on {{
  c = {state} parameter(0)
  ci = s32[] get-tuple-element(c), index=0
  bound = s32[] constant({bound})
  ROOT cr = pred[] compare(ci, bound), direction={direction}
}}
""",
    )


def loop_case(initial: int, step: int, bound: int, direction: str) -> Case:
    """Returns a case of ``counted_loop``."""
    return Case(counted_loop(initial, step, bound, direction), (_floats(1, 2, 3),))


MISCOUNTED_LOOPS = (loop_case(0, 2, 1, "LT"), loop_case(5, 3, 3, "LE"))
OTHER_LOOPS = (loop_case(0, 3, 4, "LT"), loop_case(4, 1, 3, "LE"), loop_case(3, -2, 0, "GT"))
DIVISION_IN_LOOP = Case(
    _module(
        """  i = s32[] parameter(0)
  a = s32[] parameter(1)
  b = s32[] parameter(2)
  z = s32[] constant(0)
  t = (s32[], s32[], s32[], s32[]) tuple(i, a, b, z)
  ROOT r = (s32[], s32[], s32[], s32[]) while(t), condition=goes_on, body=sums""",
        """sums {
  p = (s32[], s32[], s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  pa = s32[] get-tuple-element(p), index=1
  pb = s32[] get-tuple-element(p), index=2
  sum = s32[] get-tuple-element(p), index=3
  q = s32[] divide(pa, pb)
  sum_q = s32[] add(sum, q)
  one = s32[] constant(1)
  next = s32[] add(n, one)
  ROOT pt = (s32[], s32[], s32[], s32[]) tuple(next, pa, pb, sum_q)
}
goes_on {
  c = (s32[], s32[], s32[], s32[]) parameter(0)
  cn = s32[] get-tuple-element(c), index=0
  three = s32[] constant(3)
  ROOT cr = pred[] compare(cn, three), direction=LT
}
""",
    ),
    (_integer(0), _integer(7), _integer(0)),
)

# Sums.

SUM_FROM_FIVE = Case(_reduction("add", 128, "5"), (np.ones(128, np.float32),))
REDUCED_DIFFERENCES = Case(_reduction("subtract", 128, "0"), (np.arange(128, dtype=np.float32),))
SUM_OF_NORMALS = Case(
    _reduction("add", 128, "0"), (np.random.default_rng(0).normal(size=128).astype(np.float32),)
)
MAXIMUM_WITH_NAN = Case(
    _reduction("maximum", 70, "-inf"), (np.array([*range(69), _NAN], np.float32),)
)
SCAN_FROM_FIVE = Case(_scan("add", "5"), (np.ones(64, np.float32),))
SUM_OF_ONE_FROM_FIVE = Case(
    _module(
        "  x = f32[1,3] parameter(0)\n  z = f32[] constant(5)\n"
        "  ROOT r = f32[3] reduce(x, z), dimensions={0}, to_apply=op",
        _reducer("add"),
    ),
    (_floats(-0.0, 1, _NAN).reshape(1, 3),),
)
CONSTANT_SUM = Case(
    _module(
        "  c = f32[8] constant({16777216, 1, 1, 1, 1, 0.1, 0.2, 0.3})\n  z = f32[] constant(0)\n"
        "  ROOT r = f32[] reduce(c, z), dimensions={0}, to_apply=op",
        _reducer("add"),
    )
)
CONSTANT_SUM_THAT_OVERFLOWS = Case(
    CONSTANT_SUM.text.replace("f32[8]", "f32[3]").replace(
        "16777216, 1, 1, 1, 1, 0.1, 0.2, 0.3", "3e38, 3e38, -3e38"
    )
)
CONSTANT_GATHER = Case(
    _module("""  t = s32[2,6] constant({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}})
  i = s32[6,1] constant({{0}, {1}, {2}, {3}, {4}, {5}})
  g = s32[2,6] gather(t, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1},
      index_vector_dim=1, slice_sizes={2,1}
  one = s32[] constant(1)
  ones = s32[2,6] broadcast(one), dimensions={}
  ROOT r = s32[2,6] add(g, ones)""")
)
_NORMAL = np.random.default_rng(1).normal
DOT_OF_TWO_DIMENSIONS = Case(
    _module("""  x = f32[2,3,4] parameter(0)
  y = f32[4,3,5] parameter(1)
  ROOT r = f32[2,5] dot(x, y), lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}"""),
    (_NORMAL(size=(2, 3, 4)).astype(np.float32), _NORMAL(size=(4, 3, 5)).astype(np.float32)),
)
SELECTED_SUMS = tuple(
    Case(
        _module(
            """  x = f32[6] parameter(0)
  s = f32[3] parameter(1)
  z = f32[] constant(0)
  ROOT r = f32[6] select-and-scatter(x, s, z), window={size=2 stride=2}, select=chooses,
      scatter=op""",
            f"""chooses {{
  sx = f32[] parameter(0)
  sy = f32[] parameter(1)
  ROOT sr = pred[] compare(sx, sy), direction={direction}
}}
"""
            + _reducer("add"),
        ),
        (_floats(1, 1, _NAN, 2, 3, _NAN), _floats(1, 2, 3)),
    )
    for direction in ("GE", "GT", "LE")
)
GROUPS_WITH_INFINITY = Case(
    _module("""  x = f32[1,4,2] parameter(0)
  k = f32[2,1,2] parameter(1)
  ROOT r = f32[1,3,2] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f,
      feature_group_count=2"""),
    (
        np.where(np.arange(8).reshape(1, 4, 2) == 0, _INFINITY, 1).astype(np.float32),
        np.ones((2, 1, 2), np.float32),
    ),
)

# Moves, calls and comparisons.

_ROWS = _floats(*_SPECIAL)
_GRID = np.meshgrid(_ROWS, _ROWS)
TOTAL_ORDER = tuple(
    Case(
        _module(f"""  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  ROOT r = pred[8,8] compare(x, y), direction={direction}, type=TOTALORDER"""),
        (_GRID[0], _GRID[1]),
    )
    for direction in ("LT", "LE", "GT", "GE", "EQ", "NE")
)
CALLED_TWICE = Case(
    _module(
        """  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  u = f32[8] call(x, y), to_apply=f
  v = f32[8] call(y, x), to_apply=f
  ROOT r = f32[8] multiply(u, v)""",
        """f {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  c = f32[8] divide(a, b)
  ROOT d = f32[8] subtract(c, a)
}
""",
    ),
    (_ROWS, _ROWS[::-1].copy()),
)
ZEROS_OF_BOTH_SIGNS = Case(
    _module("""  a = f32[2] constant({0, 1})
  b = f32[2] constant({-0.0, 1})
  n = f32[2] constant({nan, -nan})
  x = f32[2] parameter(0)
  c = f32[2] divide(x, a)
  d = f32[2] divide(x, b)
  e = f32[2] divide(x, a)
  unused = f32[2] divide(x, n)
  ROOT t = (f32[2], f32[2], f32[2]) tuple(c, d, e)"""),
    (_floats(1, 2),),
)
RESHAPED_OPERANDS = Case(
    _module("""  x = f32[2,4] parameter(0)
  y = f32[2,4] parameter(1)
  a = f32[8] reshape(x)
  b = f32[8] reshape(y)
  z = f32[] constant(-0.0)
  zeros = f32[8] broadcast(z), dimensions={}
  c = f32[8] atan2(a, b)
  ROOT r = f32[8] multiply(c, zeros)"""),
    (_ROWS.reshape(2, 4), _ROWS[::-1].reshape(2, 4).copy()),
)
SIZES = Case(
    _module("""  x = s32[1] parameter(0)
  y = s32[1] parameter(1)
  c = s32[2] concatenate(x, y), dimensions={0}
  s = s32[1] slice(c), slice={[1:2]}
  d = s32[] reshape(s)
  ROOT r = s32[1] reshape(d)"""),
    (_integers(1), _integers(2)),
)

# Types.

_HALF = ml_dtypes.bfloat16
THROUGH_BFLOAT16 = Case(
    _module("""  x = f32[3] parameter(0)
  a = bf16[3] convert(x)
  ROOT r = f32[3] convert(a)"""),
    (_floats(1.2345678, 3.39e38, 1e-40),),
)
THROUGH_FLOAT16 = Case(
    THROUGH_BFLOAT16.text.replace("bf16", "f16"), (_floats(1.2345678, 3e38, 1e-40),)
)
NARROW_RESULT = Case(
    _module("""  x = f32[2,64] parameter(0)
  y = f32[64,2] parameter(1)
  ROOT r = bf16[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""),
    (_NORMAL(size=(2, 64)).astype(np.float32), _NORMAL(size=(64, 2)).astype(np.float32)),
)
BFLOAT16_SUM = Case(_reduction("add", 300, "0", "bf16"), (np.ones(300, _HALF),))
BFLOAT16_CHAIN = Case(
    _module("""  x = bf16[3] parameter(0)
  y = bf16[3] parameter(1)
  a = bf16[3] add(x, y)
  ROOT r = bf16[3] subtract(a, y)"""),
    (np.array([1, 3e38, 1e-3], _HALF), np.array([256, 3e38, 1], _HALF)),
)
LOGISTIC = Case(_module("  x = f32[8] parameter(0)\n  ROOT r = f32[8] logistic(x)"), (_ROWS,))
LOGISTIC_FLOAT16 = Case(
    LOGISTIC.text.replace("f32", "f16"),
    (np.array([_NAN, _INFINITY, -_INFINITY, 0, -0.0, 20, -12, 1], np.float16),),
)
FIRST_OF_SORTED = Case(
    _module(
        """  x = f32[2,8] parameter(0)
  n = s32[2,8] iota(), iota_dimension=1
  s = (f32[2,8], s32[2,8]) sort(x, n), dimensions={1}, is_stable=true, to_apply=greater
  v = f32[2,8] get-tuple-element(s), index=0
  i = s32[2,8] get-tuple-element(s), index=1
  kv = f32[2,3] slice(v), slice={[0:2], [0:3]}
  ki = s32[2,3] slice(i), slice={[0:2], [0:3]}
  ROOT t = (f32[2,3], s32[2,3]) tuple(kv, ki)""",
        """greater {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ai = s32[] parameter(2)
  bi = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER
}
""",
    ),
    (np.array([[_NAN, 1, 2, _INFINITY, -_NAN, 0, -0.0, 3], [1] * 8], np.float32),),
    "compiled",
)
