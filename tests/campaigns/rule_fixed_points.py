"""Compares each rewriting rule with the XLA pass that it is a part of.

    python -m tests.campaigns.rule_fixed_points --max-ops 400 --out runs/rule-fixed-points

Applies the rewrites of one rule until none is left, runs the pass until it changes nothing, and
compares the op counts: for every rule that has a pass, on modules of the corpus, smallest first, in
worker processes that may be lost. Results are appended to `results.jsonl` in the folder, one line
for each module, and the same command continues after Ctrl-C. A table by rule is written to
`report.md` and, with --page, into a page of the documentation.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import tyro

import hlograph
from hlograph import Module, Pass, corpus
from hlograph.corpus import Benchmark
from hlograph.errors import HloError, RewriteError
from hlograph.execution.equivalence import Limits, OriginalModule
from hlograph.isolation import FlightRecorder
from hlograph.storage.provenance import flags_of
from hlograph.transforms.rules import Rule
from tests.campaigns.framework.module_sets import load, select
from tests.campaigns.framework.sweep import (
    PLACES,
    Line,
    Result,
    Sweep,
    SweepConfig,
    SweepTask,
    code_list,
    table,
)
from tests.campaigns.framework.tasks import noted

# Passes whose rules have other names.
_PASSES = {"algebraic": "algsimp", "merge": "cse", "remove": "dce", "inline": "call-inliner"}


@dataclass(frozen=True)
class FixedPointsConfig(SweepConfig):
    """Settings of the comparison."""

    out: Path = Path("runs/rule-fixed-points")
    """Folder of the results; a comparison found in it is continued."""
    max_ops: int = 400
    """Modules with more instructions are left out."""
    max_seconds: float = 120.0
    """Longest time of one rule on one module; then the worker is replaced."""
    prepare: tuple[str, ...] = ()
    """Passes that run first, each until it changes nothing."""
    rules: tuple[str, ...] = ()
    """Names of rules; none is all that have a pass."""
    per_family: int = 0
    """Number of modules of each family, the smallest ones; 0 is all."""
    max_rewrites: int = 5_000
    """Limit of rewrites for each rule and module; beyond it the rule counts as not finished."""

    def names(self) -> tuple[str, ...]:
        """Returns the names of the rules.

        Raises:
            UnknownNameError: There is no rule, or no pass to prepare with, of a name.
            ValueError: A rule has no pass.
        """
        for name in self.prepare:
            hlograph.passes[name]
        if not self.rules:
            return tuple(rule.name for rule in hlograph.rules if pass_of(rule) is not None)
        for name in self.rules:
            if pass_of(hlograph.rules[name]) is None:
                raise ValueError(f"expected rules that have a pass, got {name}")
        return self.rules

    def modules(self) -> list[corpus.Benchmark]:
        """Returns the modules, smallest first."""
        chosen = []
        of_family: Counter[str] = Counter()
        for benchmark in select(self.benchmarks, self.max_ops):
            of_family[benchmark.family] += 1
            if not self.per_family or of_family[benchmark.family] <= self.per_family:
                chosen.append(benchmark)
        return chosen


@dataclass(frozen=True)
class Comparison:
    """Results of a rule and its pass on one module.

    Attributes:
        start: Op count of the module before both.
        rewrites: Number of rewrites that were applied.
        runs: Runs of the pass that changed the module.
        ended: True if both reached a fixed point. If the pass did not, no rewrites were applied
            and the counts are those of the start.
        by_rule: Op count after the rewrites.
        by_pass: Op count after the pass.
        cleared_by_rule: Op count after the rewrites and `dce`.
        cleared_by_pass: Op count after the pass and `dce`.
        same: True if both are the same program after `dce`, by fingerprint.
        equivalence: Verdict on the rewrites' result and the module before them
            (`hlograph.execution.equivalence`); empty if `same`, since the equivalence sweep judges
            passes.
    """

    start: int
    rewrites: int
    runs: int
    ended: bool
    by_rule: int
    by_pass: int
    cleared_by_rule: int
    cleared_by_pass: int
    same: bool
    equivalence: str = ""


def pass_of(rule: Rule) -> Pass | None:
    """Returns the pass that does in a whole module what a rule does at one place.

    Returns None for rules of this project, and for fusion, whose passes decide by profit.
    """
    name = _PASSES.get(rule.name, rule.name)
    if name not in hlograph.passes:
        return None
    return hlograph.passes[name]


def rewrite_to_fixed_point(module: Module, rule: Rule, limit: int) -> tuple[int, bool]:
    """Applies all rewrites of a rule, listing by listing, until none is left.

    Args:
        module: Changed in place.
        rule: The rule.
        limit: After a listing that reaches this number of rewrites, no other follows.

    Returns:
        Number of rewrites that were applied, and True if none is left.
    """
    applied = 0
    while listed := module.rewrites([rule]):
        if applied >= limit:
            return applied, False
        for rewrite in listed:
            try:
                module.apply(rewrite)
            except RewriteError:  # an earlier rewrite changed the place
                continue
            applied += 1
    return applied, True


def run_to_fixed_point(module: Module, entry: Pass, limit: int = 20) -> tuple[int, bool]:
    """Runs a pass until the state of the module stays the same.

    The state counts, since some passes always report a change.

    Returns:
        Number of runs that changed the module, and False if `limit` of them were not enough.

    Raises:
        PassError: XLA's pass returned an error.
    """
    for runs in range(limit):
        if module.run_with_snapshot(entry).snapshot is None:
            return runs, True
    return limit, False


def compare(module: Module, rule: Rule, max_rewrites: int = 5_000) -> Comparison | None:
    """Compares a rule with its pass.

    Both begin after the pass that its pass requires, which is not part of the rule.

    Args:
        module: The module, which stays as it is.
        rule: A rule that has a pass.
        max_rewrites: See `FixedPointsConfig`.

    Returns:
        The comparison; None if neither changes the module.

    Raises:
        PassError: XLA's pass returned an error.
        VerificationError: XLA's verifier rejects a result.
    """
    entry = pass_of(rule)
    assert entry is not None, f"{rule.name} has no pass"
    start = module.clone()
    if entry.requires is not None:
        run_to_fixed_point(start, hlograph.passes[entry.requires])
    by_rule, by_pass = start.clone(), start.clone()
    runs, ended = run_to_fixed_point(by_pass, entry)
    if not ended:  # the rule does not end either, and the module grows
        count = start.op_count
        return Comparison(count, 0, runs, False, count, count, count, count, same=False)
    rewrites, ended = rewrite_to_fixed_point(by_rule, rule, max_rewrites)
    if not runs and not rewrites:
        return None
    counts = by_rule.op_count, by_pass.op_count
    for result in (by_rule, by_pass):
        result.verify()
        result.run("dce")
    same = by_rule.fingerprint() == by_pass.fingerprint()
    return Comparison(
        start.op_count, rewrites, runs, ended, *counts,
        by_rule.op_count, by_pass.op_count, same,
        "" if same else _outputs_verdict(start, by_rule),
    )  # fmt: skip


def make_worker(
    config: FixedPointsConfig, recorder: FlightRecorder
) -> Callable[[SweepTask], list[Result]]:
    """Returns the function that does a task in a worker process (`hlograph.isolation`)."""

    def work(task: SweepTask) -> list[Result]:
        module = load(task.benchmark)
        for name in config.prepare:
            with noted(recorder, name):
                run_to_fixed_point(module, hlograph.passes[name])
        results = []
        for name in task.names:
            try:
                with noted(recorder, name):
                    comparison = compare(module, hlograph.rules[name], config.max_rewrites)
            except HloError as error:
                results.append({"name": name, "verdict": "failed", "reason": str(error)})
                continue
            results += [] if comparison is None else [{"name": name, **asdict(comparison)}]
        return results

    return work


def _outputs_verdict(start: Module, module: Module) -> str:
    limits = Limits(evaluator_seconds=5.0)
    reference = OriginalModule(start, samples=1, engines=("evaluator",), limits=limits)
    return reference.compare(module).verdict


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
    finished = [result for result in results if result.get("ended")]
    changed = {result["name"] for result in finished}
    flags = flags_of(config, without=PLACES | {"max_seconds"})
    return TEXT.format(
        arguments="".join(f" {flag}" for flag in flags),
        modules=len(benchmarks),
        families=len({benchmark.family for benchmark in benchmarks}),
        smallest=min(sizes),
        largest=max(sizes),
        prepared=f", after {', '.join(config.prepare)}" if config.prepare else "",
        table=_by_rule([rule for rule in rules if rule in changed], finished),
        nowhere=_nowhere([rule for rule in rules if rule not in changed]),
        unfinished=_unfinished(results),
        left_behind=_left_behind(finished),
        differences=_differences(finished),
        equivalence=_equivalence(finished),
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


_PROGRAM = "rule_fixed_points"


def run(config: FixedPointsConfig) -> int:
    """Compares rules and passes, and writes the results and the report.

    Returns:
        Exit status: 0, or 130 after Ctrl-C.

    Raises:
        UnknownNameError: There is no rule or pass of a name in the settings.
        ValueError: A rule has no pass.
    """
    rules, benchmarks = config.names(), config.modules()

    def report(lines: Sequence[Line]) -> str:
        return write_report(lines, rules, benchmarks, config)

    sweep = Sweep(_PROGRAM, config, rules, partial(make_worker, config))
    return sweep.run(report, benchmarks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    config = tyro.cli(FixedPointsConfig, args=arguments, prog=prog, description=__doc__)
    return run(config)


if __name__ == "__main__":
    sys.exit(main())
