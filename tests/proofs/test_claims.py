"""Claims of rules: proofs, refutations, and that the prover takes nothing wrong for proved."""

import pytest
import z3

import hlograph
from tests.proofs.claim import claims, proof_of
from tests.proofs.language import array, concatenate, dot, pointwise, summed
from tests.proofs.prover import Equation, Lemma, Sizes, prove, refute

# Rules of each kind of argument that take less than a second; the campaign proves all.
QUICK = (
    "factor-dots",
    "merge-dots:lhs",
    "join-contractions",
    "reassociate-dots:right",
    "rearrange-result",
    "grouped-as-products",
    "convolution-as-dot",
    "contraction-in-parts",
    "distances-by-dot",
    "one-hot-as-gather",
    "one-hot-as-scatter",
    "gather-after-dot",
    "gather-as-slices",
    "major-reduction-by-halves",
)


@pytest.mark.parametrize("rule", QUICK)
def test_claim_is_proved_and_its_wrong_variant_refuted(rule):
    proof = proof_of(claims()[rule])
    assert proof.is_proved, proof
    assert proof.is_wrong_variant_refuted


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(set(claims()) - set(QUICK)))
def test_every_other_claim(rule):
    assert proof_of(claims()[rule]).is_proved


def test_every_rule_has_a_claim():
    assert set(claims()) == {
        rule.name for rule in hlograph.rules if rule.equation and not rule.kernel
    }


def _matrices(sizes):
    i, k, j = sizes.several("i k j")
    return array("x", i=i, k=k), array("w", k=k, j=j), array("v", k=k, j=j)


def test_a_sum_of_products_is_no_product_of_sums():
    def statement(sizes):
        x, w, _ = _matrices(sizes)
        return Equation(dot(x, w, "k"), summed(x, "k") * summed(w, "k"))

    assert prove(statement(sizes := Sizes()), sizes).kind == "open"
    assert refute(statement(sizes := Sizes((2,))), sizes).kind == "refuted"
    # Of one element it is.
    assert refute(statement(sizes := Sizes((1,))), sizes).kind == "proved"


def test_functions_of_equal_sums_are_equal():
    def statement(sizes, other):
        x, w, v = _matrices(sizes)
        left = pointwise("f", dot(x, w + v, "k"))
        return Equation(left, pointwise("f", dot(x, w, "k") + dot(x, v if other else w, "k")))

    assert prove(statement(sizes := Sizes(), True), sizes).kind == "proved"
    assert prove(statement(sizes := Sizes(), False), sizes).kind == "open"


def test_arrays_of_other_sizes_are_not_equal():
    sizes = Sizes()
    i, n, m = sizes.several("i n m")
    x, y = array("x", i=i, n=n), array("y", i=i, n=m)
    joined = concatenate("n", x, y)
    assert prove(Equation(joined, x), sizes).kind == "open"
    assert prove(Equation(joined, joined), sizes).kind == "proved"


def test_lemmas():
    x, y = z3.Reals("x y")
    assert prove(Lemma((x + y) * (x - y) == x * x - y * y), Sizes()).kind == "proved"
    assert prove(Lemma(x * x > 0), Sizes()).kind == "open"
    assert refute(Lemma(x * x > 0), Sizes()).kind == "refuted"
    assert prove(Lemma(x * x > 0, where=(x != 0,)), Sizes()).kind == "proved"


def test_conditions_that_never_hold_prove_nothing():
    x = z3.Real("x")
    assert prove(Lemma(x > 0, where=(x > 1, x < 1)), Sizes()).kind == "open"
