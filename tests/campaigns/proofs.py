"""Proves what the rules of hlograph claim, and writes docs/proofs.md.

    python -m tests.campaigns.proofs --page docs/proofs.md

Each rule has a claim (``tests.proofs.claims``): an equation over the real numbers, which an SMT
solver proves, and a wrong variant of it, of which the solver finds a counterexample. Rules are
proved side by side in processes.
"""

from __future__ import annotations

import fnmatch
import multiprocessing
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import tyro

import hlograph
from hlograph.storage.atomic_write import write_text_atomically
from tests.proofs.claim import Proof, claims, proof_of


@dataclass(frozen=True)
class ProofsConfig:
    """Settings of the proofs.

    Attributes:
        rules: Patterns of names of rules, such as `*-dots`; all if there are none.
        workers: Number of processes.
        page: Page of the documentation to write the table into.
    """

    rules: tuple[str, ...] = ()
    workers: int = 2
    page: Path | None = None


@dataclass(frozen=True)
class ProofRow:
    """What the proofs say about a rule.

    Attributes:
        rule: Name of the rule.
        proved: True if its claim is proved and the wrong variant refuted.
        statements: Number of statements that the claim has.
        seconds: Time of all proofs and refutations.
        open: What could not be shown.
    """

    rule: str
    proved: bool
    statements: int
    seconds: float
    open: str = ""


def prove_rule(rule: str) -> ProofRow:
    """Returns what the proofs say about a rule that has a claim."""
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


def prove_all(rules: Iterable[str], workers: int) -> list[ProofRow]:
    """Returns a row for each rule, in their order, and shows a progress bar."""
    from tqdm import tqdm

    rules = list(rules)
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(prove_rule, rule) for rule in rules]
        bar = tqdm(as_completed(futures), total=len(rules), unit="rule", desc="proofs")
        rows = {row.rule: row for row in (future.result() for future in bar)}
    return [rows[rule] for rule in rules]


def own_rules() -> list[str]:
    """Returns the names of the rules that are not XLA's own code."""
    return [rule.name for rule in hlograph.rules if rule.equation]


def table(rows: Sequence[ProofRow]) -> str:
    """Returns the table of the page: a line for each rule, whether it has a claim or not."""
    equations = {rule.name: rule.equation for rule in hlograph.rules}
    found = {row.rule: row for row in rows}
    lines = [
        "| rule | equation | conditions | over the reals | for | refuted | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rule in own_rules():
        if rule not in found:
            lines.append(f"| `{rule}` | `{equations[rule]}` |  | no claim |  |  |  |")
            continue
        row, claim = found[rule], claims()[rule]
        result = f"SMT, {row.statements} statements" if row.proved else row.open
        lines.append(
            f"| `{rule}` | `{equations[rule]}` | {claim.conditions} | {result} "
            f"| {claim.bounds or 'all sizes'} | {claim.wrong} | {row.seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


def summary(rows: Sequence[ProofRow], seconds: float) -> str:
    """Returns the sentence above the table."""
    proved = sum(row.proved for row in rows)
    every = sum(row.proved and not claims()[row.rule].bounds for row in rows)
    return (
        f"{proved} of {len(own_rules())} rules are proved over the reals, {every} of them for "
        f"all sizes and {proved - every} within the bounds stated, in {seconds:.0f} seconds.\n"
    )


def rewritten(page: str, text: str) -> str:
    """Returns the page with a text between its marks."""
    begin, end = "<!-- begin: proofs -->\n", "<!-- end: proofs -->"
    before, _, rest = page.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise hlograph.HloError(f"expected the marks {begin.strip()} and {end} in the page")
    return f"{before}{begin}\n{text}\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Proves the rules, prints the table, and ends with 1 if a proof fails."""
    config = tyro.cli(ProofsConfig, args=arguments, description=__doc__)
    begun = time.monotonic()
    wanted = [
        rule
        for rule in claims()
        if not config.rules or any(fnmatch.fnmatch(rule, pattern) for pattern in config.rules)
    ]
    rows = prove_all(wanted, config.workers)
    seconds = time.monotonic() - begun
    text = f"{summary(rows, seconds)}\n{table(rows)}"
    if config.page is None:
        print(text)
    else:
        write_text_atomically(config.page, rewritten(config.page.read_text(encoding="utf-8"), text))
    failed = [row for row in rows if not row.proved]
    for row in failed:
        print(f"{row.rule}: {row.open}", file=sys.stderr)
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
