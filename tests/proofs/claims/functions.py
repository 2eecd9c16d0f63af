"""Claims of the rules for functions: powers, sines, remainders and angles.

The instructions that a rule builds are taken for operations on real numbers. Polynomials are no
equal of sines and angles: of them, the distance is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import z3

from tests.proofs.claim import claim
from tests.proofs.instructions import Computation
from tests.proofs.prover import Enumeration, Lemma, Sizes, Statement
from tests.proofs.rewritten import Meaning, rewritten
from tests.proofs.sums import Formula

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


# A quarter turn, to 40 digits: what is left out is far below all bounds.
_QUARTER = z3.RealVal("1.570796326794896619231321691639751442098")
_MOST_QUARTERS = 5216
_SINE_BOUND, _COSINE_BOUND = z3.Q(6, 10**9), z3.Q(2, 10**10)
_REDUCTION_BOUND = z3.Q(2, 10**11)


@claim(
    "sine-by-polynomial",
    conditions="no angle of the array exceeds 8192",
    wrong="the quarter turns are counted from one",
    argument="A sine of an angle and k quarter turns is plus or minus the sine or cosine of the "
    "angle, by k modulo 4. The polynomials differ from the Taylor polynomials by less than their "
    "bound less the first term left out, and the reduced angle by less than its own from the exact "
    "one; sines change by no more than angles. So the result differs by less than 6.1e-9, a tenth "
    "of the spacing of numbers below 1.",
    bounds="k up to 5216, any angles; no equality: the rounding of each operation comes on top",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    for name in ("sine", "cosine"):
        text = _FUNCTION.format(name)
        sine = _Sine(rewritten("sine-by-polynomial", text).computations["fast"])
        yield sine.in_quarters(cosine=name == "cosine", wrong=wrong)
        if sizes.small or wrong:
            continue
        yield from sine.reduction()
        yield from sine.polynomials()


_FUNCTION = """HloModule angles
ENTRY main {{
  x = f32[512] parameter(0)
  ROOT result = f32[512] {0}(x)
}}"""


class _Sine:
    """Builds what the rule builds for sines, or for cosines, of angles that are not too large.

    Args:
        fast: The computation.
    """

    def __init__(self, fast: Computation) -> None:
        self._fast = fast
        self._angle = z3.Real("angle")
        self._count = z3.Int("count")  # of quarter turns
        self._rest = z3.Real("rest")  # of the angle
        (element,) = fast.all("get-tuple-element")
        (rounds,) = fast.all("round-nearest-even")
        self._known = {element.name: self._angle, rounds.name: z3.ToReal(self._count)}
        self._rounded = rounds.operands[0]
        self._rest_name = next(
            one.operands[0] for one in fast.all("multiply") if len(set(one.operands)) == 1
        )
        # The first choice is that between both polynomials.
        _, self._cosine_name, self._sine_name = fast.all("select")[0].operands

    def _value(self, name: str, known: dict[str, Formula]) -> Formula:
        operations = {
            "convert": lambda count: self._count,
            # The numbers are single bits.
            "and": lambda number, bit: (number / bit) % 2 * bit,
        }
        return Meaning(self._fast, {**self._known, **known}, operations, real=True).of(name)

    def in_quarters(self, cosine: bool, wrong: bool) -> Statement:
        """Returns that the result is the polynomial of the quarter with its sign."""
        s, c = z3.Reals("s c")
        result = self._value(self._fast.root, {self._sine_name: s, self._cosine_name: c})
        first = int(cosine) + int(wrong)
        values = [s, c, -s, -c]
        expected = values[first % 4]
        for quarter in (1, 2, 3):
            value = values[(quarter + first) % 4]
            expected = z3.If(self._count % 4 == quarter, value, expected)
        return Lemma(result == expected, (self._angle != 0,))

    def reduction(self) -> Iterator[Statement]:
        """Yields bounds of the reduced angle, and of its distance from the exact one."""
        scaled, count = self._value(self._rounded, {}), z3.ToReal(self._count)
        conditions = (
            self._angle < 8192,
            self._angle > -8192,
            count - scaled <= z3.Q(1, 2),
            scaled - count <= z3.Q(1, 2),
        )
        rest = self._value(self._rest_name, {})
        exact = self._angle - count * _QUARTER
        yield Lemma(z3.And(count <= _MOST_QUARTERS, count >= -_MOST_QUARTERS), conditions)
        yield Lemma(_within(rest - exact, _REDUCTION_BOUND), conditions)
        yield Lemma(_within(rest, z3.Q(786, 1000)), conditions)

    def polynomials(self) -> Iterator[Statement]:
        """Yields bounds of the polynomials' distance from sine and cosine."""
        known = {self._rest_name: self._rest}
        inside = (_within(self._rest, z3.Q(786, 1000)),)
        for name, first, bound in (
            (self._sine_name, 1, _SINE_BOUND),
            (self._cosine_name, 0, _COSINE_BOUND),
        ):
            polynomial = self._value(name, known)
            taylor, power, factorial = z3.RealVal(0), z3.RealVal(1), 1
            for degree in range(16):
                factorial *= max(degree, 1)
                if degree % 2 == first:
                    if degree >= 14:
                        break
                    taylor += (1 if degree % 4 == first else -1) * power / factorial
                power *= self._rest
            # Beyond it, the series alternates with terms that decrease.
            left_out = z3.If(power < 0, -power, power) / factorial
            yield Lemma(_within(polynomial - taylor, bound - left_out), inside)


