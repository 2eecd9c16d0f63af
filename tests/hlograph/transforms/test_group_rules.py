"""Rules about groups of instructions: rearrangements and slices that move together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph.transforms.rewriting import find_rewrites

RULES = ("reshape-mover", "slice-sinker")

MOVABLE = """
HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  y = f32[4,6] parameter(1)
  z = f32[4,6] parameter(2)
  a = f32[6,4] reshape(x)
  b = f32[6,4] reshape(y)
  c = f32[6,4] reshape(z)
  sum = f32[6,4] add(a, b)
  product = f32[6,4] multiply(b, a)
  sine = f32[6,4] sine(c)
  %s
  ROOT all = (f32[6,4], f32[6,4], f32[6,4]%s) tuple(sum, product, sine%s)
}
"""
SINKABLE = """
HloModule m
ENTRY e {
  x = f32[8,4] parameter(0)
  y = f32[8,4] parameter(1)
  x0 = f32[5,4] slice(x), slice={[0:5], [0:4]}
  y0 = f32[5,4] slice(y), slice={[0:5], [0:4]}
  x1 = f32[5,4] slice(x), slice={[3:8], [0:4]}
  y1 = f32[5,4] slice(y), slice={[3:8], [0:4]}
  first = f32[5,4] add(x0, y0)
  second = f32[5,4] add(x1, y1)
  other = f32[5,4] multiply(x0, y0)
  ROOT all = (f32[5,4], f32[5,4], f32[5,4]) tuple(first, second, other)
}
"""


def _until_none_is_left(module: hlograph.Module, rule: str) -> None:
    for _ in range(20):
        listed = module.rewrites([rule])
        if not listed:
            return
        module.apply(listed[0])
        module.verify()
    pytest.fail(f"{rule} goes on for ever")


def _by_pass(module: hlograph.Module, name: str) -> hlograph.Module:
    copy = module.clone()
    for _ in range(20):
        if copy.run_with_snapshot(hlograph.passes[name]).snapshot is None:
            return copy
    return pytest.fail(f"{name} goes on for ever")


def test_what_shares_rearrangements_is_moved_together_and_the_rest_stays():
    module = hlograph.Module.from_text(MOVABLE % ("", "", ""))
    group, single = module.rewrites(["reshape-mover"])
    assert {group.instruction, single.instruction} == {"sum", "sine"}
    assert set(group.gone) == {"a", "b", "sum", "product"}
    original = module.clone()
    module.apply(group)
    module.verify()
    assert module.op_count - original.op_count == group.op_count == 0
    assert [r.instruction for r in module.rewrites(["reshape-mover"])] == ["sine"]
    assert module.equivalent_to(original).verdict == "equal"
    module.apply(single)
    assert module.fingerprint() == _by_pass(original, "reshape-mover").fingerprint()


def test_a_rearrangement_that_something_else_takes_keeps_its_group_where_it_is():
    again = "square = f32[4,4] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    module = hlograph.Module.from_text(MOVABLE % (again, ", f32[4,4]", ", square"))
    assert [r.instruction for r in module.rewrites(["reshape-mover"])] == ["sine"]


def test_equal_slices_sink_below_the_operations_of_one_kind():
    module = hlograph.Module.from_text(SINKABLE)
    (rewrite,) = module.rewrites(["slice-sinker"])
    assert rewrite.instruction == "first"
    assert {"first", "second", "x1", "y1"} <= set(rewrite.gone)
    original = module.clone()
    module.apply(rewrite)
    module.verify()
    assert module.op_count - original.op_count == rewrite.op_count
    expected = _by_pass(original, "slice-sinker")
    expected.run("dce")  # the pass leaves the operations on slices behind
    assert module.fingerprint() == expected.fingerprint()
    assert module.equivalent_to(original).verdict == "equal"


@st.composite
def programs(draw: st.DrawFn, *, transposed: bool = True) -> str:
    """Draws pointwise operations on values that are transposed, reshaped and sliced at random."""
    pool = [(f"p{i}", (6, 4)) for i in range(3)]
    lines = [f"p{i} = f32[6,4] parameter({i})" for i in range(3)]
    lines.append("one = f32[] constant(1)")

    def add(shape: tuple[int, int], instruction: str) -> None:
        name = f"v{len(lines)}"
        lines.append(f"{name} = f32[{shape[0]},{shape[1]}] {instruction}")
        pool.append((name, shape))

    for _ in range(draw(st.integers(3, 14))):
        name, (rows, columns) = draw(st.sampled_from(pool))
        kinds = ("reshape", "slice", "one", "two", "two", "uniform")
        kind = draw(st.sampled_from(("transpose", *kinds) if transposed else kinds))
        if kind == "transpose":
            add((columns, rows), f"transpose({name}), dimensions={{1,0}}")
        elif kind == "reshape":
            add((columns, rows), f"reshape({name})")
        elif kind == "slice" and rows > 2:
            size = draw(st.sampled_from((rows - 1, rows - 2)))
            begin = draw(st.integers(0, rows - size))
            limits = f"[{begin}:{begin + size}], [0:{columns}]"
            add((size, columns), f"slice({name}), slice={{{limits}}}")
        elif kind == "uniform":
            add((rows, columns), "broadcast(one), dimensions={}")
        else:
            others = [other for other, shape in pool if shape == (rows, columns)]
            other = draw(st.sampled_from(others))
            operation = draw(st.sampled_from(("add", "multiply", "maximum")))
            unary = f"negate({name})"
            add((rows, columns), unary if kind == "one" else f"{operation}({name}, {other})")
    results = pool[-draw(st.integers(1, 3)) :]
    shapes = ", ".join(f"f32[{rows},{columns}]" for _, (rows, columns) in results)
    values = ", ".join(name for name, _ in results)
    body = "\n  ".join(lines)
    return f"HloModule m\nENTRY e {{\n  {body}\n  ROOT all = ({shapes}) tuple({values})\n}}"


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(text=programs())
def test_each_changes_what_it_says_and_keeps_what_is_computed(rule: str, text: str):
    module = hlograph.Module.from_text(text)
    for rewrite in module.rewrites([rule]):
        rewritten = module.clone()
        rewritten.apply(rewrite)
        rewritten.verify()
        assert rewritten.op_count - module.op_count == rewrite.op_count
        assert rewritten.equivalent_to(module, engines=("evaluator",)).verdict == "equal"


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(text=programs(transposed=False))  # reshape-mover moves transposes for ever
def test_until_none_is_left_is_the_pass_at_its_fixed_point(rule: str, text: str):
    module = hlograph.Module.from_text(text)
    expected = _by_pass(module, rule)
    _until_none_is_left(module, rule)
    for one in (module, expected):
        one.run("dce")
    assert module.op_count == expected.op_count
    assert module.fingerprint() == expected.fingerprint()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(text=programs())
def test_found_side_by_side_they_are_those_found_alone(text: str):
    module = hlograph.Module.from_text(text)
    assert module.rewrites() == find_rewrites(module._native, None, shared_copies=False)
