"""Report of the equivalence sweep in Markdown: the generated part of `docs/numerics.md`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import hlograph
from hlograph.execution.equivalence import Verdict
from hlograph.storage.provenance import flags_of
from tests.campaigns.equivalence.comparison import EquivalenceConfig
from tests.campaigns.framework.pages import code_list, table
from tests.campaigns.framework.sweep import PLACES, Line, Result

_VERDICTS: tuple[Verdict, ...] = ("equal", "close", "different", "not comparable")

# Parts of the reasons that the library gives, and the words of the table.
_REASONS = (
    ("needs other devices", "collectives, for several devices"),
    ("has side effects", "custom calls with side effects (callbacks into Python)"),
    ("flops to run", "too much work for the reference evaluator"),
    ("unhandled primitive type", "an operation on tuples that the evaluator does not have"),
    ("longer than it may", "too much work for the reference evaluator"),
    ("instructions to run", "too much work for the reference evaluator"),
    ("chaotic", "chaotic: an epsilon at the inputs moves outputs by more than 1 %"),
    ("change in the original itself", "integers or NaNs depend on the last bit of the inputs"),
    ("NaN or infinite", "outputs are NaN or infinite in the original"),
    ("arrays take", "too much memory"),
)

TEXT = """    python -m tests.campaigns.sweep_equivalence {arguments}

{modules} modules of {smallest} to {largest} instructions{prepared}; number of random inputs for
each: {samples}. Passes changed a module {changed} times, into {distinct} distinct modules. Modules
of at most {compile_ops} instructions were also compiled.

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
"""


@dataclass
class _Row:
    """Verdicts of one pass, and its largest close error: (ulp, relative, module)."""

    verdicts: Counter[str] = field(default_factory=Counter)
    worst: tuple[float, float, str] = (0.0, 0.0, "")

    def add(self, benchmark: str, found: Result) -> None:
        self.verdicts[found["verdict"]] += 1
        if found["verdict"] == "close":
            self.worst = max(self.worst, (found["ulp"], found["relative"], benchmark))

    def counts(self) -> list[int]:
        return [self.verdicts[verdict] for verdict in _VERDICTS]

    def worst_cells(self) -> tuple[str, str]:
        ulp, _, benchmark = self.worst
        return (f"{ulp:.3g}", f"`{benchmark}`") if benchmark else ("", "")


def write_report(lines: Sequence[Line], config: EquivalenceConfig) -> str:
    """Returns the report.

    Args:
        lines: Results of the sweep.
        config: Settings of the sweep.
    """
    results = [(line["benchmark"], result) for line in lines for result in line["results"]]
    changed = [(name, r) for name, r in results if r.get("changed")]
    rows: dict[str, _Row] = defaultdict(_Row)
    compiled: dict[str, _Row] = defaultdict(_Row)
    for name, result in results:
        row = rows[result["name"]]
        if result.get("changed") or result["verdict"] != "equal":
            row.add(name, result)
        found = result.get("compiled") or (result if result.get("engine") == "compiled" else None)
        if found is not None:
            compiled[result["name"]].add(name, found)
    sizes = [line["op_count"] for line in lines] or [0]
    return TEXT.format(
        arguments=" ".join(flags_of(config, without=PLACES)),
        modules=len(lines),
        smallest=min(sizes),
        largest=max(sizes),
        prepared=f", after {', '.join(config.prepare)}" if config.prepare else "",
        changed=len(changed),
        distinct=len({(name, r["fingerprint"]) for name, r in changed}),
        samples=config.samples,
        compile_ops=config.compile_ops,
        by_pass=_by_pass(rows),
        unseen=_unseen(rows),
        contradictions=_contradictions(rows),
        different=_differences(results),
        not_comparable=_not_comparable(results),
        compiled=_compiled(compiled),
    )


def _numerics(name: str) -> str:
    return hlograph.passes[name].numerics if name in hlograph.passes else ""


def _by_pass(rows: dict[str, _Row]) -> str:
    headings = ("pass", "class", "changed", *_VERDICTS, "no result", "largest close error", "on")
    cells = []
    for name, row in rows.items():
        total, counts = row.verdicts.total(), row.counts()
        if total:
            lost = total - sum(counts)
            cells.append((f"`{name}`", _numerics(name), total, *counts, lost, *row.worst_cells()))
    return table(headings, cells)


def _unseen(rows: dict[str, _Row]) -> str:
    never = [name for name, row in rows.items() if not row.verdicts]
    uncompared = [name for name, row in rows.items() if row.verdicts and not sum(row.counts()[:3])]
    parts = []
    if never:
        parts.append(
            f"Changed no module, so their class rests on XLA's code alone: {code_list(never)}."
        )
    if uncompared:
        parts.append(f"Changed modules, none of which could be compared: {code_list(uncompared)}.")
    return "\n\n".join(parts)


def _contradictions(rows: dict[str, _Row]) -> str:
    wrong = [
        name
        for name, row in rows.items()
        if _numerics(name) == "exact" and row.verdicts["close"] + row.verdicts["different"]
    ]
    if not wrong:
        return "No pass of class exact changed a bit."
    return f"Class exact in the registry, but bits changed: {code_list(wrong)}."


def _differences(results: Iterable[tuple[str, Result]]) -> str:
    rows = [
        (f"`{r['name']}`", f"`{name}`", r["reason"])
        for name, r in results
        if r["verdict"] == "different"
    ]
    if not rows:
        return "None: no pass changed a result beyond tolerance."
    return table(("pass", "module", "difference"), rows)


def _not_comparable(results: Iterable[tuple[str, Result]]) -> str:
    modules: dict[str, list[str]] = defaultdict(list)
    for name, result in results:
        if result["verdict"] not in ("equal", "close", "different"):
            modules[_reason(result)].append(name)
    rows = [
        (reason, len(set(names)), len(names), f"`{min(names)}`")
        for reason, names in sorted(modules.items(), key=lambda item: -len(item[1]))
    ]
    return table(("reason", "modules", "results", "example"), rows)


def _reason(result: Result) -> str:
    if result["verdict"] != "not comparable":  # the pass failed, or ended its worker
        return f"`{result['name'] or 'loading'}` {result['verdict']}: {result['reason'][:80]}"
    for part, words in _REASONS:
        if part in result["reason"]:
            return words
    return result["reason"].replace("\n", " ").replace("|", "/")[:120]


def _compiled(rows: dict[str, _Row]) -> str:
    cells = [
        (f"`{name}`", *row.counts(), *row.worst_cells())
        for name, row in rows.items()
        if set(row.verdicts) != {"not comparable"}
    ]
    return table(("pass", *_VERDICTS, "largest close error", "on"), cells)
