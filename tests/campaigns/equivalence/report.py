"""The report of the sweep, as Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import hlograph
from experiments.outcomes.provenance import flags_of
from hlograph.execution.equivalence import Verdict

if TYPE_CHECKING:
    from tests.campaigns.sweep_equivalence import SweepConfig

Line = dict[str, Any]

_VERDICTS: tuple[Verdict, ...] = ("equal", "close", "different", "not comparable")

# Reasons by what they begin with or hold, in the words of the table.
_REASONS = (
    ("needs other devices", "collectives, for several devices"),
    ("has side effects", "custom calls with side effects (callbacks into Python)"),
    ("flops to run", "too much work for the reference evaluator"),
    ("unhandled primitive type", "an operation on tuples that the evaluator does not have"),
    ("longer than it may", "too much work for the reference evaluator"),
    ("instructions to run", "too much work for the reference evaluator"),
    ("chaotic", "chaotic: an epsilon at the inputs moves outputs by more than 1 %"),
    ("change in the original itself", "integers or NaNs hang on the last bit of the inputs"),
    ("NaN or infinite", "outputs are NaN or infinite in the original"),
    ("arrays take", "too much memory"),
)

TEXT = """# Numerics of the passes

What each pass of the registry does to the bits of what a module computes
(`hlograph.Pass.numerics`):

| class | meaning |
|---|---|
| exact | the same operations on the same numbers: moved, merged, copied, removed |
| reassociating | the same expression over the reals, sums in another order on some modules |
| approximate | another function, algorithm or precision: `x^2` as `x*x`, bfloat16 in float32 |

`hlograph.passes.exact` has the names of the first class, for
`PassOrderingEnv(actions=hlograph.passes.exact)`. The class is what XLA's code means to do, and
no better than what was seen here.

## How it was found out

    python -m tests.campaigns.sweep_equivalence {arguments}

ran every pass alone and both reference pipelines on {modules} modules of the corpus, of
{smallest} to {largest} instructions, smallest first{prepared}. {changed} times a module changed,
to {distinct} distinct modules. Each was run beside the original on {samples} random input{plural}
that fit{s} what its parameters are used for (`hlograph.execution.equivalence.inputs`), by XLA's
reference evaluator, which runs the instructions as they are: what differs is the pass's doing,
not that of a compiler that fuses otherwise or undoes it. Modules of at most {compile_ops}
instructions were compiled, too, after the pipelines and where the evaluator does not
have an operation.

- equal: every bit of every output
- close: within the rounding errors that the module commits and magnifies
  (`hlograph.execution.equivalence.judgement`)
- different: farther apart than that
- not comparable: not to be run here, or too sensitive for a verdict; counted below

Errors are in units of the epsilon of the output's type, relative to the larger of the element
and the output's root mean square.

## By pass

{by_pass}

{unseen}

{contradictions}

## Different

{different}

## Not comparable

{not_comparable}

## Compiled by XLA:CPU

{compiled}

{findings}"""

FINDINGS = """## Findings

- The linked XLA's own reference evaluator gathers the wrong elements where a gather has batching
  dimensions (`operand_batching_dims`): seen as a difference after
  `batched_gather_scatter_normalizer` on `distributional-dqn/quantile-mlp/grad` and others, settled
  by computing such a gather in numpy. `hlograph` normalizes such gathers before it evaluates, so
  that pass itself is judged by `tests/hlograph/equivalence` and, with gathers of its own, by
  compiled runs only.
- The evaluator refuses valid modules whose layouts differ between a computation and its caller
  after a transpose ("Shape mismatch at parameter"); every array is made row-major first.
- XLA:CPU runs its own passes on both sides of a comparison, so compiled runs hide what a pass does
  wrong where the compiler does the same: the wrong gathers above were bitwise equal. The other
  way round, XLA:CPU sums in another order after passes that change no operation: `cse` on
  `gnn/jraph-gat-r3-edges/train-adam` is bitwise equal by the evaluator, and compiled its output 28
  differs by 0.2 ulp. The classes are therefore the evaluator's.
- Custom calls (LAPACK) have no code in the linked XLA. The evaluator takes them as arbitrary smooth
  functions of their operands, the same on both sides: no pass may know better.
- `constant_folding` is not exact: on `optimal-transport/sinkhorn/plain` a sum of constants comes
  out 0.5 ulp otherwise than when the program sums (XLA folds sums in float64).
- The evaluator aborts the process where an error arises inside a reduction's computation, so its
  time limit is looked at between instructions only.

## What this does not show

