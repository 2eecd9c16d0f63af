"""Proves what the rules of hlograph claim, and writes docs/proofs.md.

    python -m tests.campaigns.proofs --page docs/proofs.md

In four parts. `reals` proves the claim of each rule, an equation over the real numbers, by an SMT
solver, and refutes a wrong variant of it (`tests.proofs.claims`). `boundaries` asks the rules on
both sides of the conditions of their claims (`tests.proofs.boundaries`). `programs` applies the
rules to drawn programs, and proves the modules before and after equal by evaluation over finite
fields (`tests.proofs.modular`). `floats` checks what the rules keep of floating-point numbers and
integers (`tests.proofs.floats`). Rules are checked side by side in processes.
"""

from __future__ import annotations

import fnmatch
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

import hlograph
from tests.campaigns.framework.sweep import Page, table
from tests.campaigns.framework.tasks import progress
from tests.proofs.boundaries import BOUNDARIES
from tests.proofs.boundaries.boundary import BoundaryRow, boundary_row
from tests.proofs.claim import Proof, claims, proof_of
from tests.proofs.floats.rows import QUICK, FloatRow, float_row
from tests.proofs.modular.rules import Evidence, evidence_of
from tests.proofs.modular.rules import table as programs_table

PartName = Literal["reals", "boundaries", "programs", "floats"]


@dataclass(frozen=True)
class ProofsConfig:
    """Settings of the proofs."""

    rules: tuple[str, ...] = ("*",)
    """Globs that select rules by their names."""
    parts: tuple[PartName, ...] = ("reals", "boundaries", "programs", "floats")
    """Settings of a run: what to prove or check."""
    workers: int = 2
    """Number of processes."""
    seed: int = 0
    """Seed of the programs that are drawn, and of the points of finite fields."""
    page: Path | None = None
    """Page of the documentation to write the tables into; None prints them."""


@dataclass(frozen=True)
class ProofRow:
    """Holds what the prover says about a rule over the real numbers.

    Attributes:
        rule: Name of the rule.
        proved: True if its claim is proved and the wrong variant refuted.
        statements: Number of statements that the claim has.
        seconds: Time of all proofs and refutations.
        open: What could not be shown.
    """

    rule: str
    proved: bool = False
    statements: int = 0
    seconds: float = 0.0
    open: str = "no claim"


@dataclass(frozen=True)
class Part:
    """One part of the page.

    Attributes:
        check: Function of a rule's name and the seed that returns a row.
        table: Function that makes a table of the rows.
        summary: Function that makes the sentence above it.
        fails: Function that returns what is wrong with a row; empty if nothing is.
    """

    check: Callable[[str, int], Any]
    table: Callable[[Sequence[Any]], str]
    summary: Callable[[Sequence[Any]], str]
    fails: Callable[[Any], str]


def own_rules() -> list[str]:
    """Returns the names of the rules that are not XLA's own code."""
    return [rule.name for rule in hlograph.rules if rule.equation and not rule.kernel]


def prove_rule(rule: str, seed: int = 0) -> ProofRow:
    """Returns what the prover says about a rule; proofs draw nothing."""
    if rule not in claims():
        return ProofRow(rule)
    proof = proof_of(claims()[rule])
    return ProofRow(
        rule, proof.is_proved, len(proof.verdicts), round(proof.seconds, 2), _open(proof)
    )


def _open(proof: Proof) -> str:
    wrong = next((v.detail for v in proof.checks if v.kind == "refuted"), "")
    if wrong:
        return f"wrong for {wrong}"
    missing = next((v.detail for v in proof.verdicts if v.kind != "proved"), "")
    if missing:
        return f"not shown: {missing}"
    return "" if proof.is_wrong_variant_refuted else "the wrong variant is not refuted"


def _reals_table(rows: Sequence[ProofRow]) -> str:
    equations = {rule.name: rule.equation for rule in hlograph.rules}
    lines = []
    for row in rows:
        claim = claims().get(row.rule)
        cells = [f"`{row.rule}`", f"`{equations[row.rule]}`"]
        if claim is None:
            lines.append([*cells, "", row.open, "", "", ""])
            continue
        result = f"SMT, {row.statements} statements" if row.proved else row.open
        sizes, seconds = claim.bounds or "all sizes", f"{row.seconds:.1f}"
        lines.append([*cells, claim.conditions, result, sizes, claim.wrong, seconds])
    header = ["rule", "equation", "conditions", "over the reals", "for", "refuted", "seconds"]
    return table(header, lines)


def _reals_summary(rows: Sequence[ProofRow]) -> str:
    proved = [row for row in rows if row.proved]
    every = sum(not claims()[row.rule].bounds for row in proved)
    return (
        f"{len(proved)} of {len(rows)} rules are proved over the reals: {every} for all sizes, "
        f"{len(proved) - every} within the bounds stated."
    )


