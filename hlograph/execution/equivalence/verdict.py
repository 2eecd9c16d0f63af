"""What a comparison of two modules found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlograph.errors import HloError

Verdict = Literal["equal", "close", "different", "not comparable"]
EngineName = Literal["compiled", "evaluator"]

RANK: tuple[Verdict, ...] = ("equal", "close", "not comparable", "different")
"""Verdicts from the mildest to the worst."""


class NotComparableError(HloError):
    """Whether two modules compute the same could not be found out; the message says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one way of running both modules showed.

    Attributes:
        engine: ``compiled`` by XLA:CPU, or XLA's reference ``evaluator``.
        verdict: As of ``Equivalence``.
        reason: What decided, in words; names the output.
        output: Number of the worst output; None where none differs.
        ulp: Its largest error, in units of the epsilon of its type (``difference``).
        relative: The same as a fraction.
        samples: Random inputs that both ran on.
        finite: Fraction of the elements of the original's outputs that are neither NaN nor
            infinite: what is compared.
    """

    engine: EngineName
    verdict: Verdict
    reason: str
    output: int | None = None
    ulp: float = 0.0
    relative: float = 0.0
    samples: int = 0
    finite: float = 0.0


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether two modules computed the same on random inputs.

    As a condition it is true for ``equal`` and ``close`` and false for ``different``. Of
    ``not comparable`` it is neither: ``NotComparableError`` is raised, so that ``if`` and
    ``assert`` cannot take what was never compared for a yes or a no.

    Attributes:
        verdict: ``equal``: every bit of every output on every sample. ``close``: the same but
            for rounding. ``different``: farther apart than rounding explains. ``not
            comparable``: they cannot be run here, or what they compute hangs on rounding
            errors so much that a comparison would say nothing.
        reason: What decided, in words.
        seed: Seed of the inputs; the same seed gives the same inputs.
        findings: What each way of running showed; the verdict is the worst of theirs. Empty
            where nothing ran.
    """

    verdict: Verdict
    reason: str
    seed: int
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: tuple[Finding, ...], seed: int) -> Equivalence:
        """Returns the worst of several findings (at least one)."""
        worst = max(findings, key=lambda finding: RANK.index(finding.verdict))
        return cls(worst.verdict, f"{worst.engine}: {worst.reason}", seed, findings)

    @property
    def ulp(self) -> float:
        """Largest error of any output in any finding, in units of its type's epsilon."""
        return max((finding.ulp for finding in self.findings), default=0.0)

    @property
    def samples(self) -> int:
        """Random inputs that both ran on; 0 where nothing ran."""
        return max((finding.samples for finding in self.findings), default=0)

    def __bool__(self) -> bool:
        if self.verdict == "not comparable":
            raise NotComparableError(
                f"the modules were not compared: {self.reason}; look at .verdict instead of "
                "taking the result as a condition"
            )
        return self.verdict in ("equal", "close")

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"
