"""Reductions, windows, sorts and batch normalization."""

from itertools import product

from tests.hlograph.degenerate.writer import Dims, Writer, listed, shape, window

PAIRS = """
ge_of_pairs {
  pairs_x = f32[] parameter(0)
  pairs_y = f32[] parameter(1)
  pairs_n = s32[] parameter(2)
  pairs_m = s32[] parameter(3)
  ROOT pairs_r = pred[] compare(pairs_x, pairs_y), direction=GE
}
"""


def reductions(w: Writer, dims: Dims) -> None:
    x, zero, rank = w.operand("f32", dims), w.operand("f32", (), 0), len(dims)
    every = listed(range(rank))
    w.result("f32[]", f"reduce({x}, {zero}), dimensions={every}, to_apply=add")
    w.result(shape("f32", dims), f"reduce({x}, {zero}), dimensions={{}}, to_apply=add")
    w.result("f32[]", f"reduce({x}, {zero}), dimensions={every}, to_apply=max")
    if rank:
        w.result(shape("f32", dims[1:]), f"reduce({x}, {zero}), dimensions={{0}}, to_apply=add")
        w.result(
            shape("f32", dims[:-1]), f"reduce({x}, {zero}), dimensions={{{rank - 1}}}, to_apply=add"
        )


def reduce_windows(w: Writer, dims: Dims) -> None:
    x, zero, whole = w.operand("f32", dims), w.operand("f32", (), 0), shape("f32", dims)
    w.result(whole, f"reduce-window({x}, {zero}), {window(size=(1,) * len(dims))}, to_apply=add")
    if not dims:
        return
    padding = "x".join(f"{max(d - 1, 0)}_0" for d in dims)
    sizes = tuple(max(d, 1) for d in dims)
    scan = window(size=sizes, pad=padding)
    w.result(whole, f"reduce-window({x}, {zero}), {scan}, to_apply=add")
    if all(dims):
        one = shape("f32", (1,) * len(dims))
        w.result(one, f"reduce-window({x}, {zero}), {window(size=dims)}, to_apply=max")


def long_scans(w: Writer, dims: Dims) -> None:
    """Scans that are long enough for passes to split them."""
    del dims
    for length, rest in product((1, 16, 17), ((), (1,), (0,))):
        whole = (length, *rest)
        x, zero = w.operand("f32", whole), w.operand("f32", (), 0)
        ones = (1,) * len(rest)
        padding = "x".join([f"{length - 1}_0", *("0_0" for _ in rest)])
        scan = window(size=(length, *ones), pad=padding)
        w.result(shape("f32", whole), f"reduce-window({x}, {zero}), {scan}, to_apply=add")


def select_and_scatters(w: Writer, dims: Dims) -> None:
    x, zero, whole = w.operand("f32", dims), w.operand("f32", (), 0), shape("f32", dims)
    ones = (1,) * len(dims)
    same = f"{window(size=ones, stride=ones)}, select=ge, scatter=add"
    w.result(whole, f"select-and-scatter({x}, {x}, {zero}), {same}")
    if dims and all(dims):
        source = w.operand("f32", ones)
        at_once = f"{window(size=dims, stride=dims)}, select=ge, scatter=add"
        w.result(whole, f"select-and-scatter({x}, {source}, {zero}), {at_once}")


def sorts(w: Writer, dims: Dims) -> None:
    if not dims:
        return
    x, whole = w.operand("f32", dims), shape("f32", dims)
    for dim in {0, len(dims) - 1}:
        w.result(whole, f"sort({x}), dimensions={{{dim}}}, to_apply=ge")
    keys = w.operand("s32", dims)
    computed = f"({whole}, {shape('s32', dims)})"
    pair = w.add(
        computed, f"sort({x}, {keys}), dimensions={{{len(dims) - 1}}}, to_apply=ge_of_pairs"
    )
    w.result(whole, f"get-tuple-element({pair}), index=0")
    for k in {0, min(dims[-1], 1), dims[-1]}:
        kept = (*dims[:-1], k)
        top = w.add(
            f"({shape('f32', kept)}, {shape('s32', kept)})", f"topk({x}), k={k}, largest=true"
        )
        w.result(shape("f32", kept), f"get-tuple-element({top}), index=0")
        w.result(
            f"({shape('f32', kept)}, {shape('s32', kept)})",
            f'custom-call({x}), custom_call_target="TopK", called_computations={{ge}}',
        )


def batch_norms(w: Writer, dims: Dims) -> None:
    if not dims:
        return
    x, whole = w.operand("f32", dims), shape("f32", dims)
    for index in {0, len(dims) - 1}:
        features = (dims[index],)
        vector = shape("f32", features)
        s, o = w.operand("f32", features), w.operand("f32", features)
        attributes = f"epsilon=0.001, feature_index={index}"
        three = f"({whole}, {vector}, {vector})"
        w.result(three, f"batch-norm-training({x}, {s}, {o}), {attributes}")
        w.result(whole, f"batch-norm-inference({x}, {s}, {o}, {s}, {o}), {attributes}")
        w.result(three, f"batch-norm-grad({x}, {s}, {o}, {s}, {x}), {attributes}")
