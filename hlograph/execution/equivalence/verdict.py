"""Results of a comparison of two modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlograph.errors import HloError

Verdict = Literal["equal", "close", "different", "not comparable"]
EngineName = Literal["compiled", "evaluator"]

RANK: tuple[Verdict, ...] = ("equal", "close", "not comparable", "different")
"""Verdicts from best to worst."""


class NotComparableError(HloError):
    """Raised when the result of modules that could not be compared is used as a condition."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of running both modules with one engine.

    Attributes:
        engine: ``compiled`` by XLA:CPU, or XLA's reference ``evaluator``.
        verdict: The verdict, as in ``Equivalence``.
        reason: The reason for the verdict in words; names the output.
        output: Number of the worst output; None if none differs.
        ulp: Largest error of that output, in units of its type's epsilon (``difference``).
        relative: Largest relative error of that output.
        samples: Number of random inputs that both ran on.
        finite: Fraction of the elements of the original's outputs that are finite, and so are
            compared.
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
    """Result of a comparison of two modules on random inputs.

    As a condition it is true for ``equal`` and ``close`` and false for ``different``. For ``not
    comparable`` it raises ``NotComparableError``, so that ``if`` and ``assert`` cannot mistake
    modules that were not compared for equal or different ones.

    Attributes:
        verdict: ``equal``: every bit of every output is equal on every sample. ``close``: the
            outputs differ by rounding only. ``different``: they differ by more than rounding.
            ``not comparable``: the modules cannot run here, or their outputs depend so much on
            rounding errors that a comparison has no meaning.
        reason: The reason for the verdict in words.
        seed: Seed of the inputs; the same seed gives the same inputs.
        findings: Results of the engines; the verdict is the worst of theirs. Empty if no engine
            ran.
    """

    verdict: Verdict
    reason: str
    seed: int
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: tuple[Finding, ...], seed: int) -> Equivalence:
        """Returns the result with the worst of several findings (at least one)."""
        worst = max(findings, key=lambda finding: RANK.index(finding.verdict))
        return cls(worst.verdict, f"{worst.engine}: {worst.reason}", seed, findings)

    @property
    def ulp(self) -> float:
        """Largest error of any output in any finding, in units of its type's epsilon."""
        return max((finding.ulp for finding in self.findings), default=0.0)

    @property
    def samples(self) -> int:
        """Number of random inputs that both ran on; 0 if no engine ran."""
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
