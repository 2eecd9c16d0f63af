"""Equality by evaluation over finite fields: results of rules, wrong ones, known answers."""

from random import Random

import numpy as np
import pytest

from benchmarks.speed_rules.catalogue import PROGRAMS as FORMS
from hlograph import Module
from tests.hlograph.transforms.algebra_programs import PROGRAMS as ALGEBRA
from tests.proofs.modular.evaluation import Evaluator
from tests.proofs.modular.fields import PRIMES, Field, Residues
from tests.proofs.modular.programs import HloProgram
from tests.proofs.modular.proving import prove

RULES = [
    "join-contractions",
    "reassociate-dots:right",
    "merge-dots:lhs",
    "distribute-convolution",
    "scale-result:convolution",
    "convolution-gradient:kernel",
    "one-hot-as-scatter",
    "hoist-projection",
    "cumulative-sum-in-blocks",
    "sort-by-packed-keys",
]


@pytest.mark.parametrize("rule", RULES)
def test_results_of_a_rule_are_equal(rule):
    module = Module.from_text((ALGEBRA | dict(FORMS))[rule](Random(rule)))
    (rewrite, *_) = module.rewrites([rule])
    result = module.clone()
    result.apply(rewrite)
    proof = prove(module, result)
    assert proof.verdict == "equal", proof
    assert proof.bound < 1e-9


def _module(body: str) -> Module:
    return Module.from_text(f"HloModule m\n\nENTRY main {{\n{body}\n}}\n")


X = " x = f32[4,4] parameter(0)\n y = f32[4,4] parameter(1)\n"
DOT = "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("add(x, y)", "add(y, x)", "equal"),
        ("subtract(x, y)", "subtract(y, x)", "different"),
        (DOT, DOT.replace("rhs_contracting_dims={0}", "rhs_contracting_dims={1}"), "different"),
        ("maximum(x, y)", "maximum(y, x)", "equal"),
        ("maximum(x, y)", "minimum(y, x)", "different"),
        ("divide(x, y)", "divide(x, x)", "different"),
        ("atan2(x, y)", "atan2(x, y)", "equal"),
        ("atan2(x, y)", "atan2(y, x)", "different"),
        ("negate(x)", "subtract(x, x)", "different"),
    ],
)
def test_operations_differ_as_functions_do(before, after, verdict):
    modules = [_module(f"{X} ROOT z = f32[4,4] {text}") for text in (before, after)]
    assert prove(*modules).verdict == verdict


def test_a_function_that_is_not_defined_leaves_modules_undecided():
    module = _module(" x = f64[4] parameter(0)\n ROOT z = s64[4] bitcast-convert(x)")
    proof = prove(module, module)
    assert proof.verdict == "undecided"
    assert "bits" in proof.reason


@pytest.mark.parametrize("prime", PRIMES)
def test_bits_are_ordered_and_name_their_element(prime):
    field = Field(prime, seed=0)
    drawn = field.draw((4096,)).data
    known = field.literal(np.arange(-64, 64, 0.25).astype(np.float32)).data
    values = Residues(np.concatenate([drawn, known]))
    bits = field.bits(values)
    assert len(np.unique(bits)) == len(np.unique(values.data))
    np.testing.assert_array_equal(field.from_bits(bits).data, values.data)
    (keys,) = field.keys(values)
    (opposite,) = field.keys(field.negate(values))
    np.testing.assert_array_equal(opposite, -keys)
    assert np.all(np.diff(keys[4096:]) > 0)


def test_residues_are_the_integers_that_xla_computes():
    """Numbers are small here, so that they are their own residues."""
    module = _module(f"{X} z = f32[4,4] {DOT}\n ROOT w = f32[4,4] subtract(z, x)")
    field = Field(PRIMES[0], seed=0)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, (4, 4)) for _ in range(2))
    result = Evaluator(HloProgram.of(module), field).run([field.integers(x), field.integers(y)])
    assert isinstance(result, Residues)
    np.testing.assert_array_equal(field.known(result), x @ y - x)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("s = f32[4,4] sqrt(x)\n ROOT z = f32[4,4] multiply(s, s)", "abs(x)", "different"),
        (
            "a = f32[4,4] sqrt(x)\n b = f32[4,4] sqrt(y)\n ROOT z = f32[4,4] multiply(a, b)",
            "a = f32[4,4] rsqrt(x)\n b = f32[4,4] sqrt(y)\n ROOT z = f32[4,4] divide(b, a)",
            "equal",
        ),
        (
            "a = f32[4,4] multiply(x, x)\n b = f32[4,4] multiply(y, y)\n"
            " ROOT z = f32[4,4] add(a, b)",
            "a = f32[4,4] multiply(x, x)\n b = f32[4,4] multiply(y, y)\n"
            " c = f32[4,4] add(b, a)\n ROOT z = f32[4,4] abs(c)",
            "equal",
        ),
        (
            "a = f32[4,4] add(x, y)\n ROOT z = f32[4,4] sine(a)",
            "a = f32[4,4] sine(x)\n b = f32[4,4] cosine(y)\n c = f32[4,4] multiply(a, b)\n"
            " d = f32[4,4] cosine(x)\n e = f32[4,4] sine(y)\n f = f32[4,4] multiply(d, e)\n"
            " ROOT z = f32[4,4] add(c, f)",
            "equal",
        ),
        (
            "a = f32[4,4] add(x, y)\n ROOT z = f32[4,4] cosine(a)",
            "a = f32[4,4] subtract(x, y)\n ROOT z = f32[4,4] cosine(a)",
            "different",
        ),
    ],
)
def test_roots_sums_of_squares_and_sines_obey_their_laws(before, after, verdict):
    bodies = [text if "ROOT" in text else f"ROOT z = f32[4,4] {text}" for text in (before, after)]
    assert prove(*(_module(f"{X} {body}") for body in bodies)).verdict == verdict
