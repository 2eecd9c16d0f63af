"""Rules for time in the e-graph: each is held, and the fastest form by prediction is extracted."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.speed_rules.catalogue import PROGRAMS
from experiments.search.budget import Budget
from experiments.search.rewriting.egraph.extraction import extract
from experiments.search.rewriting.egraph.forms import FormFinder, FormLimits
from experiments.search.rewriting.egraph.optimizer import EqualitySettings, optimize, text_of
from experiments.search.rewriting.egraph.prices import Prices
from experiments.search.rewriting.egraph.program import Computations, parse
from experiments.search.rewriting.egraph.saturation import EGraph, SaturationLimits, saturated
from experiments.search.rewriting.egraph.terms import Terms
from experiments.search.rewriting.space import RewriteSpace
from experiments.search.state_space import run
from hlograph import Module
from hlograph.decisions.searches import maker
from hlograph.plans import Program

pytest.importorskip("egglog", reason="it comes with hlograph[paper]")

QUICK = EqualitySettings(SaturationLimits(rounds=2), 5.0)


def module_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Module:
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return Program.of(jax.jit(function).lower(*arguments)).module()


def favouring_forms(terms: Terms, graph: EGraph, first_form: int) -> dict[str, list[float]]:
    """Returns costs at random that are small for operations that forms have added."""
    draw = random.Random(0)

    def cost(op: str, number: object) -> float:
        is_form = op == "Op" and isinstance(number, int) and number >= first_form
        return draw.uniform(1, 2) * (1e-6 if is_form else 1.0)

    return {
        name: [cost(node.op, node.values[0]) for node in nodes]
        for name, nodes in graph.nodes.items()
    }


@pytest.mark.parametrize("rule", PROGRAMS)
@settings(max_examples=1, deadline=None, derandomize=True)
@given(rng=st.randoms(use_true_random=False))
def test_every_rule_for_time_is_held(rule, rng: random.Random):
    module = Module.from_text(PROGRAMS[rule](rng))
    program = parse(module.to_text())
    terms = Terms.of(program)
    first_form = len(terms.opaque)
    assert FormFinder(terms, [rule], FormLimits(depth=1)).add_forms_of(module)
    graph = saturated(terms, SaturationLimits(rounds=2))
    found = extract(graph, favouring_forms(terms, graph, first_form), seconds=10.0)
    result = Module.from_text(text_of(program, terms, graph, found))
    result.run("dce")
    assert result.fingerprint() != module.fingerprint()
    result.verify()
    assert module.equivalent_to(result, samples=1).verdict in ("equal", "close")


def squares(x: jax.Array, c: jax.Array) -> jax.Array:
    return jnp.sum((x[:, None] - c[None]) ** 2, axis=-1)


def recurrent(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(h: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(h + row @ w), h

    return jax.lax.scan(step, jnp.zeros(w.shape[1]), x)


# By a text that the fastest form by prediction lacks.
FASTER = {
    ("distances", "[96,96,32]"): lambda: module_of(squares, (96, 32), (96, 32)),
    ("power", " power("): lambda: module_of(lambda x: jnp.exp(x) ** -1.5, (64, 64)),
    ("sort", " sort("): lambda: module_of(lambda x: jnp.sort(x)[:, :10], (8, 1024)),
}


@pytest.mark.parametrize("case", FASTER, ids=lambda case: case[0])
def test_the_form_that_is_predicted_faster_is_extracted(case):
    module = FASTER[case]()
    found = optimize(module, "seconds", QUICK)
    assert found.optimal
    assert found.module.seconds() < 0.9 * module.seconds()
    assert case[1] in module.to_text()
    assert case[1] not in found.module.to_text()
    found.module.verify()
    assert module.equivalent_to(found.module, samples=1).verdict in ("equal", "close")


def test_each_place_gets_the_form_that_is_fastest_there():
    def both(x: jax.Array, c: jax.Array, y: jax.Array, d: jax.Array) -> Any:
        return squares(x, c), squares(y, d)

    module = module_of(both, (96, 32), (96, 32), (2, 32), (3, 32))
    found = optimize(module, "seconds", QUICK).module
    everywhere = module.clone()
    everywhere.run("call-inliner")
    rule = "distances-by-dot"
    for rewrite in everywhere.rewrites([rule]):
        everywhere.apply(rewrite)
    assert everywhere.to_text().count(" dot(") == 2
    assert found.to_text().count(" dot(") == 1
    assert found.seconds() < everywhere.seconds() < module.seconds()


SLOWER = {
    "few points": lambda: module_of(squares, (3, 8), (3, 8)),
    "a long product": lambda: module_of(lambda x, w: x @ w, (32, 256), (256, 32)),
    "a whole sort": lambda: module_of(lambda x: jnp.sort(x), (4, 256)),
    "a loop": lambda: module_of(recurrent, (30, 128), (128, 64)),
    "a pointwise function": lambda: module_of(jnp.tanh, (64,)),
}


@pytest.mark.parametrize("case", SLOWER)
def test_nothing_is_extracted_that_is_predicted_slower(case):
    module = SLOWER[case]()
    found = optimize(module, "seconds", QUICK)
    assert found.module.seconds() <= module.seconds()
    assert module.equivalent_to(found.module, samples=1).verdict in ("equal", "close")


def test_other_objectives_have_forms_on_request():
    module = FASTER["distances", "[96,96,32]"]()
    assert " dot(" not in optimize(module, "cost", QUICK).module.to_text()
    settings = replace(QUICK, forms=("distances-by-dot",))
    assert " dot(" in optimize(module, "cost", settings).module.to_text()


def seconds_of_results(module: Module) -> float:
    """Returns what a program takes whose results are its arguments."""
    (shape,) = re.findall(r"->(.*)\}\n", module.to_text().split("\n\n")[0] + "\n")
    text = f"HloModule m\nENTRY e {{ ROOT p = {shape} parameter(0) }}\n"
    return Module.from_text(text).seconds()


@pytest.mark.parametrize("case", [*FASTER, *SLOWER], ids=str)
def test_prices_add_up_to_the_prediction_of_the_program(case):
    module = (FASTER | SLOWER)[case]()
    module.run("call-inliner")
    module.run("cse")
    terms = Terms.of(parse(module.to_text()))
    graph = saturated(terms, SaturationLimits(rounds=0))
    tree = extract(graph, Prices(terms, graph, "seconds").all(), seconds=0.0)
    predicted = module.seconds() - seconds_of_results(module)
    # Each instruction costs a little more, to break ties.
    assert tree.cost == pytest.approx(predicted, rel=1e-6, abs=2e-12 * module.op_count)


def test_a_search_minimizes_the_predicted_seconds_by_rules_for_time():
    module = FASTER["sort", " sort("]()
    module.run("call-inliner")
    space = RewriteSpace(module, Budget(calls=20), "seconds")
    run(space, maker("greedy", "rewrites")(space, np.random.default_rng(0)))
    assert space.seconds(space.best) == space.module(space.best).seconds() < 0.5 * module.seconds()
    root = space.root
    for rewrite in space.rewrites(root)[:5]:
        after = module.clone()
        after.apply(rewrite)
        assert space.expected(root, rewrite)[0] == pytest.approx(after.seconds())


REGION = """HloModule m
r { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] OPCODE(x, y) }
ENTRY e { x = f32[4] parameter(0) zero = f32[] constant(0)
  ROOT s = f32[] reduce(x, zero), dimensions={0}, to_apply=r }
"""


def test_computations_of_one_name_are_kept_apart():
    computations = Computations()
    programs = [
        computations.add(parse(Module.from_text(REGION.replace("OPCODE", opcode)).to_text()))
        for opcode in ("add", "maximum", "add")
    ]
    sums, maxima, again = (program.instructions[-1].attributes for program in programs)
    assert sums == again != maxima
    assert " add(" in computations.text([sums])
    assert " maximum(" in computations.text([maxima])
    assert computations.text([sums]) != computations.text([maxima])
    assert not computations.text([])
