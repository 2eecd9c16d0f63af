"""The report of rules held against their passes, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import hlograph
from experiments.outcomes.provenance import flags_of
from hlograph import corpus
from tests.campaigns.rules.module import pass_of

if TYPE_CHECKING:
    from tests.campaigns.rule_fixed_points import FixedPointsConfig

Line = dict[str, Any]

TEXT = """# Rules and their passes

What the rewrites of one rule come to, applied until none is left, beside its pass run to its
fixed point: the same op count, and the same program, but for what is told here.

    python -m tests.campaigns.rule_fixed_points{arguments}

{modules} modules of {families} families, {smallest} to {largest} instructions{prepared}.
Both begin with the same module, after what the pass requires. Rewrites are applied in the order in
which they are listed, as far as they still apply, and then those of the next listing; a pass runs
until the module's state stays. XLA's verifier accepts every result.

- modules: where the rule or the pass does anything
- rewrites: applied to them all together
- equal: the same op count
- after `dce`: the same op count once `dce` has run on both; before, one of them had left behind
  what nobody uses
- same program: of all these, by fingerprint, after `dce`
- fewer, more: instructions after the rewrites than after the pass, after `dce`; on how many
  modules, and the most on one

{table}

{nowhere}

{unfinished}

## What `dce` makes equal

Who leaves more behind before it runs, and on how many modules:

{left_behind}

## Differences

{differences}

{verdicts}

{why}"""

WHY = """## Why

Rewrites leave less behind than passes: a computation goes with its last caller, and of what a pass
made for one place only what is used is taken over. Passes that expand (gathers, scatters,
comparisons, random bits) leave the expanded instruction to `dce`.

`inline` leaves more: `call-inliner` runs `dce` on the whole module behind itself, one call does
not. So do `simplify-while-loops` and `while-loop-invariant-code-motion`; the latter also runs
`tuple-simplifier`, which finds more than `dce` does.

`algebraic` makes a computation for each sum that it reduces by; the simplifier makes one in a run,
for all of them. These are 3 instructions for each dot after the first one that becomes a sum of
products, and `merge` does not remove them, for it merges instructions. Where anything else differs,
it is by which of two places comes first: `(a*b)*c` becomes `a*(b*c)` or `(a*c)*b`.

`constant_folding` moves constants into what a call calls, where that is all that calls it. The
pass does so where several callers agree, too, which no one call shows, and folds on there. After
`call-inliner` both end in the same program.

`reshape-mover` does not end where it moves transposes: it puts the inverse before the operation,
for `algsimp` to remove, and takes that for the next to move.

`sharding-remover` ends in the same op count; the pass also takes the sharding off what the call is
applied to, which is not at the place.

