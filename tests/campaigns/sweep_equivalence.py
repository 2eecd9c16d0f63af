"""Runs every pass on every module and compares the result with the original.

    python -m tests.campaigns.sweep_equivalence --max-ops 300 --out runs/equivalence
    python -m tests.campaigns.sweep_equivalence --benchmarks 'loss/*' --passes algsimp cse

Modules are taken smallest first, in worker processes that may be lost. Results are appended to
`results.jsonl` in the folder, one line for each module. Modules that have a line are not run again,
so the same command continues after Ctrl-C. Tables by pass are written to `report.md` and, with
--page, into a page of the documentation.
"""

from __future__ import annotations

import sys
from functools import partial

import tyro

from tests.campaigns.equivalence.comparison import EquivalenceConfig, make_worker
from tests.campaigns.equivalence.report import write_report
from tests.campaigns.framework.sweep import Sweep

_PROGRAM = "sweep_equivalence"


def make_sweep(config: EquivalenceConfig) -> Sweep:
    """Returns the sweep.

    Raises:
        UnknownNameError: There is no pass or pipeline of a name in the settings.
    """
    return Sweep(_PROGRAM, config, config.names(), partial(make_worker, config))


def main() -> int:
    """Runs the program; returns its exit status."""
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    config = tyro.cli(EquivalenceConfig, prog=prog, description=__doc__)
    return make_sweep(config).run(lambda lines: write_report(lines, config))


if __name__ == "__main__":
    sys.exit(main())
