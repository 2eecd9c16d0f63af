"""Elementwise operations, and operations that move elements."""

from tests.hlograph.degenerate.writer import Dims, Writer, listed, shape

_FLOAT_UNARY = (
    "abs acos acosh asin asinh atanh cbrt ceil cosine cosh erf exponential exponential-minus-one "
    "floor is-finite log log-plus-one logistic negate round-nearest-afz round-nearest-even rsqrt "
    "sign sine sinh sqrt tan tanh copy imag real bitcast"
)
_INTEGER_UNARY = "abs count-leading-zeros negate not popcnt sign copy"
_FLOAT_BINARY = "add atan2 divide maximum minimum multiply power remainder subtract"
_INTEGER_BINARY = (
    "add and divide maximum minimum multiply or power remainder shift-left "
    "shift-right-arithmetic shift-right-logical subtract xor"
)


def elementwise(w: Writer, dims: Dims) -> None:
    x, y, whole = w.operand("f32", dims), w.operand("f32", dims), shape("f32", dims)
    n, m, integers = w.operand("s32", dims, 0), w.operand("s32", dims, 3), shape("s32", dims)
    predicates = shape("pred", dims)
    p = w.operand("pred", dims)
    for name in _FLOAT_UNARY.split():
        w.result(predicates if name == "is-finite" else whole, f"{name}({x})")
    for name in _INTEGER_UNARY.split():
        w.result(integers, f"{name}({n})")
    for name in _FLOAT_BINARY.split():
        w.result(whole, f"{name}({x}, {y})")
    for name in _INTEGER_BINARY.split():
        w.result(integers, f"{name}({m}, {n})")
    for name in ("and", "or", "xor"):
        w.result(predicates, f"{name}({p}, {p})")
    for direction in ("EQ", "NE", "GE", "GT", "LE", "LT"):
        w.result(predicates, f"compare({x}, {y}), direction={direction}, type=TOTALORDER")
        w.result(predicates, f"compare({n}, {n}), direction={direction}")
    complex_numbers = w.result(shape("c64", dims), f"complex({x}, {y})")
    for name in ("abs", "real", "imag"):
        w.result(whole, f"{name}({complex_numbers})")
    for name in ("exponential", "log", "negate", "sqrt", "tanh", "cbrt", "logistic"):
        w.result(shape("c64", dims), f"{name}({complex_numbers})")
    w.result(whole, f"clamp({x}, {y}, {x})")
    w.result(whole, f"select({p}, {x}, {y})")
    w.result(whole, f"reduce-precision({x}), exponent_bits=5, mantissa_bits=2")
    bits = w.operand("u32", dims)
    w.result(shape("s8", dims), f"stochastic-convert({x}, {bits})")
    w.result(integers, f"bitcast-convert({x})")
    w.result(shape("u8", (*dims, 4)), f"bitcast-convert({x})")
    for element_type in ("bf16", "f16", "f64", "s4", "u8", "pred", "c64", "f8e4m3fn"):
        w.result(shape(element_type, dims), f"convert({x})")
    w.result(whole, f"map({x}, {y}), dimensions={listed(range(len(dims)))}, to_apply=add")


def scalar_clamps(w: Writer, dims: Dims) -> None:
    x, low, p = w.operand("f32", dims), w.operand("f32", ()), w.operand("pred", ())
    w.result(shape("f32", dims), f"clamp({low}, {x}, {low})")
    w.result(shape("f32", dims), f"select({p}, {x}, {x})")


