"""Decisions about single instructions of a program that XLA has optimized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from hlograph.errors import PlanError

Decision = Literal["partitions", "library", "one-kernel", "unfuse", "fuse"]
"""Kind of a decision.

``partitions``: the outer dimensions of a loop fusion are divided among threads; the value is the
number of parts of each, such as ``4`` or ``2,2``, or ``1`` for one thread. ``library``: a dot,
convolution or reduction runs in a library, ``ynn`` or ``onednn``, or in none (``none``).
``one-kernel``: a call, or a loop with all instructions of its body, is compiled as one kernel.
``unfuse``: the instructions of a fusion become kernels of their own, or the one instruction within
a fusion that is named; such a kernel has the instruction's name and ``_part``. ``fuse``: a loop
fusion is computed within its user, whose name is the value, and stays if it has other users.
"""

DECISIONS: tuple[Decision, ...] = get_args(Decision)


@dataclass(frozen=True)
class Placement:
    """A decision about one instruction of the module that XLA's scheduler gets.

    Attributes:
        instruction: Name of the instruction in that module.
        decision: Kind of the decision.
        value: Value of the decision; empty for a kind that needs none.
    """

    instruction: str
    decision: Decision
    value: str = ""

    @property
    def subject(self) -> tuple[str, ...]:
        """The choice that it is about: of two placements with the same subject, one can hold.

        A fusion may be computed within several users.
        """
        user = (self.value,) if self.decision == "fuse" else ()
        return (self.instruction, self.decision, *user)

    def to_json(self) -> dict[str, str]:
        """Returns the placement as a JSON object."""
        found: dict[str, str] = {"instruction": self.instruction, "decision": self.decision}
        return found | ({"value": self.value} if self.value else {})

    @classmethod
    def from_json(cls, content: Any) -> Placement:
        """Returns the placement that ``to_json`` wrote.

        Raises:
            PlanError: The content is not a placement.
        """
        try:
            placement = cls(
                str(content["instruction"]), content["decision"], str(content.get("value", ""))
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise PlanError(f"expected the JSON object of a placement, got {content!r}") from error
        if placement.decision not in DECISIONS:
            raise PlanError(
                f"expected one of the decisions {', '.join(DECISIONS)}, got {placement.decision!r}"
            )
        return placement

    def __str__(self) -> str:
        return f"{self.decision}({self.instruction}{', ' if self.value else ''}{self.value})"
