"""Comparison of what two modules compute, by running both on random inputs.

``Module.equivalent_to`` compares two modules; ``OriginalModule`` compares one original with many.
"""

from hlograph.execution.equivalence.engines import Limits
from hlograph.execution.equivalence.reference import ENGINES, OriginalModule, SignatureError
from hlograph.execution.equivalence.verdict import (
    EngineName,
    Equivalence,
    Finding,
    NotComparableError,
    Verdict,
)

__all__ = [
    "ENGINES",
    "EngineName",
    "Equivalence",
    "Finding",
    "Limits",
    "NotComparableError",
    "OriginalModule",
    "SignatureError",
    "Verdict",
]