def moves(w: Writer, dims: Dims) -> None:
    """Writes operations that move elements."""
    x, whole, rank = w.operand("f32", dims), shape("f32", dims), len(dims)
    zero = w.operand("f32", (), 0)
    all_dims = listed(range(rank))
    w.result(whole, f"broadcast({x}), dimensions={all_dims}")
    w.result(shape("f32", (0, *dims)), f"broadcast({x}), dimensions={listed(range(1, rank + 1))}")
    w.result(shape("f32", (*dims, 2)), f"broadcast({x}), dimensions={all_dims}")
    w.result(shape("f32", (1, *dims)), f"reshape({x})")
    w.result(shape("f32", tuple(d for d in dims if d != 1)), f"reshape({x})")
    w.result(whole, f"reshape({x})")
    backwards = tuple(reversed(range(rank)))
    w.result(shape("f32", dims[::-1]), f"transpose({x}), dimensions={listed(backwards)}")
    w.result(whole, f"transpose({x}), dimensions={all_dims}")
    w.result(whole, f"reverse({x}), dimensions={all_dims}")
    w.result(whole, f"reverse({x}), dimensions={{}}")
    limits = ", ".join(f"[0:{d}]" for d in dims)
    w.result(whole, f"slice({x}), slice={{{limits}}}")
    nothing = ", ".join("[0:0]" for _ in dims)
    w.result(shape("f32", (0,) * rank), f"slice({x}), slice={{{nothing}}}")
    if rank:
        w.result(whole, f"pad({x}, {zero}), padding={'x'.join(['0_0'] * rank)}")
        grown = shape("f32", tuple(d + 1 for d in dims))
        w.result(grown, f"pad({x}, {zero}), padding={'x'.join(['1_0_0'] * rank)}")
        shrunk = shape("f32", tuple(max(d - 1, 0) for d in dims))
        if all(dims):
            w.result(shrunk, f"pad({x}, {zero}), padding={'x'.join(['-1_0_0'] * rank)}")
        w.result(whole, f"concatenate({x}), dimensions={{0}}")
        doubled = shape("f32", (2 * dims[0], *dims[1:]))
        w.result(doubled, f"concatenate({x}, {x}), dimensions={{0}}")
        w.result(shape("s32", dims), f"iota(), iota_dimension={rank - 1}")
        for dim in (0, rank - 1):
            w.result(shape("s32", ()), f"get-dimension-size({x}), dimensions={{{dim}}}")
    else:
        w.result(whole, f"pad({x}, {zero}), padding=")
    w.result(whole, f"opt-barrier({x})")
    w.result(whole, f"add-dependency({x}, {w.add('token[]', 'after-all()')})")


def dynamic_slices(w: Writer, dims: Dims) -> None:
    x, whole, rank = w.operand("f32", dims), shape("f32", dims), len(dims)
    index = w.operand("s32", (), 0)
    indices = "".join(f", {index}" for _ in dims)
    w.result(whole, f"dynamic-slice({x}{indices}), dynamic_slice_sizes={listed(dims)}")
    one = tuple(min(d, 1) for d in dims)
    cut = w.result(
        shape("f32", one), f"dynamic-slice({x}{indices}), dynamic_slice_sizes={listed(one)}"
    )
    w.result(whole, f"dynamic-update-slice({x}, {cut}{indices})")
    w.result(whole, f"dynamic-update-slice({x}, {x}{indices})")
    none = (0,) * rank
    w.result(shape("f32", none), f"dynamic-slice({x}{indices}), dynamic_slice_sizes={listed(none)}")


def index_vectors(w: Writer, dims: Dims) -> None:
    x, index = w.operand("f32", dims), w.operand("s32", (len(dims),), 0)
    whole = shape("f32", dims)
    w.result(whole, f"dynamic-slice({x}, {index}), dynamic_slice_sizes={listed(dims)}")
    w.result(whole, f"dynamic-update-slice({x}, {x}, {index})")


def dynamic_sizes(w: Writer, dims: Dims) -> None:
    if not dims:
        return
    x, size = w.operand("f32", dims), w.operand("s32", (), 0)
    bounded = "f32[" + ",".join([f"<={dims[0]}", *map(str, dims[1:])]) + "]"
    y = w.add(bounded, f"set-dimension-size({x}, {size}), dimensions={{0}}")
    z = w.add(bounded, f"negate({y})")
    zero = w.operand("f32", (), 0)
    w.result("s32[]", f"get-dimension-size({z}), dimensions={{0}}")
    w.result("f32[]", f"reduce({z}, {zero}), dimensions={listed(range(len(dims)))}, to_apply=add")
    w.result(shape("f32", dims), f"set-dimension-size({z}, {size}), dimensions={{0}}")
