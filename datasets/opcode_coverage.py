"""How often each of XLA's opcodes occurs in the corpus, kept in `opcodes.csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from manifest import ROOT

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
    with path.open(newline="", encoding="utf-8") as file:
        return [
            OpcodeUse(record["opcode"], int(record["modules"]), int(record["instructions"]))
            for record in csv.DictReader(file)
        ]


def write_opcode_uses(uses: Iterable[OpcodeUse], path: Path = OPCODES_FILE) -> None:
    """Writes the counts to a temporary name and renames it."""
    partial = path.with_suffix(".csv.partial")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(OpcodeUse._fields)
        writer.writerows(uses)
    partial.replace(path)
