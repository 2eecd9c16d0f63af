"""Profiles as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlograph.profiling.kinds import OUTSIDE

if TYPE_CHECKING:
    from hlograph.profiling.peaks import Peaks
    from hlograph.profiling.profile import Profile

_LONGEST = 44

# Farther from 1 than this factor, `Profile.accounted` shows that runs differed too much.
_ROUGH = 1.25

_LAYOUT = re.compile(r"\{[^}]*\}")
_HEADER = ("share", "time", "calls", "kind", "kernel", "library", "shape", "operation")
_RIGHT = frozenset({"share", "time", "calls"})


def profile_table(profile: Profile, limit: int, peaks: Peaks | None) -> str:
    """Returns a profile as text: a summary, the shares by kind, and the slowest kernels."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for kernel in profile.kernels[: max(0, limit)]:
        rows.append(
            (
                _percent(kernel.seconds / profile.seconds),
                duration(kernel.seconds),
                f"{kernel.calls:g}" if kernel.kind != OUTSIDE else "",
                kernel.kind,
                _short(kernel.name),
                "" if kernel.library == "none" else kernel.library,
                _short(_LAYOUT.sub("", kernel.shape)),
                _end(kernel.op_name),
            )
        )
    if (hidden := profile.kernels[max(0, limit) :]) and limit > 0:
        seconds = sum(kernel.seconds for kernel in hidden)
        rest = (_percent(seconds / profile.seconds), duration(seconds), "", f"{len(hidden)} more")
        rows.append((*rest, *[""] * (len(_HEADER) - len(rest))))
    lines = [*_summary(profile, peaks), "", *_shares(profile)]
    return "\n".join([*lines, "", *_aligned(rows)] if limit > 0 else lines)


def duration(seconds: float) -> str:
    """Returns a time with a unit, such as ``1.23 ms``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def _summary(profile: Profile, peaks: Peaks | None) -> list[str]:
    memory, cost = profile.memory, profile.cost
    lines = [
        f"{profile.name}: {duration(profile.seconds)} a run (median), "
        f"{duration(profile.recorded_seconds)} under the profiler; the kernels' times sum to "
        f"{_percent(profile.accounted)} of a run before they are scaled to it"
        + ("" if 1 / _ROUGH < profile.accounted < _ROUGH else ": rough, the machine was busy"),
        f"memory: arguments {_bytes(memory.arguments)}, results {_bytes(memory.outputs)}, "
        f"temporaries {_bytes(memory.temporaries)}"
        + (f", peak {_bytes(memory.peak)}" if memory.peak else ""),
        f"work: {_count(cost.flops)}flop, {_bytes(cost.bytes_accessed)} accessed",
    ]
    if peaks:
        lines[-1] += (
            f"; at least {duration(profile.roofline_seconds(peaks))} at this machine's peaks of "
            f"{_count(peaks.flops)}flop/s and {_bytes(peaks.bytes)}/s, headroom "
            f"{profile.headroom(peaks):.3g}"
        )
    return lines


def _shares(profile: Profile) -> list[str]:
    return _aligned(
        [("share", "kind"), *((_percent(s), kind) for kind, s in profile.by_kind().items())]
    )


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if name in _RIGHT else text.ljust(width)
            for text, width, name in zip(row, widths, rows[0], strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _end(text: str) -> str:
    """Returns the end of a long text: the last part of an operation's name says most."""
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(number: float) -> str:
    for unit, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} "


def _bytes(number: float) -> str:
    return f"{_count(number)}B"
