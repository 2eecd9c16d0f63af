"""Random instructions that call computations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.campaigns.random_programs import elementwise
from tests.campaigns.random_programs.builder import FLOATS, INTEGERS, Builder, Value, braces

_MOST_STEPS = 4


def _some_elementwise(b: Builder, x: Value) -> Value:
    """Adds a few operations on one array of integers or floats."""
    for _ in range(b.rng.randint(1, 3)):
        types = {**elementwise.UNARY, **elementwise.BINARY}
        opcode = b.rng.choice([name for name in sorted(types) if x.type in types[name]])
        operands = [x] if opcode in elementwise.UNARY else [x, b.rng.choice((x, b.body.values[0]))]
        if any(operand.type != x.type or operand.dims != x.dims for operand in operands):
            operands = [x, x]
        x = b.op(opcode, x.type, x.dims, operands)
    return x


def _operand(b: Builder) -> Value:
    return b.value(INTEGERS + FLOATS)


def _function(b: Builder, x: Value, scalar: bool = False) -> str:
    """Adds a computation from an array, or a scalar, to one of its type and dimensions."""
    dims = () if scalar else x.dims
    return b.computation(lambda: _some_elementwise(b, b.parameter(x.type, dims)))


def _call(b: Builder) -> Value:
    x = _operand(b)
    return b.op("call", x.type, x.dims, [x], f"to_apply={_function(b, x)}")


def _map(b: Builder) -> Value:
    x = _operand(b)
    places = braces(range(len(x.dims)))
    attributes = f"dimensions={places}, to_apply={_function(b, x, scalar=True)}"
    return b.op("map", x.type, x.dims, [x], attributes)


def _conditional(b: Builder) -> Value:
    x = _operand(b)
    if b.rng.random() < 0.4:
        chosen, number = b.value(("pred",), range(1)), 2
        bodies = [_function(b, x), _function(b, x)]
        attributes = f"true_computation={bodies[0]}, false_computation={bodies[1]}"
    else:
        chosen, number = b.value(("s32",), range(1)), b.rng.randint(1, 4)
        bodies = [_function(b, x) for _ in range(number)]
        attributes = f"branch_computations={braces(bodies)}"
    operands = [chosen, *(b.alike(x) for _ in range(number))]
    return b.op("conditional", x.type, x.dims, operands, attributes)


def _while(b: Builder) -> Value:
    x = _operand(b)
    steps, shape = b.rng.randint(0, _MOST_STEPS), f"(s32[], {x.shape})"
    state = b.name()

    def body() -> str:
        pair = Value(state, "tuple", ())
        count = b.op("get-tuple-element", "s32", (), [pair], "index=0")
        value = b.op("get-tuple-element", x.type, x.dims, [pair], "index=1")
        after = b.op("add", "s32", (), [count, b.constant("s32", "1")])
        # The first array of the body is of another type, which is then not an operand.
        changed = _some_elementwise(b, value)
        return f"{b.name()} = {shape} tuple({after.name}, {changed.name})"

    def condition() -> Value:
        pair = Value(state, "tuple", ())
        count = b.op("get-tuple-element", "s32", (), [pair], "index=0")
        most = b.constant("s32", str(steps))
        return b.op("compare", "pred", (), [count, most], "direction=LT")

    header = f"  {state} = {shape} parameter(0)"
    names = b.computation(condition, header), b.computation(body, header)
    start, first = Value(b.name(), "tuple", ()), b.constant("s32", "0")
    b.body.lines.append(f"  {start.name} = {shape} tuple({first.name}, {x.name})")
    b.body.used |= {first.name, x.name}
    attributes = f"condition={names[0]}, body={names[1]}"
    results = b.ops("while", [("s32", ()), (x.type, x.dims)], [start], attributes)
    return results[1]


DRAWS: Mapping[str, Callable[[Builder], Value]] = {
    "call": _call,
    "map": _map,
    "conditional": _conditional,
    "while": _while,
}
"""Functions that add an instruction of an opcode."""
