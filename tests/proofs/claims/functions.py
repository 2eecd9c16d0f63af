"""Claims of the rules for functions: powers, sines, remainders and angles.

The instructions that a rule builds are taken for operations on real numbers. Polynomials are no
equal of sines and angles: of them, the distance is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import z3

from tests.proofs.claim import claim
from tests.proofs.prover import Enumeration, Lemma, Sizes, Statement
from tests.proofs.rewritten import Computation, Meaning, rewritten

_QUARTERS = [q for q in range(-32, 33) if q not in (-4, 0, 4, 8, 12)]


def _power(quarters: int) -> Computation:
    return rewritten(
        "power-as-roots",
        f"""HloModule power
ENTRY main {{
  x = f32[8] parameter(0)
  exponent = f32[] constant({quarters / 4})
  exponents = f32[8] broadcast(exponent), dimensions={{}}
  ROOT power = f32[8] power(x, exponents)
}}""",
    ).main


def _exponent(computation: Computation, wrong: bool) -> Fraction:
    """Returns the exponent of x in the result, where x is no negative number."""
    for one in computation.all("constant"):
        # Each value stands for the exponent of its power of x.
        assert one.operands[0] in ("1", "0", "-inf", "nan")
    sign = 1 if wrong else -1
    operations = {
        "abs": lambda a: a,
        "and": lambda a, b: None,
        "broadcast": lambda a: 0,
        "compare": lambda a, b: None,
        "divide": lambda a, b: a - b,
        "multiply": lambda a, b: a + b,
        "rsqrt": lambda a: sign * a / 2,
        "select": lambda which, nan, magnitude: magnitude,
        "sqrt": lambda a: a / 2,
    }
    return Fraction(Meaning(computation, {"x": Fraction(1)}, operations).root)


@claim(
    "power-as-roots",
    conditions="the exponent is a constant multiple of 1/4 of at most 8, and none of -1, 0, 1, 2 "
    "and 3; a negative base has an integer exponent",
    wrong="a reciprocal root is taken for a root",
    argument="A power of a power multiplies exponents, a product adds them, a quotient subtracts "
    "them; for positive numbers, and for zero where no exponent is negative. Negative numbers have "
    "no roots, but integer exponents.",
    bounds="all 60 exponents, one by one",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    def failure() -> str | None:
        for quarters in _QUARTERS:
            exponent = _exponent(_power(quarters), wrong)
            if 4 * exponent != quarters:
                return f"x^({quarters}/4) becomes x^({exponent})"
            roots = [one for name in ("sqrt", "rsqrt") for one in _power(quarters).all(name)]
            if quarters % 4 == 0 and roots:
                return f"x^({quarters}/4) has roots"
        return None

    yield Enumeration(failure)
    # What stands for the base, if there are roots.
    computation = _power(9)
    x = z3.Real("x")
    (select,) = computation.all("select")
    yield Lemma(
        Meaning(computation, {"x": x}, real=True).of(select.name) == x,
        (x >= 0, z3.Real("inf") > x),
    )


@claim(
    "sine-of-sum",
    conditions="both terms are broadcasts of fewer elements",
    wrong="the sign of the second product",
    argument="The theorem of addition of sines and cosines is taken for granted. An element of a "
    "broadcast is one of its operand, so that both terms are any two numbers.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    a, b = z3.Reals("a b")
    sine = z3.Function("sine", z3.RealSort(), z3.RealSort())
    cosine = z3.Function("cosine", z3.RealSort(), z3.RealSort())
    theorem = (
        sine(a + b) == sine(a) * cosine(b) + cosine(a) * sine(b),
        cosine(a + b) == cosine(a) * cosine(b) - sine(a) * sine(b),
        sine(a - b) == sine(a) * cosine(b) - cosine(a) * sine(b),
        cosine(a - b) == cosine(a) * cosine(b) + sine(a) * sine(b),
    )
    for name, function in (("sine", sine), ("cosine", cosine)):
        for sum_name in ("add", "subtract"):
            computation = rewritten("sine-of-sum", _SINE_OF_SUM.format(name, sum_name)).main
            operations = {"sine": sine, "cosine": cosine}
            built = Meaning(computation, {"a": a, "b": b}, operations, real=True).root
            adds = (sum_name == "add") != wrong
            yield Lemma(built == function(a + b if adds else a - b), theorem)


_SINE_OF_SUM = """HloModule sums
ENTRY main {{
  a = f32[8] parameter(0)
  rows = f32[8,8] broadcast(a), dimensions={{0}}
  b = f32[8] parameter(1)
  columns = f32[8,8] broadcast(b), dimensions={{1}}
  sum = f32[8,8] {1}(rows, columns)
  ROOT result = f32[8,8] {0}(sum)
}}"""


@claim(
    "remainder-by-subtraction",
    conditions="each number is less than four times its divisor",
    wrong="numbers up to eight times the divisor",
    argument="The remainder is the one number of the dividend's sign, or zero, that is less than "
    "the divisor and differs from the dividend by an integer multiple of it. What is subtracted is "
    "at most the number and at least half of it, so that no subtraction rounds (Sterbenz).",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    program = rewritten("remainder-by-subtraction", _REMAINDER)
    x, y = z3.Reals("x y")
    (compare,) = program.main.all("compare")
    holds = Meaning(program.main, {"x": x, "y": y}, real=True).of(compare.name)
    if wrong:
        holds = z3.And(y != 0, x < 8 * y, -x < 8 * y)
    fast = program.computations["fast"]
    x_name, y_name = sorted(fast.all("get-tuple-element"), key=lambda one: one.attributes["index"])
    meaning = Meaning(fast, {x_name.name: x, y_name.name: y}, real=True)
    rest = meaning.root
    divisor = z3.If(y < 0, -y, y)
    yield Lemma(z3.Or(*[rest == x - k * y for k in range(-3, 4)]), (holds,))
    yield Lemma(z3.And(rest < divisor, -rest < divisor, rest * x >= 0), (holds,))
    for subtract in fast.all("subtract"):
        number, multiple = (meaning.of(name) for name in subtract.operands)
        used = z3.And(number >= multiple, multiple > 0)
        yield Lemma(z3.Implies(used, number <= 2 * multiple), (holds,))


_REMAINDER = """HloModule remainders
ENTRY main {
  x = f32[512] parameter(0)
  y = f32[512] parameter(1)
  ROOT remainder = f32[512] remainder(x, y)
}"""
