"""Measures native kernels beside jaxlib's default and beside the best form in HLO.

python -m benchmarks.kernels                   # all cases: about five minutes
python -m benchmarks.kernels --rules 'kernel-sort*'
python -m benchmarks.kernels --page docs/kernels.md   # writes its table

A kernel's case is a line of ``benchmarks/speed_rules/cases.csv``. The forms that it is compared
with are the other lines with the same function and arguments, whose rules have no kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from benchmarks.tables import markdown_table, number, write_parts
from hlograph.errors import HloError

if TYPE_CHECKING:
    from benchmarks.speed_rules.catalogue import Case
    from hlograph.measuring.trial import Effort

HEADINGS = (
    "rules",
    "shape",
    "program",
    "default, ms",
    "kernel",
    "best form in HLO",
    "rules of that form",
    "outputs",
)


@dataclass(frozen=True)
class KernelsConfig:
    """Settings of the measurement."""

    rules: tuple[str, ...] = ("kernel-*",)
    """Globs that select cases by the name of a rule."""
    quick: bool = False
    """Measure each case for a second, on the given inputs alone."""
    page: Path | None = None
    """Page of the documentation to write the table into; None prints it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    prog = "python -m benchmarks.kernels"
    config = tyro.cli(KernelsConfig, args=arguments, prog=prog, description=__doc__)
    try:
        rows = _rows(config)
    except HloError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if config.page is not None:
        write_parts({"kernels": markdown_table(HEADINGS, rows)}, config.page)
    return 0


def _rows(config: KernelsConfig) -> list[list[str]]:
    from benchmarks.speed_rules.catalogue import CASES, chosen
    from hlograph import rules
    from hlograph.measuring.trial import FINAL, SCREEN

    effort = SCREEN if config.quick else FINAL
    rows = []
    for case in chosen(config.rules):
        if not any(rules[name].kernel for name in case.rules):
            continue
        forms = [
            other
            for other in CASES
            if _computes(other) == _computes(case)
            and not any(rules[name].kernel for name in other.rules)
        ]
        rows.append(_row(case, forms, effort))
        print(" | ".join(rows[-1]), flush=True)
    return rows


def _computes(case: Case) -> tuple[str, str]:
    """Returns what identifies the function and the arguments of a case."""
    return repr(case.function), repr(case.arguments)


def _row(case: Case, forms: Sequence[Case], effort: Effort) -> list[str]:
    from benchmarks.speed_rules.measuring import measured

    outcome = measured(case, effort).outcome
    others = [(form, measured(form, effort).outcome) for form in forms]
    best, rules = max(
        ((other.ratio, " + ".join(form.rules)) for form, other in others if other),
        default=(0.0, ""),
    )
    speed = outcome.measured if outcome else None
    if outcome is None or speed is None:
        return [" + ".join(case.rules), case.shape, case.program, "", "", "", "", "not measured"]
    return [
        " + ".join(f"`{rule}`" for rule in case.rules),
        case.shape,
        case.program,
        number(1e3 * speed.default_seconds),
        f"{speed.ratio:.2f}",
        f"{best:.2f}" if best else "none",
        rules,
        outcome.checks.verdict if outcome.checks else "",
    ]


if __name__ == "__main__":
    sys.exit(main())