def _within(value: Formula, bound: Formula) -> Formula:
    return z3.And(value <= bound, -value <= bound)


_ARCTANGENT_SLOPE = z3.Q(8, 10**7)
_ARCTANGENT_BOUND = 2.2e-8
_POINTS = 1000


@claim(
    "arctangent-by-polynomial",
    conditions="the point is not the origin",
    wrong="points above the diagonal are not reflected",
    argument="The angle of a point is that of the ratio of its lesser coordinate to the greater, "
    "reflected at the diagonal and at both axes. The polynomial and the arctangent are 0 at 0, "
    "and their slopes differ by less than 8e-7, so that their distance at a thousand points "
    "bounds it everywhere: it is less than 2.3e-8. With the rounding of the constants, the angle "
    "differs by less than 1.6e-7, less than the spacing of numbers below 3.",
    bounds="no equality: the rounding of each operation comes on top",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    if sizes.small and not wrong:
        return
    main = rewritten("arctangent-by-polynomial", _ARCTANGENT).main
    square = next(one for one in main.all("multiply") if len(set(one.operands)) == 1)
    ratio = square.operands[0]
    angle = main.all("multiply")[-1].name
    yield from _octants(main, ratio, angle, wrong)
    if wrong:
        return
    t = z3.Real("t")
    polynomial = z3.simplify(Meaning(main, {ratio: t}, real=True).of(angle), som=True)
    slope = _derivative(polynomial, t)
    yield Lemma(_within(slope * (1 + t * t) - 1, _ARCTANGENT_SLOPE * (1 + t * t)), (t >= 0, t <= 1))
    yield Enumeration(lambda: _far_from_arctangent(polynomial, t))


_ARCTANGENT = """HloModule angles
ENTRY main {
  y = f32[512] parameter(0)
  x = f32[512] parameter(1)
  ROOT result = f32[512] atan2(y, x)
}"""


def _octants(main: Computation, ratio: str, angle: str, wrong: bool) -> Iterator[Statement]:
    """Yields that the angle of the ratio becomes that of the point."""
    x, y, theta, polynomial = z3.Reals("x y theta polynomial")
    inf = z3.Real("inf")
    # The sign bit of a number other than zero.
    known = {"x": x, "y": y}
    operations = {"bitcast-convert": lambda number: z3.If(number < 0, z3.IntVal(-1), z3.IntVal(1))}
    width, height = z3.If(x < 0, -x, x), z3.If(y < 0, -y, y)
    conditions = (z3.Or(x != 0, y != 0), inf > width, inf > height)
    value = Meaning(main, known, operations, real=True).of(ratio)
    least, most = z3.If(width < height, width, height), z3.If(width < height, height, width)
    yield Lemma(z3.And(value * most == least, value >= 0, value <= 1), conditions)
    result = Meaning(main, {**known, angle: polynomial}, operations, real=True).root
    expected = theta if wrong else z3.If(height > width, _QUARTER - theta, theta)
    expected = z3.If(x < 0, 2 * _QUARTER - expected, expected)
    expected = z3.If(y < 0, -expected, expected)
    bound = z3.Q(16, 10**8)
    yield Lemma(
        _within(result - expected, bound),
        (*conditions, _within(polynomial - theta, z3.Q(23, 10**9))),
    )


def _derivative(polynomial: Formula, t: Formula) -> Formula:
    """Returns the derivative of a sum of products of powers."""
    if z3.is_add(polynomial):
        return sum((_derivative(term, t) for term in polynomial.children()), z3.RealVal(0))
    if z3.is_mul(polynomial):
        factors = polynomial.children()
        result = z3.RealVal(0)
        for place, factor in enumerate(factors):
            term = _derivative(factor, t)
            for other in (*factors[:place], *factors[place + 1 :]):
                term = term * other
            result = result + term
        return result
    if polynomial.decl().kind() == z3.Z3_OP_POWER:
        base, exponent = polynomial.children()
        assert z3.eq(base, t)
        power = z3.RealVal(1)
        for _ in range(exponent.as_long() - 1):
            power = power * t
        return exponent.as_long() * power
    return z3.RealVal(1 if z3.eq(polynomial, t) else 0)


def _far_from_arctangent(polynomial: Formula, t: Formula) -> str | None:
    """Returns a point at which the polynomial is further from the arctangent than allowed."""
    for point in range(_POINTS + 1):
        at = z3.Q(point, _POINTS)
        value = z3.simplify(z3.substitute(polynomial, (t, at))).as_fraction()
        distance = abs(value - Fraction(math.atan(point / _POINTS)))
        if distance > _ARCTANGENT_BOUND:
            return f"{float(distance)} at {point / _POINTS}"
    return None
