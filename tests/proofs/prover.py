"""Proves and refutes claims by the SMT solver z3.

An equation between arrays is proved for all sizes: its two sides are brought into the normal form
of ``tests.proofs.sums``, and z3 proves that for all indices, and for all values of the binders, the
summands of both are equal. That is sufficient, not necessary: what is not proved need not be wrong.

A refutation is exact: all sizes are small numbers, so that sums are finite, and z3 finds numbers
for which the sides differ. Each equation that is proved is checked in that way, too, so that an
error in the normal form would be seen.

The method is that of TensorRight (Arora et al., POPL 2025), with sums in a normal form instead of
hints for reductions.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import z3

from tests.proofs.language import Array
from tests.proofs.sums import Formula, Number, Size, Term, conjunction, fresh, naming, size_of

# Steps of one call of z3, as it counts them: of a proof, ten times those of the longest one, and of
# a search for a counterexample among numbers, where steps take far longer. The result does not
# depend on the load of the machine.
_PROOF_STEPS, _SEARCH_STEPS = 50_000_000, 100_000

# Milliseconds after which a call is given up all the same.
_TIMEOUT = 120_000

# Formulas of bits alone are left to a SAT solver, which takes half the time for them.
_OF_BITS = "simplify", "fpa2bv", "simplify", "solve-eqs", "ackermannize_bv", "bit-blast", "sat"

# Other names of the binders of one side that are tried, at most.
_MOST_RENAMINGS = 48


@dataclass(frozen=True)
class Equation:
    """A claim that two arrays are equal, element by element.

    Attributes:
        left: What a rule finds.
        right: What it puts in its place.
        where: Conditions on sizes and numbers.
        pivots: True splits sums at the indices of the result, for what is summed up to an index.
    """

    left: Array
    right: Array
    where: tuple[Formula, ...] = ()
    pivots: bool = False


@dataclass(frozen=True)
class Lemma:
    """A claim that a formula holds for all values of its variables.

    Attributes:
        formula: The formula.
        where: Conditions.
    """

    formula: Formula
    where: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class Enumeration:
    """A claim about finitely many cases, all of which are looked at.

    Attributes:
        failure: Function that returns the first case for which the claim does not hold, or None.
    """

    failure: Callable[[], str | None]


Statement = Equation | Lemma | Enumeration


@dataclass(frozen=True)
class Verdict:
    """Holds what the prover has found out about a statement.

    Attributes:
        kind: What came out.
        detail: The values of a counterexample, or what could not be shown.
        seconds: Time of the proof.
    """

    kind: Literal["proved", "refuted", "open"]
    detail: str = ""
    seconds: float = 0.0


@dataclass
class Sizes:
    """Makes the sizes of a claim: variables for a proof, small numbers for a refutation.

    Args:
        small: Numbers to take in turns instead of variables.
    """

    small: Sequence[int] = ()
    conditions: list[Formula] = field(default_factory=list)
    _made: int = 0

    def __call__(self, name: str, least: int = 0) -> Size:
        """Returns a size of at least so many elements."""
        if self.small:
            self._made += 1
            return size_of(max(least, self.small[(self._made - 1) % len(self.small)]))
        variable = z3.Int(name)
        self.conditions.append(variable >= least)
        return size_of(variable)

    def several(self, names: str, least: int = 0) -> list[Size]:
        """Returns a size for each of some names, separated by spaces."""
        return [self(name, least) for name in names.split()]


@dataclass
class _Context:
    """The proof in progress: what holds, and the sums that formulas name."""

    conditions: list[Formula]
    pivots: dict[str, list[Formula]] = field(default_factory=dict)
    atoms: list[tuple[list[Formula], Number, Any]] = field(default_factory=list)


_context: ContextVar[_Context] = ContextVar("_context")


def prove(statement: Statement, sizes: Sizes) -> Verdict:
    """Returns whether a statement could be proved for all sizes."""
    begun = time.monotonic()
    if isinstance(statement, Enumeration):
        return _enumerated(statement)
    conditions = [*sizes.conditions, *statement.where]
    if _counterexample(z3.BoolVal(False), conditions) is None:
        return Verdict("open", "the conditions never hold", time.monotonic() - begun)
    if isinstance(statement, Lemma):
        detail = _counterexample(statement.formula, conditions)
        kind = "proved" if detail is None else "open"
        return Verdict(kind, detail or "", time.monotonic() - begun)
    with _proving(conditions) as context:
        index, bounds = _indices(statement, context)
        if index is None:
            return Verdict("open", "the sizes of the sides differ", time.monotonic() - begun)
        context.conditions += bounds
        detail = _difference(statement.left.at(index), statement.right.at(index))
    return Verdict("proved" if detail is None else "open", detail or "", time.monotonic() - begun)


def refute(statement: Statement, sizes: Sizes) -> Verdict:
    """Returns a counterexample of a statement whose sizes are numbers, if there is one.

    Returns:
        ``refuted`` with the values; ``proved`` if there is none of these sizes; otherwise ``open``.
    """
    begun = time.monotonic()
    if isinstance(statement, Enumeration):
        return _enumerated(statement)
    conditions = [*sizes.conditions, *statement.where]
    if isinstance(statement, Lemma):
        formula = statement.formula
    else:
        with _proving(conditions) as context:
            index, bounds = _indices(statement, context)
            if index is None:
                return Verdict("refuted", "the sizes differ", time.monotonic() - begun)
            conditions = context.conditions + bounds
            left, right = statement.left.at(index), statement.right.at(index)
            if not (left.is_plain and right.is_plain):
                return Verdict("open", "a size is no number", time.monotonic() - begun)
            formula = left.formula == right.formula
    detail = _counterexample(formula, conditions, _SEARCH_STEPS)
    seconds = time.monotonic() - begun
    if detail is None:
        return Verdict("proved", "", seconds)
    return Verdict("open" if detail == _UNKNOWN else "refuted", detail, seconds)


def _enumerated(statement: Enumeration) -> Verdict:
    begun = time.monotonic()
    failure = statement.failure()
    kind = "proved" if failure is None else "refuted"
    return Verdict(kind, failure or "", time.monotonic() - begun)


def atom(value: Number) -> Formula:
    """Returns the value of a function that stands for a sum; equal sums have the same.

    Args:
        value: A sum with binders.
    """
    context = _context.get()
    free = _free_variables(value)
    for places, known, function in context.atoms:
        if len(places) != len(free):
            continue
        for order in itertools.permutations(free):
            pairs = list(zip(places, order, strict=True))
            renamed = Number(
                tuple(
                    Term(factor, guard, term.binders)
                    for term in known.terms
                    for guard, factor in [term.substituted(*pairs)]
                )
            )
            if _difference(value, renamed) is None:
                return function(*order)
    function = z3.Function(fresh("sum").decl().name(), *[z3.IntSort()] * len(free), z3.RealSort())
    context.atoms.append((free, value, function))
    return function(*free)


@contextmanager
def _proving(conditions: Iterable[Formula]) -> Iterator[_Context]:
    context = _Context(list(conditions))
    token, named = _context.set(context), naming.set(atom)
    try:
        yield context
    finally:
        _context.reset(token)
        naming.reset(named)


def _indices(
    equation: Equation, context: _Context
) -> tuple[Mapping[str, Formula] | None, list[Formula]]:
    """Returns an index for each axis of the result, None if the sides differ, and its bounds."""
    left, right = equation.left.axes, equation.right.axes
    if left.keys() != right.keys():
        return None, []
    index, bounds = {}, []
    for axis, size in left.items():
        if _counterexample(_equal(size.length, right[axis].length), context.conditions) is not None:
            return None, []
        index[axis] = z3.Int(f"{axis}!")
        bounds += [index[axis] >= 0, index[axis] < size.length]
        if equation.pivots:
            for part in size.parts:
                place = index[axis]
                if part.interleaved:
                    place = place / part.times
                context.pivots.setdefault(str(part.base), []).append(place)
    return index, bounds


def _equal(a: Formula, b: Formula) -> Formula:
    equal = a == b
    return z3.BoolVal(equal) if isinstance(equal, bool) else equal


_UNKNOWN = "z3 gives up"


def _counterexample(
    formula: Formula, conditions: Iterable[Formula], steps: int = _PROOF_STEPS
) -> str | None:
    """Returns values for which a formula does not hold, None if it always does."""
    formulas = [*conditions, z3.Not(formula)]
    is_of_bits = _is_of_bits(formulas)
    solver = z3.Then(*_OF_BITS).solver() if is_of_bits else z3.Solver()
    solver.set("rlimit", _PROOF_STEPS if is_of_bits else steps)
    solver.set("timeout", _TIMEOUT)
    solver.add(*formulas)
    result = solver.check()
    if result == z3.unsat:
        return None
    return str(solver.model()) if result == z3.sat else _UNKNOWN


def _is_of_bits(formulas: Iterable[Formula]) -> bool:
    """Returns True if bit vectors and floating-point numbers are all that formulas are about."""
    seen, stack, bits = set[int](), list(formulas), False
    while stack:
        node = stack.pop()
        if not z3.is_expr(node) or node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_quantifier(node) or z3.is_arith(node):
            return False
        bits |= z3.is_bv(node)
        stack.extend(node.children())
    return bits


def _difference(left: Number, right: Number) -> str | None:
    """Returns what of two numbers could not be shown to be equal, None if all could."""
    groups: dict[tuple[str, ...], tuple[list[Term], list[Term]]] = {}
    for side, value in enumerate((left, right)):
        for term in value.terms:
            for piece in _pieces(term):
                groups.setdefault(_signature(piece), ([], []))[side].append(piece)
    for signature, (ours, theirs) in groups.items():
        if not _same_sums(ours, theirs):
            return f"sums over {', '.join(signature) or 'nothing'}"
    return None


def _pieces(term: Term) -> list[Term]:
    """Returns a term in parts that are sums over as few binders as can be."""
    term = _without_determined_binders(term)
    pivots = _context.get().pivots
    pieces = [term]
    for binder, size in term.binders:
        for place in pivots.get(str(size), ()):
            pieces = [
                Term(piece.factor, conjunction(piece.guard, relation), piece.binders)
                for piece in pieces
                for relation in (binder < place, binder == place, binder > place)
            ]
    simple = (_without_determined_binders(piece) for piece in pieces)
    conditions = _context.get().conditions
    return [piece for piece in simple if _may_hold(piece, conditions)]


def _may_hold(term: Term, conditions: Sequence[Formula]) -> bool:
    """Returns False if the guard of a term holds nowhere."""
    if term.guard is True:
        return True
    return _counterexample(z3.Not(term.guard), [*conditions, *_ranges(term.binders)]) is not None


def _ranges(binders: Iterable[tuple[Formula, Formula]]) -> list[Formula]:
    return [bound for binder, size in binders for bound in (binder >= 0, binder < size)]


def _without_determined_binders(term: Term) -> Term:
    """Returns a term without the binders that its guard gives a value."""
    for binder, size in term.binders:
        for condition in _conjuncts(term.guard):
            value = _solution(condition, binder)
            if value is None:
                continue
            guard, factor = term.substituted((binder, value))
            rest = tuple(pair for pair in term.binders if pair[0] is not binder)
            inside = z3.And(value >= 0, value < size)
            return _without_determined_binders(Term(factor, conjunction(guard, inside), rest))
    return term


def _conjuncts(guard: Formula) -> list[Formula]:
    if guard is True:
        return []
    if z3.is_and(guard):
        return [part for child in guard.children() for part in _conjuncts(child)]
    return [guard]


def _solution(condition: Formula, binder: Formula) -> Formula | None:
    """Returns the value of a binder if a condition is an equation that gives it."""
    if not z3.is_eq(condition):
        return None
    for side, other in (condition.children(), condition.children()[::-1]):
        if z3.eq(side, binder) and not _occurs(binder, other):
            return other
    return None


def _occurs(variable: Formula, formula: Formula) -> bool:
    return any(z3.eq(variable, other) for other in _variables(formula))


def _variables(formula: Formula) -> list[Formula]:
    """Returns the integer variables of a formula."""
    if not z3.is_expr(formula):
        return []
    seen, variables, stack = set(), [], [formula]
    while stack:
        node = stack.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED and z3.is_int(node):
            variables.append(node)
        stack.extend(node.children())
    return sorted(variables, key=str)


def _free_variables(value: Number) -> list[Formula]:
    """Returns the indices that a sum depends on: neither its binders nor sizes."""
    names: dict[str, Formula] = {}
    for term in value.terms:
        bound = {str(binder) for binder, _ in term.binders}
        for formula in (term.factor, term.guard):
            for variable in _variables(formula):
                if "!" in str(variable) and str(variable) not in bound:
                    names[str(variable)] = variable
    return [names[name] for name in sorted(names)]


def _signature(term: Term) -> tuple[str, ...]:
    return tuple(sorted(str(size) for _, size in term.binders))


def _same_sums(ours: Sequence[Term], theirs: Sequence[Term]) -> bool:
    """Returns True if two sums of terms over binders of the same sizes are equal.

    The binders of all terms of a side get the same names; other names, and the reverse order, are
    tried for those of the other side.
    """
    sizes = [size for _, size in _sorted((ours or theirs)[0].binders)]
    shared = [z3.Int(f"s!{number}") for number in range(len(sizes))]
    conditions = [*_context.get().conditions, *_ranges(zip(shared, sizes, strict=True))]
    left = _sum(_over(term, shared) for term in ours)
    for indices in itertools.islice(_renamings(shared, sizes), _MOST_RENAMINGS):
        right = _sum(_over(term, indices) for term in theirs)
        if _counterexample(left == right, conditions) is None:
            return True
    return False


def _sorted(binders: Iterable[tuple[Formula, Formula]]) -> list[tuple[Formula, Formula]]:
    return sorted(binders, key=lambda pair: str(pair[1]))


def _over(term: Term, indices: Sequence[Formula]) -> Formula:
    """Returns the summand of a term with indices in place of its binders."""
    binders = [binder for binder, _ in _sorted(term.binders)]
    guard, factor = term.substituted(*zip(binders, indices, strict=True))
    return z3.If(guard, factor, z3.RealVal(0))


def _sum(formulas: Iterable[Formula]) -> Formula:
    return sum(formulas, z3.RealVal(0))


def _renamings(shared: Sequence[Formula], sizes: Sequence[Formula]) -> Iterator[Sequence[Formula]]:
    """Yields the bijections of binders of the same sizes: exchanged, and in reverse order."""
    names = [str(size) for size in sizes]
    orders = [
        order
        for order in itertools.permutations(range(len(shared)))
        if all(names[place] == names[number] for number, place in enumerate(order))
    ]
    for reversals in itertools.product((False, True), repeat=len(shared)):
        for order in orders:
            yield [
                sizes[place] - 1 - shared[place] if reverse else shared[place]
                for place, reverse in zip(order, reversals, strict=True)
            ]
