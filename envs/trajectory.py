"""What an episode did: enough to do it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from hlograph.errors import HloError


class ReplayError(HloError):
    """A trajectory does not lead where it led when it was recorded."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A benchmark, the passes applied to it, and the op count after each.

    Attributes:
        benchmark: Name of the benchmark.
        start_fingerprint: Fingerprint of its module.
        start_op_count: Its op count.
        passes: Names of the passes, in order, those without effect included.
        op_counts: Op count after each of them.
        fingerprint: Fingerprint of the resulting module.
    """

    benchmark: str
    start_fingerprint: str
    start_op_count: int
    passes: tuple[str, ...]
    op_counts: tuple[int, ...]
    fingerprint: str

    def to_json(self) -> str:
        """Returns the trajectory as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Trajectory:
        """Reads what ``to_json`` wrote.

        Raises:
            ReplayError: The text is not a trajectory.
        """
        try:
            fields = json.loads(text)
            return cls(
                benchmark=str(fields["benchmark"]),
                start_fingerprint=str(fields["start_fingerprint"]),
                start_op_count=int(fields["start_op_count"]),
                passes=tuple(map(str, fields["passes"])),
                op_counts=tuple(map(int, fields["op_counts"])),
                fingerprint=str(fields["fingerprint"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ReplayError(f"expected the JSON of a trajectory: {error!r}") from error