Two differences are not in the corpus, but in the modules of `tests/hlograph/rare_modules.py`:
`conditional-canonicalizer` copies a branch that two conditionals share, and
`zero_sized_hlo_elimination` leaves parameters alone.
"""

# Settings that say where a comparison runs, not what it finds.
_PLACES = frozenset({"out", "page", "workers", "max_seconds"})
_SHOWN = 30


def write_report(
    lines: Sequence[Line],
    rules: Sequence[str],
    benchmarks: Sequence[corpus.Benchmark],
    settings: FixedPointsConfig,
) -> str:
    """Returns the report.

    Args:
        lines: Results, an object for each module that a rule or its pass changes.
        rules: Names of the rules.
        benchmarks: The modules.
        settings: Settings of the comparison.
    """
    sizes = [benchmark.op_count for benchmark in benchmarks] or [0]
    found = [line for line in lines if line.get("ended")]
    changed = {line["rule"] for line in found}
    return TEXT.format(
        arguments="".join(f" {flag}" for flag in flags_of(settings, without=_PLACES)),
        modules=len(benchmarks),
        families=len({benchmark.family for benchmark in benchmarks}),
        smallest=min(sizes),
        largest=max(sizes),
        prepared=f", after {', '.join(settings.prepare)}" if settings.prepare else "",
        table=_table([rule for rule in rules if rule in changed], found),
        nowhere=_nowhere([rule for rule in rules if rule not in changed]),
        unfinished=_unfinished(lines),
        left_behind=_left_behind(found),
        differences=_differences(found),
        verdicts=_verdicts(found),
        why=WHY,
    )


def _excess(line: Line) -> int:
    """Instructions that the rewrites leave and the pass does not, after `dce` on both."""
    return line["cleared_by_rule"] - line["cleared_by_pass"]


def _table(rules: Iterable[str], lines: Sequence[Line]) -> str:
    rows = [
        "| rule | pass | modules | rewrites | equal | after `dce` | same program | fewer | more |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for rule in rules:
        of_rule = [line for line in lines if line["rule"] == rule]
        entry = pass_of(hlograph.rules[rule])
        assert entry is not None
        equal = [line for line in of_rule if line["by_rule"] == line["by_pass"]]
        cells = (
            f"`{rule}`",
            f"`{entry.name}`",
            len(of_rule),
            sum(line["rewrites"] for line in of_rule),
            len(equal),
            sum(_excess(line) == 0 for line in of_rule if line not in equal),
            sum(line["same"] for line in of_rule),
            _extent([-_excess(line) for line in of_rule]),
            _extent([_excess(line) for line in of_rule]),
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _extent(differences: Iterable[int]) -> str:
    """How many are positive, and the largest."""
    positive = [difference for difference in differences if difference > 0]
    return f"{len(positive)} (by {max(positive)})" if positive else ""


def _nowhere(rules: Sequence[str]) -> str:
    if not rules:
        return "Each of the rules does something somewhere."
    names = ", ".join(f"`{rule}`" for rule in rules)
    return f"Neither rule nor pass does anything in these modules: {names}."


def _unfinished(lines: Sequence[Line]) -> str:
    endless = Counter(line["rule"] for line in lines if not line.get("ended", True))
    texts = [
        f"`{rule}` or its pass did not come to an end, and is not counted above: {count} modules."
        for rule, count in endless.items()
    ]
    texts += [
        f"`{line['rule']}` on `{line['benchmark']}`: {line['error']}"
        for line in lines
        if "error" in line
    ]
    return "\n\n".join(texts) or "All came to an end, and no pass failed."


def _left_behind(lines: Sequence[Line]) -> str:
    counts = Counter(
        (line["rule"], "the pass" if line["by_rule"] < line["by_pass"] else "the rewrites")
        for line in lines
        if line["by_rule"] != line["by_pass"] and _excess(line) == 0
    )
    texts = [f"- {who} of `{rule}`: {count}" for (rule, who), count in sorted(counts.items())]
    return "\n".join(texts) or "- none"


def _differences(lines: Sequence[Line]) -> str:
    different = [line for line in lines if not line["same"]]
    if not different:
        return "None: rules and passes end in the same programs."
    different.sort(key=lambda line: (line["rule"], -abs(_excess(line)), line["benchmark"]))
    rows = [
        "| rule | module | before | after the rewrites | after the pass | |",
        "|---|---|---|---|---|---|",
    ]
    shown: Counter[str] = Counter()
    for line in different:
        shown[line["rule"]] += 1
        if shown[line["rule"]] > _SHOWN:
            continue
        cells = (
            f"`{line['rule']}`", f"`{line['benchmark']}`", line["start"],
            line["cleared_by_rule"], line["cleared_by_pass"], f"{_excess(line):+d}",
        )  # fmt: skip
        rows.append(f"| {' | '.join(map(str, cells))} |")
    left_out = sum(max(0, count - _SHOWN) for count in shown.values())
    if left_out:
        rows.append(f"\n{left_out} more are in results.jsonl.")
    return "\n".join(rows)


def _verdicts(lines: Sequence[Line]) -> str:
    counts = Counter(line["verdict"] for line in lines if not line["same"])
    if not counts:
        return ""
    parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return f"Run by XLA's evaluator, beside the module as it was: {parts}."
