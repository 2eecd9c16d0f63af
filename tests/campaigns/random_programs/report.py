"""The report of a campaign: a table by group of opcodes, and one of what is not explained."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.campaigns.framework.sweep import table
from tests.campaigns.random_programs import control, elementwise, shapes, sums
from tests.campaigns.random_programs.findings import Explained, is_finding

_INDEXING = ("dynamic-slice", "dynamic-update-slice", "gather", "scatter")
_CONTRACTIONS = ("dot", "convolution")
_LINEAR = ("cholesky", "triangular-solve", "fft")
_NAMED = {*_INDEXING, *_CONTRACTIONS, *_LINEAR}
GROUPS: Mapping[str, frozenset[str]] = {
    "elementwise": frozenset(elementwise.DRAWS) - {"constant", "convert", "bitcast-convert"},
    "conversions": frozenset({"convert", "bitcast-convert"}),
    "shapes": frozenset(shapes.DRAWS) - _NAMED - {"tuple", "get-tuple-element"},
    "slices and indices of data": frozenset(_INDEXING),
    "products and convolutions": frozenset(_CONTRACTIONS),
    "reductions, sorts, random bits": frozenset(sums.DRAWS) - _NAMED,
    "linear algebra and fft": frozenset(_LINEAR),
    "calls, loops, branches": frozenset(control.DRAWS),
}
"""Groups of opcodes, by their names in the table."""

Line = Mapping[str, Any]
"""Result of a program: its `name`, `kind`, `opcodes`, and what is in ``Judged``."""

_OUTCOMES = ("agree", "rounding", "not defined", "fault", "not run")


def report(lines: Sequence[Line], findings: Iterable[Explained]) -> str:
    """Returns the tables, as Markdown.

    Args:
        lines: Results of the programs.
        findings: What is explained of them.
    """
    by_name = {finding.name: finding for finding in findings}
    rows = [
        (group, *_counts(lines, by_name, opcodes)) for group, opcodes in (*GROUPS.items(), _ALL)
    ]
    parts = [table(("programs with", "programs", *_OUTCOMES), rows)]
    for title, is_defined in (("Not defined", False), ("Faults", True)):
        groups = defaultdict[Any, list[Explained]](list)
        for finding in by_name.values():
            if bool(finding.rule) != is_defined:
                groups[finding.group].append(finding)
        ordered = sorted(groups.values(), key=lambda some: (some[0].kind, -len(some)))
        parts.append(f"{title}: {len(groups)}")
        heads = ("which", "operations", "programs", "needs", "rule or first difference")
        parts.append(table(heads, map(_row, ordered)))
    return "\n\n".join(parts) + "\n"


_ALL = ("all", frozenset[str]())


def _counts(
    lines: Sequence[Line], findings: Mapping[str, Explained], opcodes: frozenset[str]
) -> list[int]:
    """Returns the numbers of programs with some opcodes, or of all, by outcome."""
    counts = Counter(
        outcome_of(line, findings)
        for line in lines
        if not opcodes or opcodes.intersection(line["opcodes"])
    )
    return [counts.total(), *(counts[outcome] for outcome in _OUTCOMES)]


def outcome_of(line: Line, findings: Mapping[str, Explained]) -> str:
    """Returns the column of the table that a program is counted in."""
    kind = line["kind"]
    if not is_finding(kind):
        return kind
    finding = findings.get(line["name"])
    return "not defined" if finding is not None and finding.rule else "fault"


def _row(findings: Sequence[Explained]) -> tuple[str, ...]:
    first = min(findings, key=lambda finding: len(finding.text))
    needs = "usual inputs" if first.needs is None else ", ".join(first.needs) or "several kinds"
    passes = "in XLA's simplifiers: jaxlib with few passes and XLA's evaluator agree"
    words = first.rule or (passes if first.by_passes else first.reason)
    words = words.replace("|", "/").replace("\n", " ")[:160]
    operations = ", ".join(f"`{operation}`" for operation in first.operations)
    return first.kind, operations, str(len(findings)), needs, words
