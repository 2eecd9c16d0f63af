"""Calls, loops and conditionals."""

from tests.hlograph.degenerate.writer import Dims, Writer, shape

NOTHING = """
nothing {
  ROOT nothing_x = () parameter(0)
}

stop {
  stop_x = () parameter(0)
  ROOT stop_r = pred[] constant(false)
}

source {
  ROOT source_r = s32[] constant(7)
}
"""


def calls(w: Writer, dims: Dims) -> None:
    x, whole = w.operand("f32", dims), shape("f32", dims)
    p, n = w.operand("pred", ()), w.operand("s32", (), 0)
    w.result(whole, f"call({x}), to_apply=callee")
    w.result(whole, f"fusion({x}), kind=kLoop, calls=callee")
    w.result(whole, f"conditional({p}, {x}, {x}), true_computation=callee, false_computation=same")
    w.result(whole, f"conditional({n}, {x}), branch_computations={{callee}}")
    w.result(whole, f"conditional({n}, {x}, {x}), branch_computations={{callee, same}}")
    pair = w.add(f"(s32[], {whole})", f"tuple({n}, {x})")
    for condition in ("never", "below_one", "always_once"):
        w.result(f"(s32[], {whole})", f"while({pair}), condition={condition}, body=body")
    w.result(f"(s32[], {whole})", f"while({pair}), condition=never, body=idle")
    w.result(whole, f"get-tuple-element({pair}), index=1")
    w.result(f"(s32[], {whole})", f"opt-barrier({pair})")


def callees(dims: Dims) -> str:
    whole = shape("f32", dims)
    carried = f"(s32[], {whole})"
    conditions = "".join(
        f"""
{name} {{
  {name}_s = {carried} parameter(0)
  {name}_i = s32[] get-tuple-element({name}_s), index=0
  {name}_l = s32[] constant({limit})
  ROOT {name}_c = pred[] compare({name}_i, {name}_l), direction={direction}
}}
"""
        for name, limit, direction in [
            ("never", -1, "LT"),
            ("below_one", 1, "LT"),
            ("always_once", 0, "EQ"),
        ]
    )
    return f"""
callee {{
  callee_x = {whole} parameter(0)
  ROOT callee_r = {whole} negate(callee_x)
}}

same {{
  ROOT same_x = {whole} parameter(0)
}}

idle {{
  ROOT idle_s = {carried} parameter(0)
}}

body {{
  body_s = {carried} parameter(0)
  body_i = s32[] get-tuple-element(body_s), index=0
  body_x = {whole} get-tuple-element(body_s), index=1
  body_one = s32[] constant(1)
  body_n = s32[] add(body_i, body_one)
  body_y = {whole} negate(body_x)
  ROOT body_r = {carried} tuple(body_n, body_y)
}}
{conditions}"""


def empty_tuples(w: Writer, dims: Dims) -> None:
    del dims
    empty = w.add("()", "tuple()")
    p, n = w.operand("pred", ()), w.operand("s32", (), 0)
    w.result("()", f"while({empty}), condition=stop, body=nothing")
    w.result("()", f"call({empty}), to_apply=nothing")
    w.result(
        "()",
        f"conditional({p}, {empty}, {empty}), true_computation=nothing, false_computation=nothing",
    )
    w.result("()", f"conditional({n}, {empty}), branch_computations={{nothing}}")
    w.result("()", f"opt-barrier({empty})")
    w.result("((), ())", f"tuple({empty}, {empty})")
    w.result("s32[]", "call(), to_apply=source")
    w.result("token[]", "after-all()")
