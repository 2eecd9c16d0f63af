"""Comparison of the rewrites of one rule with its pass, each repeated until it changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import hlograph
from hlograph import Module, Pass, corpus
from hlograph.errors import HloError, RewriteError
from hlograph.execution.equivalence import Limits, OriginalModule
from hlograph.isolation import FlightRecorder
from hlograph.transforms.rules import Rule
from tests.campaigns.framework.module_sets import load, select
from tests.campaigns.framework.sweep import Result, SweepConfig, SweepTask
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
        "" if same else _equivalence(start, by_rule),
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
                    found = compare(module, hlograph.rules[name], config.max_rewrites)
            except HloError as error:
                results.append({"name": name, "verdict": "failed", "reason": str(error)})
                continue
            results += [] if found is None else [{"name": name, **asdict(found)}]
        return results

    return work


def _equivalence(start: Module, module: Module) -> str:
    limits = Limits(evaluator_seconds=5.0)
    reference = OriginalModule(start, samples=1, engines=("evaluator",), limits=limits)
    return reference.compare(module).verdict
