"""Whether two modules compute the same, found out by running both.

``Module.equivalent_to`` is the way in; ``Reference`` compares one original with many modules.
"""

from hlograph.execution.equivalence.obstacles import Limits
from hlograph.execution.equivalence.reference import ENGINES, Reference, SignatureError
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
    "Reference",
    "SignatureError",
    "Verdict",
]
