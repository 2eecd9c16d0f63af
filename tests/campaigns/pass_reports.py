"""Tries the passes that reports upstream call wrong, each on small modules.

    python -m tests.campaigns.pass_reports --page docs/pass-claims.md

The passes run in worker processes, since some end theirs. The exit status is 1 if an outcome is not
the one that is recorded with its report.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

import hlograph
from tests.campaigns.framework.sweep import Page, code_list, table
from tests.campaigns.passes.reported import OWN, REPORTS
from tests.campaigns.passes.reports import WORDS, Outcome, Report, outcomes

_PROGRAM = "pass_reports"
_YES = ("different", "invalid", "ends the process")


@dataclass(frozen=True)
class PassReportsConfig:
    """Settings."""

    workers: int = 1
    """Processes at a time."""
    page: Path | None = None
    """Markdown page that gets the tables."""


_TEXT = """    python -m tests.campaigns.{program}

{reports} reports concern {passes} passes of XLA. {here} of them are about passes of the registry:
{yes} are reproduced, {rounding} differ by rounding only, {guarded} are refused by the pass now, and
{no} are not reproduced. The others are about passes that the registry lacks.

{table}

In the same form, what is wrong and was seen here:

{own}
"""


def report_text(reports: Sequence[Outcome], own: Sequence[Outcome]) -> str:
    """Returns the tables in Markdown.

    Args:
        reports: Outcomes of `REPORTS`.
        own: Outcomes of `OWN`.
    """
    counts = Counter(reports)
    return _TEXT.format(
        program=_PROGRAM,
        reports=len(REPORTS),
        passes=len({report.upstream for report in REPORTS}),
        here=len(REPORTS) - counts["no such pass"],
        yes=sum(counts[outcome] for outcome in _YES),
        rounding=counts["rounding"],
        guarded=counts["refused"],
        no=counts["unchanged"] + counts["equal"],
        table=_table(REPORTS, reports),
        own=_table(OWN, own),
    )


def _table(reports: Sequence[Report], results: Sequence[Outcome]) -> str:
    headings = ("report", "pass", "says", "class here", "reproduced", "remark")
    rows = [
        (
            f"[{report.number}]({report.url})" if report.number else "",
            f"`{report.upstream}`",
            report.claim,
            _class(report),
            WORDS[outcome],
            report.note,
        )
        for report, outcome in zip(reports, results, strict=True)
    ]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    if not any(report.number for report in reports):
        headings, cells = headings[1:], [row[1:] for row in cells]
    return table(headings, cells)


def _class(report: Report) -> str:
    """Returns the classes of the passes of a report."""
    classes = {hlograph.passes[name].numerics for name in report.passes}
    return ", ".join(sorted(classes))


def main(config: PassReportsConfig) -> int:
    """Tries all reports; returns the exit status."""
    pages = [Page(path, _PROGRAM) for path in (config.page,) if path is not None]
    every = (*REPORTS, *OWN)
    results = outcomes(every, config.workers)
    text = report_text(results[: len(REPORTS)], results[len(REPORTS) :])
    print(text)
    for page in pages:
        page.write(text)
    wrong = [
        report.number or report.claim
        for report, outcome in zip(every, results, strict=True)
        if report.outcome != outcome
    ]
    if wrong:
        print(f"expected other outcomes of {code_list(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    sys.exit(main(tyro.cli(PassReportsConfig, prog=prog, description=__doc__)))
