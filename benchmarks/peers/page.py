"""Writes times of peers as tables in Markdown, with a picture of all programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers.results import (
    DEFAULT,
    FASTER,
    SLOWER,
    PeersRow,
    PeerTimes,
    csv_of,
    summary_of,
)
from benchmarks.tables import markdown_table, number
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN = "optimize"
"""Beginning of the names of peers that are ``hlograph.optimize``."""


def tables(rows: Sequence[PeersRow], peers: Sequence[str], made_with: Mapping[str, Any]) -> str:
    """Returns the tables of peers, programs and plans, the failures and the conditions.

    Args:
        rows: The times.
        peers: Names of the peers beside the default, in order.
        made_with: Machine, versions and date.
    """
    parts = [_of_peers(rows, peers), _of_programs(rows, peers)]
    if done := _done(rows, peers):
        parts.append(done)
    if failures := _failures(rows, peers):
        parts.append(failures)
    return "\n\n".join([*parts, _conditions(made_with)]) + "\n"


def findings(rows: Sequence[PeersRow], peers: Sequence[str]) -> list[str]:
    """Returns a line for each peer."""
    lines = []
    for peer in peers:
        summary = summary_of(rows, peer)
        if not summary.ratios:
            lines.append(f"{peer}: ran no program, {len(summary.failures)} failed")
            continue
        low, high = summary.interval
        lines.append(
            f"{peer}: {summary.mean:.3f} times as fast as jaxlib's default in the geometric mean "
            f"of {len(summary.ratios)} programs ({low:.3f} to {high:.3f}); {summary.faster} above "
            f"{FASTER}, {summary.slower} below {SLOWER}, {len(summary.failures)} failed"
        )
    return lines


def beside(rows: Sequence[PeersRow], peer: str, other: str) -> str:
    """Returns a sentence that compares two peers on the programs that both run."""
    summary = summary_of(rows, peer, other)
    if not summary.ratios:
        return f"No program was timed under both {peer} and {other}."
    ahead = sum(ratio > 1 for ratio in summary.ratios.values())
    return (
        f"{peer} takes {1 / summary.mean:.3f} of the time of {other} in the geometric mean of "
        f"{len(summary.ratios)} programs, and is ahead on {ahead} of them."
    )


def of_own(rows: Sequence[PeersRow], peers: Sequence[str]) -> str:
    """Returns a list that compares ``hlograph.optimize``, with its longest search, with others."""
    own = [peer for peer in peers if peer.startswith(OWN)]
    others = [peer for peer in peers if peer not in own and summary_of(rows, peer).ratios]
    return "\n".join(f"- {beside(rows, own[-1], other)}" for other in others) if own else ""


def _of_peers(rows: Sequence[PeersRow], peers: Sequence[str]) -> str:
    heads = ("peer", "programs", "geometric mean", "95 % interval", f"above {FASTER}")
    heads += (f"below {SLOWER}", f"within {FASTER} of the best", "fast_1", "fast_1.5", "fast_2")
    heads += ("failed", "compile s")
    lines = []
    for peer in peers:
        summary = summary_of(rows, peer)
        if not summary.ratios:
            lines.append([peer, "0", *[""] * 8, str(len(summary.failures)), ""])
            continue
        low, high = summary.interval
        lines.append(
            [
                peer,
                str(len(summary.ratios)),
                f"{summary.mean:.3f}",
                f"{low:.3f} to {high:.3f}",
                str(summary.faster),
                str(summary.slower),
                str(summary.near),
                *(f"{summary.fast(times):.0%}" for times in (1, 1.5, 2)),
                str(len(summary.failures)),
                _compile_seconds(rows, peer),
            ]
        )
    return markdown_table(heads, lines)


def _compile_seconds(rows: Sequence[PeersRow], peer: str) -> str:
    """Returns the median of the seconds until a program could be called."""
    seconds = [row.peers.get(peer, PeerTimes()).compile_seconds for row in rows]
    known = [value for value in seconds if value is not None]
    return number(float(np.median(known))) if known else ""


def _of_programs(rows: Sequence[PeersRow], peers: Sequence[str]) -> str:
    lines = []
    for row in sorted(rows, key=lambda row: -row.best(peers)):
        default = row.peers.get(DEFAULT, PeerTimes())
        cells = [number(1e3 * default.median) if default.seconds else "failed"]
        lines.append([row.program, *cells, *(_cell(row, peer) for peer in peers)])
    return markdown_table(("program", "default ms", *peers), lines)


def _cell(row: PeersRow, peer: str) -> str:
    """Returns the ratio to the default, with its interval."""
    ratio = row.ratio(peer)
    if ratio is None:
        return "failed" if row.peers.get(peer, PeerTimes()).error else ""
    if ratio.low == ratio.high == 1.0:
        return "default"
    return f"{number(ratio.value)} ({number(ratio.low)} to {number(ratio.high)})"


def _done(rows: Sequence[PeersRow], peers: Sequence[str]) -> str:
    """Returns a table of what peers that choose among several ways have run."""
    notes = [
        (row, peer, times.note)
        for row in sorted(rows, key=lambda row: row.program)
        for peer in peers
        if (times := row.peers.get(peer)) is not None and times.note
    ]
    lines = [
        [row.program, peer, _cell(row, peer), note.replace("|", "/")] for row, peer, note in notes
    ]
    return markdown_table(("program", "peer", "ratio", "what it ran"), lines) if lines else ""


def _failures(rows: Sequence[PeersRow], peers: Sequence[str]) -> str:
    """Returns a list of the reasons, each with its programs."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer in (DEFAULT, *peers):
            if reason := row.peers.get(peer, PeerTimes()).error:
                by_reason.setdefault((peer, reason), []).append(row.program)
    lines = [f"- {p}: {', '.join(names)}: {why}" for (p, why), names in by_reason.items()]
    return "Not timed, and why:\n\n" + "\n".join(lines) if lines else ""


