"""Proves the results of rules on drawn programs by evaluation over finite fields.

python -m tests.proofs.modular                        # all rules
python -m tests.proofs.modular --rules '*dot*' --programs 20 --mutants 40 --seed 1
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import tyro


@dataclass(frozen=True)
class ModularConfig:
    """Settings of the proofs."""

    rules: tuple[str, ...] = ("*",)
    """Globs that select rules by their names."""
    programs: int = 8
    """Number of programs that are drawn for each rule."""
    mutants: int = 20
    """Number of wrong variants for each rule."""
    seed: int = 0
    """Seed of the programs and of the points."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table; returns the exit status, which is 1 if a result is different."""
    config = tyro.cli(
        ModularConfig, args=arguments, prog="python -m tests.proofs.modular", description=__doc__
    )
    from tests.proofs.modular.rules import PROGRAMS, evidence_of_all, table

    chosen = [rule for rule in PROGRAMS if any(fnmatchcase(rule, glob) for glob in config.rules)]
    evidence = []
    for each in evidence_of_all(
        chosen, programs=config.programs, mutants=config.mutants, seed=config.seed
    ):
        evidence.append(each)
        missed = f", missed: {'; '.join(each.missed)}" if each.missed else ""
        print(f"{each.rule}: {dict(each.verdicts)}, {dict(each.mutants)}{missed}", flush=True)
    print(table(evidence), end="")
    return 1 if any(each.verdicts["different"] for each in evidence) else 0


if __name__ == "__main__":
    sys.exit(main())
