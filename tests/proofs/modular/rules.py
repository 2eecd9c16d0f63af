"""Proofs of the results of rules on drawn programs, and refutations of wrong variants of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from benchmarks.speed_rules.catalogue import PROGRAMS as FORMS
from hlograph import Module
from hlograph.errors import HloError
from hlograph.execution.equivalence import OriginalModule
from tests.hlograph.transforms.algebra_programs import PROGRAMS as ALGEBRA
from tests.proofs.modular.mutants import mutants_of
from tests.proofs.modular.proving import Result, prove

PROGRAMS: Mapping[str, Callable[[Random], str]] = {**ALGEBRA, **FORMS}
"""Functions that draw programs, by the rule that applies to them."""

# Points at which a wrong variant is compared, before it counts as the same function.
_SEEDS = 6

# How many times more programs are drawn if none has a wrong variant.
_MORE = 16

# Wrong variants of a result that cannot be judged, after which others are not tried.
_UNDECIDED = 3

CLAIMS_OF_FUNCTIONS: Mapping[str, str] = {
    "arctangent-by-polynomial": "a polynomial is close to the function",
    "sine-by-polynomial": "a polynomial is close to the function",
    "remainder-by-subtraction": "a remainder is a number minus a multiple",
    "search-by-arithmetic": "a place among edges is a quotient, rounded and corrected",
}
"""Rules that claim what no field can show, and what they claim."""


class Extremes(Random):
    """A generator that draws the least or the greatest size, or 0 where sizes begin with 1.

    Args:
        seed: The seed.
        with_empty: True if arrays may have no elements.
    """

    def __init__(self, seed: str, *, with_empty: bool) -> None:
        super().__init__(seed)
        self._with_empty = with_empty

    def randint(self, a: int, b: int) -> int:
        """Returns one end of a range."""
        return self.choice([0, a, b] if self._with_empty and a == 1 else [a, b])


def draw(rule: str, seed: int, number: int) -> Module:
    """Returns a program where a rule may apply; every third one has extreme sizes."""
    name = f"{rule} {seed} {number}"
    with_empty = rule in ALGEBRA and ("dot" in rule or "product" in rule or "contraction" in rule)
    rng = Extremes(name, with_empty=with_empty) if number % 3 == 2 else Random(name)
    return Module.from_text(PROGRAMS[rule](rng))


@dataclass
class Evidence:
    """Holds what was proved of a rule's results.

    Attributes:
        rule: Name of the rule.
        programs: Number of drawn programs.
        verdicts: Number of places by the verdict of their result.
        reasons: Number of places that are not equal, by the reason.
        bound: Greatest bound on the error of a result that is equal.
        degree: Greatest degree.
        drawn: What the bound does not apply to: an order, integers.
        mutants: Number of wrong variants by the outcome, as ``judge`` names it.
        missed: Changes of the wrong variants that are taken for equal.
        seconds: Wall time.
    """

    rule: str
    programs: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    bound: float = 0.0
    degree: int = 0
    drawn: set[str] = field(default_factory=set)
    mutants: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def places(self) -> int:
        """Number of places where the rule was applied."""
        return self.verdicts.total()

    @property
    def judged(self) -> int:
        """Number of wrong variants that XLA tells from the original."""
        return self.mutants["refuted"] + self.mutants["missed"]

    @property
    def is_proved(self) -> bool:
        """True if results were decided, all as equal but for those of types that are undecided."""
        return self.verdicts["equal"] > 0 and not self.verdicts["different"]

    def add(self, result: Result) -> None:
        """Counts the result at one place."""
        self.verdicts[result.verdict] += 1
        if result.verdict == "equal":
            self.bound = max(self.bound, result.bound)
            self.degree = max(self.degree, result.degree)
            self.drawn |= {*result.drawn}
        else:
            self.reasons[result.reason] += 1


def evidence_of(rule: str, *, programs: int = 8, mutants: int = 0, seed: int = 0) -> Evidence:
    """Applies a rule to drawn programs, at each place alone, and compares the results.

    Args:
        rule: Name of the rule.
        programs: Number of programs.
        mutants: Number of wrong variants, of one result or of several, that are judged.
        seed: Seed of the programs and of the points.
    """
    start = time.perf_counter()
    evidence = Evidence(rule)
    for number in range(programs * _MORE):
        if number >= programs and (
            evidence.judged >= min(mutants, 1) or rule in CLAIMS_OF_FUNCTIONS
        ):
            break
        module = draw(rule, seed, number)
        evidence.programs += 1
        for rewrite in module.rewrites([rule]):
            changed = module.clone()
            changed.apply(rewrite)
            result = prove(module, changed, seed=seed + number)
            if rule in CLAIMS_OF_FUNCTIONS and result.verdict != "equal":
                reason = CLAIMS_OF_FUNCTIONS[rule]
                result = replace(result, verdict="undecided", reason=reason)
            evidence.add(result)
            if result.verdict == "equal" and evidence.judged < mutants:
                _count_mutants(evidence, module, changed, mutants, Random(f"{rule} {seed}"))
    evidence.seconds = time.perf_counter() - start
    return evidence


def evidence_of_all(
    rules: Iterable[str] = tuple(PROGRAMS), *, programs: int = 8, mutants: int = 0, seed: int = 0
) -> Iterator[Evidence]:
    """Yields what is proved of rules, one after the other."""
    for rule in rules:
        yield evidence_of(rule, programs=programs, mutants=mutants, seed=seed)


def _count_mutants(
    evidence: Evidence, module: Module, changed: Module, count: int, rng: Random
) -> None:
    # XLA's evaluator does not know top-k.
    has_top_k = "topk" in {*module.opcodes(), *changed.opcodes()}
    reference = OriginalModule(module, engines=("compiled" if has_top_k else "evaluator",))
    undecided = 0
    for mutant in mutants_of(changed, rng):
        outcome = judge(module, reference, mutant.module)
        evidence.mutants[outcome] += 1
        if outcome == "missed":
            evidence.missed.append(mutant.change)
        undecided += outcome == "undecided"
        if evidence.judged >= count or undecided > _UNDECIDED:
            break


def judge(module: Module, reference: OriginalModule, mutant: Module) -> str:
    """Returns how the evaluation over fields and that by XLA judge a wrong variant.

    Returns:
        ``refuted`` if both find a difference, ``same`` if none does, ``missed`` if only XLA does,
        ``stricter`` if only the evaluation over fields does, ``undecided`` if one of them cannot
        compare the modules.
    """
    verdicts = set()
    for seed in range(_SEEDS):
        try:
            verdicts.add(prove(module, mutant, seed=seed, bound=1.0).verdict)
        except HloError:
            verdicts.add("undecided")
        if verdicts != {"equal"}:
            break
    if "undecided" in verdicts:
        return "undecided"
    by_xla = reference.compare(mutant).verdict
    if by_xla == "not comparable":
        return "undecided"
    if "different" in verdicts:
        return "refuted" if by_xla == "different" else "stricter"
    return "missed" if by_xla == "different" else "same"


def table(evidence: Iterable[Evidence]) -> str:
    """Returns a Markdown table with one row for each rule."""
    header = ("rule", "programs", "places", "equal", "different", "undecided")
    header = (*header, "bound", "degree", "drawn", "wrong variants refuted", "seconds")
    rows = [header, ("---",) * len(header), *map(_row, evidence)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(each: Evidence) -> tuple[str, ...]:
    reasons = "; ".join(f"{count}: {reason}" for reason, count in each.reasons.most_common(2))
    return (
        f"`{each.rule}`",
        str(each.programs),
        str(each.places),
        str(each.verdicts["equal"]),
        str(each.verdicts["different"]),
        f"{each.verdicts['undecided']}" + (f" ({reasons})" if reasons else ""),
        f"{each.bound:.0e}" if each.verdicts["equal"] else "",
        str(each.degree) if each.verdicts["equal"] else "",
        ", ".join(sorted(each.drawn)),
        f"{each.mutants['refuted']} of {each.judged}" if each.judged else "",
        f"{each.seconds:.1f}",
    )
