"""Equality saturation: each equation is found, and whatever is extracted computes the same."""

import random
from dataclasses import replace

import pytest

import hlograph
from experiments.search.rewriting.egraph.extraction import extract
from experiments.search.rewriting.egraph.optimizer import EqualitySettings, optimize, text_of
from experiments.search.rewriting.egraph.program import parse
from experiments.search.rewriting.egraph.rules import EXPRESSED
from experiments.search.rewriting.egraph.saturation import SaturationLimits, saturated
from experiments.search.rewriting.egraph.terms import Terms
from experiments.search.task import Estimate, Saturate
from experiments.workers.tasks import CheckOutcome
from experiments.workers.worker import RolloutWorker
from hlograph import HloError, Module
from hlograph.isolation import FlightRecorder
from tests.experiments.tiny_run import tiny_rewrite_config

pytest.importorskip("egglog", reason="it comes with hlograph[paper]")

_PARAMETERS = """
  x = f32[3,4] parameter(0)
  y = f32[3,4] parameter(1)
  v = f32[4,5] parameter(2)
  w = f32[4,5] parameter(3)
  u = f32[5,2] parameter(4)
  s = f32[] parameter(5)
  c = f32[5] parameter(6)
  i = f32[2,6,6,3] parameter(7)
  j = f32[2,6,6,3] parameter(8)
  k = f32[3,3,3,4] parameter(9)
  l = f32[3,3,3,4] parameter(10)
  f = f32[4] parameter(11)
  g = f32[3,4] parameter(12)
"""
_DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
_CONV = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"


def _dot(name, a, b, shape="3,5"):
    return f"{name} = f32[{shape}] dot({a}, {b}), {_DOT}\n"


def _conv(name, a, b, shape="2,6,6,4"):
    return f"{name} = f32[{shape}] convolution({a}, {b}), {_CONV}\n"


def _op(name, opcode, *operands, shape="3,5", more=""):
    return f"{name} = f32[{shape}] {opcode}({', '.join(operands)}){more}\n"


def _cat(name, a, b, shape, dim):
    return _op(name, "concatenate", a, b, shape=shape, more=f", dimensions={{{dim}}}")


def _cut(name, a, shape, bounds):
    return _op(name, "slice", a, shape=shape, more=f", slice={{{bounds}}}")


def _spread(name, a, shape, dims):
    return _op(name, "broadcast", a, shape=shape, more=f", dimensions={{{dims}}}")