def _programs_summary(rows: Sequence[Evidence]) -> str:
    places = sum(row.places for row in rows)
    equal = sum(row.verdicts["equal"] for row in rows)
    different = sum(row.verdicts["different"] for row in rows)
    refuted, judged = sum(r.mutants["refuted"] for r in rows), sum(r.judged for r in rows)
    return (
        f"{places} results of rules: {equal} equal, {different} different, the rest undecided. "
        f"Of {judged} wrong variants of results that XLA tells from the original, "
        f"{refuted} are refuted."
    )


def _floats_table(rows: Sequence[FloatRow]) -> str:
    header = ["rule", "claim", "how it was checked", "types", "of the bound", "tolerance"]
    return table(
        [*header, "result", "seconds"],
        [
            [
                f"`{row.rule}`",
                row.claim,
                row.method,
                " ".join(row.types),
                f"{row.share:.2g}" if row.bound else "",
                f"{row.tolerance:.2g}" if row.bound else "",
                "; ".join((row.result, *row.remarks)),
                f"{row.seconds:.1f}",
            ]
            for row in rows
        ],
    )


def _floats_summary(rows: Sequence[FloatRow]) -> str:
    return f"The claims of {sum(not row.problems for row in rows)} of {len(rows)} rules hold."


def _boundaries_table(rows: Sequence[BoundaryRow]) -> str:
    header = ["rule", "clauses", "asked about", "programs", "beyond the claim", "narrower"]
    return table(
        header,
        [
            [
                f"`{row.rule}`",
                str(row.clauses),
                "; ".join(row.asked),
                str(row.programs),
                "; ".join(row.unsafe),
                "; ".join(row.narrower),
            ]
            for row in rows
            if row.clauses
        ],
    )


def _boundaries_summary(rows: Sequence[BoundaryRow]) -> str:
    asked, clauses = sum(len(row.asked) for row in rows), sum(row.clauses for row in rows)
    return (
        f"{asked} of {clauses} clauses, {sum(row.programs for row in rows)} programs. Rules are "
        f"offered beyond their claims for {sum(len(row.unsafe) for row in rows)} of them, and "
        f"narrower than these for {sum(len(row.narrower) for row in rows)}."
    )


def _check_boundaries(rule: str, seed: int) -> BoundaryRow:
    del seed  # the programs are those of the conditions
    return boundary_row(rule, BOUNDARIES)


def _check_programs(rule: str, seed: int) -> Evidence:
    return evidence_of(rule, programs=6, mutants=5, seed=seed)


def _check_floats(rule: str, seed: int) -> FloatRow:
    del seed  # the classes of values have their own
    return float_row(hlograph.rules[rule], QUICK)  # floats.rows tries more


PARTS: Mapping[PartName, Part] = {
    "reals": Part(prove_rule, _reals_table, _reals_summary, lambda row: row.open),
    "boundaries": Part(
        _check_boundaries,
        _boundaries_table,
        _boundaries_summary,
        lambda row: "; ".join(f"offered beyond {clause}" for clause in row.unsafe),
    ),
    "programs": Part(
        _check_programs,
        programs_table,
        _programs_summary,
        lambda row: "a result is different" if row.verdicts["different"] else "",
    ),
    "floats": Part(
        _check_floats, _floats_table, _floats_summary, lambda row: "; ".join(row.problems)
    ),
}


def checked(name: PartName, rules: Sequence[str], workers: int, seed: int) -> list[Any]:
    """Returns the row of each rule, in their order, and shows a progress bar."""
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(PARTS[name].check, rule, seed) for rule in rules]
        rows = {}
        with progress(len(rules), "rule") as bar:
            bar.set_description(name)
            for future in as_completed(futures):
                row = future.result()
                rows[row.rule] = row
                bar.update()
    return [rows[rule] for rule in rules]


def main(arguments: Sequence[str] | None = None) -> None:
    """Proves the rules, writes or prints the tables, and ends with 1 if a claim is wrong."""
    config = tyro.cli(ProofsConfig, args=arguments, description=__doc__)
    rules = [
        rule
        for rule in own_rules()
        if any(fnmatch.fnmatchcase(rule, pattern) for pattern in config.rules)
    ]
    for name in config.parts if config.page else ():
        Page(config.page, name)  # which ends the program if it has no marks
    failed = False
    for name in config.parts:
        begun, part = time.monotonic(), PARTS[name]
        rows = checked(name, rules, config.workers, config.seed)
        seconds = time.monotonic() - begun
        text = f"{part.summary(rows)} It took {seconds:.0f} seconds.\n\n{part.table(rows)}"
        if config.page is None:
            print(text)
        else:
            Page(config.page, name).write(text)
        for row in rows:
            if problem := part.fails(row):
                print(f"{name}: {row.rule}: {problem}", file=sys.stderr)
                failed |= problem != "no claim"
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
