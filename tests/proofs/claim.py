"""Claims: what a rule says, for the prover, with a wrong variant that it has to refute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from tests.proofs.prover import Sizes, Statement, Verdict, prove, refute

Reach = Literal["every size", "bounded"]
"""Whether a proof holds for all sizes, or for the counts that the claim draws."""

MakeStatements = Callable[[Sizes, bool], Iterable[Statement]]
"""Function that makes the statements of a claim, right or with the error of the wrong variant."""

# Sizes of counterexamples. The statements are checked for each.
_SMALL = ((2, 3, 1, 2), (3, 2, 4, 2))


@dataclass(frozen=True)
class Claim:
    """States what a rule claims over the real numbers.

    Attributes:
        rule: Name of the rule.
        conditions: What has to hold for the rule to apply, in words.
        wrong: The error of the wrong variant, in words.
        make: Makes the statements, given sizes and whether they should be wrong.
        argument: What leads from the statements to the rule, where it is more than that both sides
            are equal: an induction over the iterations of a loop, or a lemma about sorting.
        bounds: Counts that the statements are proved for one by one, in words; empty if all sizes
            are variables.
    """

    rule: str
    conditions: str
    wrong: str
    make: MakeStatements
    argument: str = ""
    bounds: str = ""


@dataclass(frozen=True)
class Proof:
    """Holds what came of a claim.

    Attributes:
        claim: The claim.
        verdicts: Of each statement, for all sizes.
        checks: Of each statement, for small sizes: ``refuted`` is an error of prover or claim.
        refutations: Of each statement of the wrong variant.
    """

    claim: Claim
    verdicts: tuple[Verdict, ...]
    checks: tuple[Verdict, ...]
    refutations: tuple[Verdict, ...]

    @property
    def is_proved(self) -> bool:
        """True if all statements hold for all sizes, and the wrong variant is refuted."""
        return (
            bool(self.verdicts)
            and all(verdict.kind == "proved" for verdict in self.verdicts)
            and not any(verdict.kind == "refuted" for verdict in self.checks)
            and self.is_wrong_variant_refuted
        )

    @property
    def is_wrong_variant_refuted(self) -> bool:
        """True if there is a counterexample of the wrong variant."""
        return any(verdict.kind == "refuted" for verdict in self.refutations)

    @property
    def seconds(self) -> float:
        """Time of all proofs and refutations."""
        return sum(v.seconds for v in (*self.verdicts, *self.checks, *self.refutations))


_claims: dict[str, Claim] = {}


def claim(
    *rules: str, conditions: str = "", wrong: str, argument: str = "", bounds: str = ""
) -> Callable[[MakeStatements], MakeStatements]:
    """Registers a function as what rules claim; see ``Claim``."""

    def register(make: MakeStatements) -> MakeStatements:
        for rule in rules:
            if rule in _claims:
                raise ValueError(f"expected one claim of {rule}, got another one")
            _claims[rule] = Claim(rule, conditions, wrong, make, argument, bounds)
        return make

    return register


def claims() -> dict[str, Claim]:
    """Returns all claims by the names of their rules."""
    import_module("tests.proofs.claims")
    return dict(_claims)


def proof_of(claim: Claim) -> Proof:
    """Returns what the prover finds out about a claim and its wrong variant."""
    sizes = Sizes()
    return Proof(
        claim,
        tuple(prove(statement, sizes) for statement in claim.make(sizes, False)),
        tuple(_small(claim, wrong=False)),
        tuple(_small(claim, wrong=True)),
    )


def _small(claim: Claim, wrong: bool) -> Iterator[Verdict]:
    for small in _SMALL:
        sizes = Sizes(small)
        for statement in claim.make(sizes, wrong):
            verdict = refute(statement, sizes)
            yield verdict
            if wrong and verdict.kind == "refuted":
                return
