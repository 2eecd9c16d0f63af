"""Compares each rewriting rule with the XLA pass that it is a part of.

    python -m tests.campaigns.rule_fixed_points --max-ops 400 --out runs/rule-fixed-points

Applies the rewrites of one rule until none is left, runs the pass until it changes nothing, and
compares the op counts: for every rule that has a pass, on modules of the corpus, smallest first, in
worker processes that may be lost. Results are appended to `results.jsonl` in the folder, one line
for each module, and the same command continues after Ctrl-C. A table by rule is written to
`report.md` and, with --page, into a page of the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import tyro

from tests.campaigns.framework.sweep import Line, Sweep
from tests.campaigns.rules.comparison import FixedPointsConfig, make_worker
from tests.campaigns.rules.report import write_report

_PROGRAM = "rule_fixed_points"


def run(config: FixedPointsConfig) -> int:
    """Compares rules and passes, and writes the results and the report.

    Returns:
        Exit status: 0, or 130 after Ctrl-C.

    Raises:
        UnknownNameError: There is no rule or pass of a name in the settings.
        ValueError: A rule has no pass.
    """
    rules, benchmarks = config.names(), config.modules()

    def report(lines: Sequence[Line]) -> str:
        return write_report(lines, rules, benchmarks, config)

    sweep = Sweep(_PROGRAM, config, rules, partial(make_worker, config))
    return sweep.run(report, benchmarks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    config = tyro.cli(FixedPointsConfig, args=arguments, prog=prog, description=__doc__)
    return run(config)


if __name__ == "__main__":
    sys.exit(main())
