"""Trajectories: records of episodes that can be replayed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from hlograph.errors import HloError


class ReplayError(HloError):
    """Raised when a trajectory cannot be read, or when its replay differs from it."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Record of an episode: a benchmark, the steps taken on it, and the op count after each.

    Attributes:
        benchmark: Name of the benchmark.
        start_fingerprint: Fingerprint of its module.
        start_op_count: Its op count.
        passes: Names of the passes, places of the rewrites, or decisions, in order. Steps without
            effect are included; stopping is not.
        op_counts: Op count after each of them.
        fingerprint: Fingerprint of the resulting module.
    """

    benchmark: str
    start_fingerprint: str
    start_op_count: int
    passes: tuple[str, ...]
    op_counts: tuple[int, ...]
    fingerprint: str

    def table(self) -> str:
        """Returns a table with name, op count and change of each step, as text."""
        width = max([len("start"), *(len(name) for name in self.passes)])
        start = self.start_op_count
        lines = [
            self.benchmark,
            f"{'step':>4}  {'pass':<{width}}  {'ops':>7}  {'change':>7}  {'of start':>8}",
            f"{0:>4}  {'start':<{width}}  {start:>7}  {'':>7}  {1:>8.1%}",
        ]
        before = start
        for step, (name, count) in enumerate(
            zip(self.passes, self.op_counts, strict=True), start=1
        ):
            change = f"{count - before:+d}" if count != before else "="
            lines.append(
                f"{step:>4}  {name:<{width}}  {count:>7}  {change:>7}  {count / start:>8.1%}"
            )
            before = count
        return "\n".join(lines)

    def to_json(self) -> str:
        """Returns the trajectory as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Trajectory:
        """Returns the trajectory that ``to_json`` wrote.

        Raises:
            ReplayError: The text is not a trajectory.
        """
        try:
            fields = json.loads(text)
            trajectory = cls(
                benchmark=str(fields["benchmark"]),
                start_fingerprint=str(fields["start_fingerprint"]),
                start_op_count=int(fields["start_op_count"]),
                passes=tuple(map(str, fields["passes"])),
                op_counts=tuple(map(int, fields["op_counts"])),
                fingerprint=str(fields["fingerprint"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ReplayError(f"expected the JSON of a trajectory: {error!r}") from error
        if len(trajectory.passes) != len(trajectory.op_counts):
            raise ReplayError(
                f"expected an op count for each of {len(trajectory.passes)} passes, got "
                f"{len(trajectory.op_counts)}"
            )
        return trajectory


def check_replay(where: str, expected: object, replayed: object) -> None:
    """Compares a replay with its trajectory.

    Args:
        where: Place in the trajectory, for the message.
        expected: Value in the trajectory.
        replayed: Value in the replay.

    Raises:
        ReplayError: The two differ.
    """
    if expected != replayed:
        raise ReplayError(
            f"at the {where} the trajectory has {expected}, the replay {replayed}: the "
            "benchmark or the linked XLA is another one"
        )
