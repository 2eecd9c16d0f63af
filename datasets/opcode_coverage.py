"""Counts XLA's opcodes in the corpus, for `opcodes.csv`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from manifest import ROOT, read_csv, write_csv

OPCODES_FILE = ROOT / "opcodes.csv"


class OpcodeUse(NamedTuple):
    """One opcode, the modules that have it, and its instructions in all of them."""

    opcode: str
    modules: int
    instructions: int


def count_opcodes() -> list[OpcodeUse]:
    """Returns the use of every opcode, in XLA's order; opens every module."""
    from hlograph import OPCODES, corpus

    counts = np.stack(list(corpus.load().map(lambda benchmark: benchmark.load().op_counts())))
    modules, instructions = (counts > 0).sum(axis=0), counts.sum(axis=0)
    return [
        OpcodeUse(*use)
        for use in zip(OPCODES, modules.tolist(), instructions.tolist(), strict=True)
    ]


def read_opcode_uses(path: Path = OPCODES_FILE) -> list[OpcodeUse]:
    """Returns what was counted at the last build."""
    return [
        OpcodeUse(record["opcode"], int(record["modules"]), int(record["instructions"]))
        for record in read_csv(path)
    ]


def write_opcode_uses(uses: Iterable[OpcodeUse], path: Path = OPCODES_FILE) -> None:
    """Writes the counts."""
    write_csv(OpcodeUse._fields, uses, path)
