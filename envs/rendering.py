"""Renders episodes as text."""

from __future__ import annotations

from envs.trajectory import Trajectory


def render_trajectory(trajectory: Trajectory) -> str:
    """Returns a table of an episode with step name, op count and change of each step.

    Args:
        trajectory: The episode so far.
    """
    width = max([len("start"), *(len(name) for name in trajectory.passes)])
    start = trajectory.start_op_count
    lines = [
        trajectory.benchmark,
        f"{'step':>4}  {'pass':<{width}}  {'ops':>7}  {'change':>7}  {'of start':>8}",
        f"{0:>4}  {'start':<{width}}  {start:>7}  {'':>7}  {1:>8.1%}",
    ]
    before = start
    for step, (name, count) in enumerate(
        zip(trajectory.passes, trajectory.op_counts, strict=True), start=1
    ):
        change = f"{count - before:+d}" if count != before else "="
        lines.append(f"{step:>4}  {name:<{width}}  {count:>7}  {change:>7}  {count / start:>8.1%}")
        before = count
    return "\n".join(lines)
