"""Report of the comparison of rules and passes in Markdown: part of `docs/rule-fixed-points.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import hlograph
from hlograph.corpus import Benchmark
from hlograph.storage.provenance import flags_of
from tests.campaigns.framework.pages import code_list, table
from tests.campaigns.framework.sweep import PLACES, Line, Result
from tests.campaigns.rules.comparison import FixedPointsConfig, pass_of

TEXT = """    python -m tests.campaigns.rule_fixed_points{arguments}

{modules} modules of {families} families, {smallest} to {largest} instructions{prepared}.

{table}

{nowhere}

{unfinished}

## Differences that `dce` removes

Which of the two leaves more unused instructions before `dce` runs, and on how many modules:

{left_behind}

## Differences

{differences}

{equivalence}
"""

_SHOWN = 30  # differences of one rule


def write_report(
    lines: Sequence[Line],
    rules: Sequence[str],
    benchmarks: Sequence[Benchmark],
    config: FixedPointsConfig,
) -> str:
    """Returns the report.

    Args:
        lines: Results of the sweep.
        rules: Names of the rules.
        benchmarks: The modules.
        config: Settings of the comparison.
    """
    sizes = [benchmark.op_count for benchmark in benchmarks] or [0]
    results = [
        {"benchmark": line["benchmark"], **result} for line in lines for result in line["results"]
    ]
    found = [result for result in results if result.get("ended")]
    changed = {result["name"] for result in found}
    flags = flags_of(config, without=PLACES | {"max_seconds"})
    return TEXT.format(
        arguments="".join(f" {flag}" for flag in flags),
        modules=len(benchmarks),
        families=len({benchmark.family for benchmark in benchmarks}),
        smallest=min(sizes),
        largest=max(sizes),
        prepared=f", after {', '.join(config.prepare)}" if config.prepare else "",
        table=_by_rule([rule for rule in rules if rule in changed], found),
        nowhere=_nowhere([rule for rule in rules if rule not in changed]),
        unfinished=_unfinished(results),
        left_behind=_left_behind(found),
        differences=_differences(found),
        equivalence=_equivalence(found),
    )


def _excess(result: Result) -> int:
    """Returns how many more instructions the rewrites leave than the pass, after `dce` on both."""
    return result["cleared_by_rule"] - result["cleared_by_pass"]


def _by_rule(rules: Iterable[str], results: Sequence[Result]) -> str:
    headings = "rule", "pass", "modules", "rewrites", "equal", "after `dce`", "same program"
    rows = []
    for rule in rules:
        of_rule = [result for result in results if result["name"] == rule]
        entry = pass_of(hlograph.rules[rule])
        assert entry is not None
        equal = [result["by_rule"] == result["by_pass"] for result in of_rule]
        excess = [_excess(result) for result in of_rule]
        rows.append(
            (
                f"`{rule}`",
                f"`{entry.name}`",
                len(of_rule),
                sum(result["rewrites"] for result in of_rule),
                sum(equal),
                sum(not e and not x for e, x in zip(equal, excess, strict=True)),
                sum(result["same"] for result in of_rule),
                _extent(-x for x in excess),
                _extent(excess),
            )
        )
    return table((*headings, "fewer", "more"), rows)


def _extent(differences: Iterable[int]) -> str:
    """Returns how many are positive, and the largest."""
    positive = [difference for difference in differences if difference > 0]
    return f"{len(positive)} (by {max(positive)})" if positive else ""


def _nowhere(rules: Sequence[str]) -> str:
    if not rules:
        return "Each of the rules changes a module."
    return f"Neither rule nor pass changes any of these modules: {code_list(rules)}."


def _unfinished(results: Sequence[Result]) -> str:
    endless = Counter(result["name"] for result in results if not result.get("ended", True))
    texts = [
        f"`{rule}` or its pass reached no fixed point on {count} modules, which are not counted "
        "above."
        for rule, count in endless.items()
    ]
    texts += [
        f"`{result['name']}` on `{result['benchmark']}`: {result['verdict']}: {result['reason']}"
        for result in results
        if "reason" in result
    ]
    return "\n\n".join(texts) or "All reached a fixed point, and no pass failed."


def _left_behind(results: Sequence[Result]) -> str:
    counts = Counter(
        (result["name"], "the pass" if result["by_rule"] < result["by_pass"] else "the rewrites")
        for result in results
        if result["by_rule"] != result["by_pass"] and _excess(result) == 0
    )
    texts = [f"- {which} of `{rule}`: {count}" for (rule, which), count in sorted(counts.items())]
    return "\n".join(texts) or "- none"


def _differences(results: Sequence[Result]) -> str:
    different = [result for result in results if not result["same"]]
    if not different:
        return "None: rules and passes end in the same programs."
    different.sort(key=lambda r: (r["name"], -abs(_excess(r)), r["benchmark"]))
    rows = []
    shown: Counter[str] = Counter()
    for result in different:
        shown[result["name"]] += 1
        if shown[result["name"]] <= _SHOWN:
            rows.append((
                f"`{result['name']}`", f"`{result['benchmark']}`", result["start"],
                result["cleared_by_rule"], result["cleared_by_pass"], f"{_excess(result):+d}",
            ))  # fmt: skip
    headings = "rule", "module", "before", "after the rewrites", "after the pass", "difference"
    text = table(headings, rows)
    if left_out := len(different) - len(rows):
        text += f"\n\n{left_out} more are in results.jsonl."
    return text


def _equivalence(results: Sequence[Result]) -> str:
    counts = Counter(result["equivalence"] for result in results if not result["same"])
    if not counts:
        return ""
    parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return f"Outputs compared with those of the module before, by XLA's evaluator: {parts}."