Random inputs do not take every branch, and an error below the rounding of a module is within its
tolerance: a wrong rewrite in a branch of `select` that is never chosen, or in an epsilon added to a
variance, passes as equal or close. Programs for several devices are not run.
"""


@dataclass
class _Row:
    changed: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    worst: tuple[float, float, str] = (0.0, 0.0, "")


# Settings that say where and when a sweep runs, not what it finds.
_PLACES = frozenset({"out", "page", "workers", "time_limit", "max_memory"})


def write_report(lines: Sequence[Line], settings: SweepConfig) -> str:
    """Returns the report.

    Args:
        lines: Results, one object for each module.
        settings: Settings of the sweep.
    """
    results = [(line["benchmark"], r) for line in lines for r in line["results"]]
    rows = _rows(results)
    sizes = [line["op_count"] for line in lines] or [0]
    changed = [(name, r) for name, r in results if r["changed"]]
    return TEXT.format(
        arguments=" ".join(flags_of(settings, without=_PLACES)),
        modules=len(lines),
        smallest=min(sizes),
        largest=max(sizes),
        prepared=f", after {', '.join(settings.prepare)}" if settings.prepare else "",
        changed=len(changed),
        distinct=len({(name, r.get("fingerprint")) for name, r in changed}),
        samples=settings.samples,
        plural="s" if settings.samples > 1 else "",
        s="" if settings.samples > 1 else "s",
        compile_ops=settings.compile_ops,
        by_pass=_table_by_pass(rows),
        unseen=_unseen(rows),
        contradictions=_contradictions(rows),
        different=_differences(results),
        not_comparable=_not_comparable(lines),
        compiled=_compiled(results),
        findings=FINDINGS,
    )


def _rows(results: Iterable[tuple[str, Line]]) -> dict[str, _Row]:
    rows: dict[str, _Row] = defaultdict(_Row)
    for name, result in results:
        row = rows[result["pass"]]
        if not result["changed"] and result["verdict"] == "equal":
            continue
        row.changed += 1
        row.verdicts[result["verdict"]] += 1
        if result["verdict"] == "close":
            row.worst = max(row.worst, (result["ulp"], result["relative"], name))
    return rows


def _numerics(name: str) -> str:
    return hlograph.passes[name].numerics if name in hlograph.passes else ""


def _table_by_pass(rows: dict[str, _Row]) -> str:
    lines = [
        "| pass | class | changed | equal | close | different | not comparable | no result "
        "| largest close error | on |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        if not row.changed:
            continue
        counts = [row.verdicts[verdict] for verdict in _VERDICTS]
        ulp, _, module = row.worst
        worst = (f"{ulp:.3g}", f"`{module}`") if module else ("", "")
        cells = (f"`{name}`", _numerics(name), row.changed, *counts, row.changed - sum(counts))
        lines.append(f"| {' | '.join(map(str, (*cells, *worst)))} |")
    return "\n".join(lines)


def _unseen(rows: dict[str, _Row]) -> str:
    never = [name for name, row in rows.items() if not row.changed]
    uncompared = [
        name
        for name, row in rows.items()
        if row.changed and not sum(row.verdicts[v] for v in _VERDICTS[:3])
    ]
    parts = []
    if never:
        parts.append(
            "Changed no module, so that their class rests on XLA's code alone: "
            + _names(never)
            + "."
        )
    if uncompared:
        parts.append(
            "Changed modules, none of which could be compared: " + _names(uncompared) + "."
        )
    return "\n\n".join(parts)


def _contradictions(rows: dict[str, _Row]) -> str:
    wrong = [
        name
        for name, row in rows.items()
        if _numerics(name) == "exact" and row.verdicts["close"] + row.verdicts["different"]
    ]
    if not wrong:
        return "No pass of class exact changed a bit."
    return f"Of class exact in the registry, but not seen to be: {_names(wrong)}."


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _differences(results: Iterable[tuple[str, Line]]) -> str:
    lines = [
        f"| `{r['pass']}` | `{name}` | {r['reason']} |"
        for name, r in results
        if r["verdict"] == "different"
    ]
    if not lines:
        return "None: no pass changed a result beyond tolerance."
    return "\n".join(["| pass | module | |", "|---|---|---|", *lines])


def _not_comparable(lines: Iterable[Line]) -> str:
    modules: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for line in lines:
        for result in line["results"]:
            if result["verdict"] in ("equal", "close", "different"):
                continue
            reason = _reason(result)
            counts[reason] += 1
            modules[reason].add(line["benchmark"])
    rows = [
        f"| {reason} | {len(modules[reason])} | {count} | `{min(modules[reason])}` |"
        for reason, count in counts.most_common()
    ]
    return "\n".join(["| why | modules | results | such as |", "|---|---|---|---|", *rows])


def _reason(result: Line) -> str:
    if result["verdict"] != "not comparable":  # the pass failed, or ended its worker
        return f"`{result['pass'] or 'loading'}` {result['verdict']}: {result['reason'][:80]}"
    for part, words in _REASONS:
        if part in result["reason"]:
            return words
    return result["reason"].replace("\n", " ").replace("|", "/")[:120]


def _compiled(results: Iterable[tuple[str, Line]]) -> str:
    rows: dict[str, _Row] = defaultdict(_Row)
    for name, result in results:
        found = result.get("compiled") or (result if result.get("engine") == "compiled" else None)
        if found is None:
            continue
        row = rows[result["pass"]]
        row.verdicts[found["verdict"]] += 1
        if found["verdict"] == "close":
            row.worst = max(row.worst, (found["ulp"], found["relative"], name))
    lines = [
        "| pass | equal | close | different | not comparable | largest close error | on |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        if set(row.verdicts) == {"not comparable"}:
            continue
        counts = [str(row.verdicts[verdict]) for verdict in _VERDICTS]
        ulp, _, module = row.worst
        worst = (f"{ulp:.3g}", f"`{module}`") if module else ("", "")
        lines.append(f"| {' | '.join((f'`{name}`', *counts, *worst))} |")
    return "\n".join(lines)