_ALL = "[0:2], [0:6], [0:6]"
# Both sides of an equation, by the rules that rest on it; a and b are the results.
EQUATIONS = {
    ("merge-dots:lhs", "join-dots", "split-dot"): (
        _dot("p", "x", "v") + _dot("q", "x", "w") + _cat("a", "p", "q", "3,10", 1),
        _cat("r", "v", "w", "4,10", 1) + _dot("b", "x", "r", "3,10"),
    ),
    ("merge-dots:rhs",): (
        _dot("a", "x", "w") + _dot("q", "y", "w"),
        _cat("r", "x", "y", "6,4", 0)
        + _dot("t", "r", "w", "6,5")
        + _cut("b", "t", "3,5", "[0:3], [0:5]"),
    ),
    ("merge-convolutions:input", "join-convolutions", "split-convolution"): (
        _conv("p", "i", "k") + _conv("q", "i", "l") + _cat("a", "p", "q", "2,6,6,8", 3),
        _cat("r", "k", "l", "3,3,3,8", 3) + _conv("b", "i", "r", "2,6,6,8"),
    ),
    ("merge-convolutions:kernel",): (
        _conv("a", "i", "k") + _conv("q", "j", "k"),
        _cat("r", "i", "j", "4,6,6,3", 0)
        + _conv("t", "r", "k", "4,6,6,4")
        + _cut("b", "t", "2,6,6,4", f"{_ALL}, [0:4]"),
    ),
    ("join-contractions",): (
        _dot("p", "x", "v") + _dot("q", "y", "w") + _op("a", "add", "p", "q"),
        _cat("r", "x", "y", "3,8", 1) + _cat("t", "v", "w", "8,5", 0) + _dot("b", "r", "t"),
    ),
    ("factor-products",): (
        _op("p", "multiply", "x", "g", shape="3,4")
        + _op("q", "multiply", "y", "g", shape="3,4")
        + _op("a", "subtract", "p", "q", shape="3,4"),
        _op("r", "subtract", "x", "y", shape="3,4") + _op("b", "multiply", "r", "g", shape="3,4"),
    ),
    ("factor-dots", "distribute-dot"): (
        _dot("p", "x", "w") + _dot("q", "y", "w") + _op("a", "subtract", "p", "q"),
        _op("r", "subtract", "x", "y", shape="3,4") + _dot("b", "r", "w"),
    ),
    ("factor-convolutions", "distribute-convolution"): (
        _conv("p", "i", "k") + _conv("q", "i", "l") + _op("a", "add", "p", "q", shape="2,6,6,4"),
        _op("r", "add", "k", "l", shape="3,3,3,4") + _conv("b", "i", "r"),
    ),
    ("scale-operand:dot", "scale-result:dot"): (
        _dot("p", "x", "w") + _spread("q", "c", "3,5", "1") + _op("a", "multiply", "p", "q"),
        _spread("r", "c", "4,5", "1")
        + _op("t", "multiply", "w", "r", shape="4,5")
        + _dot("b", "x", "t"),
    ),
    ("scale-operand:convolution", "scale-result:convolution"): (
        _conv("p", "i", "k")
        + _spread("q", "f", "2,6,6,4", "3")
        + _op("a", "multiply", "p", "q", shape="2,6,6,4"),
        _spread("r", "f", "3,3,3,4", "3")
        + _op("t", "multiply", "k", "r", shape="3,3,3,4")
        + _conv("b", "i", "t"),
    ),
    ("reassociate-dots:right", "reassociate-dots:left"): (
        _dot("p", "x", "v") + _dot("a", "p", "u", "3,2"),
        _dot("q", "v", "u", "4,2") + _dot("b", "x", "q", "3,2"),
    ),
    ("split-pointwise", "join-pointwise"): (
        _cat("p", "x", "y", "3,8", 1)
        + _cat("q", "y", "g", "3,8", 1)
        + _op("a", "maximum", "p", "q", shape="3,8"),
        _op("r", "maximum", "x", "y", shape="3,4")
        + _op("t", "maximum", "y", "g", shape="3,4")
        + _cat("b", "r", "t", "3,8", 1),
    ),
    ("rearrange-result", "rearrange-operands"): (
        _op("p", "transpose", "x", shape="4,3", more=", dimensions={1,0}")
        + _op("q", "transpose", "y", shape="4,3", more=", dimensions={1,0}")
        + _op("a", "divide", "p", "q", shape="4,3"),
        _op("r", "divide", "x", "y", shape="3,4")
        + _op("b", "transpose", "r", shape="4,3", more=", dimensions={1,0}"),
    ),
    ("transpose-folding",): (
        _op("p", "transpose", "x", shape="4,3", more=", dimensions={1,0}")
        + "a = f32[3,5] dot(p, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
        _dot("b", "x", "w"),
    ),
}


def _module(body: str, result: str) -> Module:
    """Returns a module of a body whose last instruction is its result."""
    return Module.from_text(f"HloModule m\nENTRY e {{{_PARAMETERS}{body}  ROOT {result}\n}}\n")


def _both(equation) -> Module:
    """Returns a program with the results of both sides of an equation in a tuple."""
    left, right = EQUATIONS[equation]
    shapes = [
        next(s for s in side.split("\n") if s.startswith(f"{n} = "))
        for side, n in ((left, "a"), (right, "b"))
    ]
    a, b = (shape.split(" = ")[1].split(" ")[0] for shape in shapes)
    assert a == b
    # The sides share the names of inner instructions.
    renamed = right
    for name in "pqrt":
        renamed = renamed.replace(f"{name} = ", f"{name}2 = ").replace(f"({name}", f"({name}2")
        renamed = renamed.replace(f", {name})", f", {name}2)")
    used = left + renamed
    extra = (
        "q" if "q = " in left and equation[0].startswith("merge") and len(equation) == 1 else "a"
    )
    types = {line.split(" = ")[0]: line.split(" = ")[1].split(" ")[0] for line in used.splitlines()}
    return _module(used, f"r = ({a}, {b}, {types[extra]}) tuple(a, b, {extra})")


@pytest.mark.parametrize("equation", list(EQUATIONS), ids=lambda names: names[0])
def test_both_sides_of_an_equation_are_found_equal(equation):
    terms = Terms.of(parse(_both(equation).to_text()))
    for rounds in (0, 4):
        graph = saturated(terms, SaturationLimits(rounds=rounds))
        (result,) = (node for node in graph.nodes[graph.root] if node.op == "Op")
        assert (result.children[0] == result.children[1]) == (rounds > 0)