def _conditions(made_with: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in made_with["versions"].items())
    return (
        f"Measured {made_with['time']} at commit `{str(made_with['commit'])[:10]}` on "
        f"{made_with['cpus']} cores of {made_with['processor']} with {versions}. Ratios are the "
        "default's time over the peer's, medians over turns with 95 % intervals; above 1 the peer "
        "is faster. Seconds to compile are medians over programs."
    )


def write_results(
    rows: Sequence[PeersRow], peers: Sequence[str], folder: Path, made_with: Mapping[str, Any]
) -> str:
    """Writes the table as CSV, the tables in Markdown and the picture, and returns the tables."""
    text = tables(rows, peers, made_with)
    write_text_atomically(folder / "times.csv", csv_of(rows))
    write_text_atomically(folder / "times.md", text)
    if any(row.peers.get(DEFAULT, PeerTimes()).seconds for row in rows):
        write_bytes_atomically(folder / "programs.svg", picture(rows, peers))
    return text


def picture(rows: Sequence[PeersRow], peers: Sequence[str]) -> bytes:
    """Returns a picture with a bar for each program and peer, as SVG."""
    from experiments.evaluate.picture import Picture

    timed = [row for row in rows if row.peers.get(DEFAULT, PeerTimes()).seconds]
    height = 1.5 + 0.1 * len(timed) * (len(peers) + 1)
    alt = "Times as fast as jaxlib's default by program."
    return Picture("programs", alt, height, lambda figure: _draw(figure, timed, peers)).svg()


def _draw(figure: Figure, rows: Sequence[PeersRow], peers: Sequence[str]) -> None:
    from experiments.paper.report.pictures import colours
    from experiments.tune.pictures import ratio_axis

    rows = sorted(rows, key=lambda row: -row.best(peers))
    axes = figure.subplots()
    height = 0.8 / max(len(peers), 1)
    for place, (peer, colour) in enumerate(colours(dict.fromkeys(peers)).items()):
        ratios = [(line, row.ratio(peer)) for line, row in enumerate(rows)]
        timed = [(line, ratio) for line, ratio in ratios if ratio is not None]
        lines = np.array([line for line, _ in timed]) + (place - (len(peers) - 1) / 2) * height
        values = np.array([ratio.value for _, ratio in timed])
        axes.barh(lines, values - 1, height * 0.9, left=1.0, color=colour, label=peer)
    axes.set_yticks(range(len(rows)), [row.program for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    ratio_axis(axes)
    figure.legend(loc="outside upper center", ncols=min(3, max(len(peers), 1)))