def test_every_expressed_rule_is_tested():
    tested = {name for names in EQUATIONS for name in names}
    assert set(EXPRESSED) <= tested
    assert all(hlograph.rules[name].equation for name in EXPRESSED)


@pytest.mark.parametrize("equation", list(EQUATIONS), ids=lambda names: names[0])
def test_every_extracted_program_is_equivalent(equation):
    module = _both(equation)
    program = parse(module.to_text())
    terms = Terms.of(program)
    graph = saturated(terms, SaturationLimits(rounds=4))
    draw = random.Random(0)
    seen = set()
    for _ in range(6):
        costs = {n: [draw.expovariate(1.0) for _ in nodes] for n, nodes in graph.nodes.items()}
        found = extract(graph, costs, seconds=0.0)
        result = Module.from_text(text_of(program, terms, graph, found))
        if result.fingerprint() in seen:
            continue
        seen.add(result.fingerprint())
        result.verify()
        assert module.equivalent_to(result).verdict in ("equal", "close")
    assert len(seen) > 1


def test_shared_parts_are_paid_for_once():
    # Either product alone costs less than the merged one, which pays for both.
    big = "x = f32[64,64] parameter(0)\n v = f32[64,1] parameter(1)\n w = f32[64,1] parameter(2)\n"
    text = (
        f"HloModule m\nENTRY e {{\n {big}"
        + _dot("p", "x", "v", "64,1")
        + _dot("q", "x", "w", "64,1")
        + "ROOT r = (f32[64,1], f32[64,1]) tuple(p, q)\n}\n"
    )
    module = Module.from_text(text)
    found = optimize(module, "cost", EqualitySettings(SaturationLimits(rounds=3), 10.0))
    assert found.optimal
    dots = found.module.to_text().count(" dot(")
    assert dots == 1
    assert found.module.cost().bytes_accessed < module.cost().bytes_accessed
    assert module.equivalent_to(found.module).verdict in ("equal", "close")
    tree = optimize(module, "cost", EqualitySettings(SaturationLimits(rounds=3), 0.0))
    assert tree.module.to_text().count(" dot(") == 2


def test_a_round_that_leads_to_too_much_is_taken_back():
    equation = next(iter(EQUATIONS))
    terms = Terms.of(parse(_both(equation).to_text()))
    graph = saturated(terms, SaturationLimits(nodes=25))
    assert len(graph) <= 25
    assert not graph.saturated


def test_the_worst_case_is_the_program_itself():
    module = _module(_op("a", "tanh", "x", shape="3,4"), "r = f32[3,4] negate(a)")
    found = optimize(module, "op-count")
    assert found.saturated
    assert found.optimal
    assert found.module.fingerprint() == module.fingerprint()


def test_side_effects_are_refused():
    text = """HloModule m
ENTRY e { x = f32[2] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t)
  ROOT r = f32[2] negate(x) }"""
    with pytest.raises(HloError, match="side effects"):
        optimize(Module.from_text(text), "cost")


def test_random_numbers_are_not_merged():
    text = """HloModule m
ENTRY e { a = f32[] constant(0)
  b = f32[] constant(1)
  x = f32[4] rng(a, b), distribution=rng_uniform
  y = f32[4] rng(a, b), distribution=rng_uniform
  ROOT r = f32[4] subtract(x, y) }"""
    module = Module.from_text(text)
    assert optimize(module, "op-count").module.op_count == module.op_count


@pytest.mark.parametrize("method", ["saturation", "simplify+saturation"])
def test_a_benchmark_s_result_is_kept_and_stands_its_check(method):
    worker = RolloutWorker(tiny_rewrite_config(), FlightRecorder())
    settings = EqualitySettings(SaturationLimits(rounds=5), 2.0)
    task = Saturate(
        benchmark="vgg/keras-hub-r1x1x2/forward-b2",
        method=method,
        objective="cost",
        settings=settings,
    )
    outcome = worker(task).outcome
    assert outcome.op_count < outcome.start
    assert outcome.replay().op_count == outcome.op_count
    assert worker(CheckOutcome(outcome=outcome, samples=1)).problem is None
    assert worker(Estimate(outcome=outcome)) >= 1
    wrong = replace(outcome, op_count=outcome.op_count - 1)
    assert worker(CheckOutcome(outcome=wrong, samples=0)).problem is not None
