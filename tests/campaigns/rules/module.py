"""Rewrites of one rule on one module until none is left, and its pass to its fixed point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import hlograph
from hlograph import Module, Pass, PassError, corpus
from hlograph.errors import RewriteError
from hlograph.execution.equivalence import Limits, Reference
from hlograph.isolation import FlightRecorder
from hlograph.transforms.rewriting import Rule

# The passes of rules that are not called like theirs.
_PASSES = {"algebraic": "algsimp", "merge": "cse", "remove": "dce", "inline": "call-inliner"}


@dataclass(frozen=True)
class RuleTask:
    """What a worker is asked for.

    Attributes:
        benchmark: Name of a module of the corpus.
        rule: A rule that has a pass.
        prepare: Passes to run before.
        max_rewrites: After so many rewrites it is given up that none is left.
    """

    benchmark: str
    rule: str
    prepare: tuple[str, ...] = ()
    max_rewrites: int = 5_000


@dataclass(frozen=True)
class Comparison:
    """Where a rule and its pass lead to from one module.

    Attributes:
        start: Op count of the module that both begin with.
        rewrites: How many were applied.
        runs: Of the pass, that changed the module.
        ended: Whether both came to an end; without an end of the pass there are no rewrites, and
            the counts are those of the start.
        by_rule: Op count after the rewrites.
        by_pass: Op count after the pass.
        cleared_by_rule: The first, after ``dce``.
        cleared_by_pass: The second, after ``dce``.
        same: Whether both are the same program after ``dce``, by fingerprint.
        verdict: Whether the rewrites' result computes what the module did
            (``hlograph.execution.equivalence``); empty where ``same``, for passes are held to that
            elsewhere.
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
    verdict: str = ""


def pass_of(rule: Rule) -> Pass | None:
    """Returns the pass of the registry that does all over a module what a rule does at a place.

    None of rules that are our own, and of fusion, whose passes decide by profit.
    """
    name = _PASSES.get(rule.name, rule.name)
    if name not in hlograph.passes:
        return None
    return hlograph.passes[name]


def rewrite_until_none_is_left(module: Module, rule: Rule, limit: int) -> tuple[int, bool]:
    """Applies rewrites of one rule, in the order of their listing, and of the next one.

    Args:
        module: Changed in place.
        rule: The rule.
        limit: After so many a listing is the last.

    Returns:
        How many were applied, and whether none is left.
    """
    applied = 0
    while listed := module.rewrites([rule]):
        if applied >= limit:
            return applied, False
        for rewrite in listed:
            try:
                module.apply(rewrite)
            except RewriteError:  # another one was there before
                continue
            applied += 1
    return applied, True


def run_to_fixed_point(module: Module, entry: Pass, limit: int = 20) -> tuple[int, bool]:
    """Runs a pass until the module stays in its state.

    Some passes report changes for ever; the module's state is what counts.

    Returns:
        Runs that changed the module, at most ``limit``, and whether the last one did not.

    Raises:
        PassError: XLA's pass returned an error.
    """
    for runs in range(limit):
        if module.run_and_look(entry).snapshot is None:
            return runs, True
    return limit, False


def compare(module: Module, rule: Rule, max_rewrites: int = 5_000) -> Comparison | None:
    """Compares what a rule and its pass come to.

    Both begin after what the pass requires, which is no part of the rule.

    Args:
        module: The module; it is left as it is.
        rule: A rule that has a pass.
        max_rewrites: See ``RuleTask``.

    Returns:
        The comparison; None where neither changes the module.

    Raises:
        PassError: XLA's pass returned an error.
        VerificationError: XLA's verifier rejects what came out.
    """
    entry = pass_of(rule)
    assert entry is not None, f"{rule.name} has no pass"
    start = module.clone()
    if entry.requires is not None:
        run_to_fixed_point(start, hlograph.passes[entry.requires])
    by_rule, by_pass = start.clone(), start.clone()
    runs, ended = run_to_fixed_point(by_pass, entry)
    if not ended:  # nor would the rule, in a module that grows
        count = start.op_count
        return Comparison(count, 0, runs, False, count, count, count, count, same=False)
    rewrites, ended = rewrite_until_none_is_left(by_rule, rule, max_rewrites)
    if not runs and not rewrites:
        return None
    counts = by_rule.op_count, by_pass.op_count
    for one in (by_rule, by_pass):
        one.verify()
        one.run("dce")
    same = by_rule.fingerprint() == by_pass.fingerprint()
    return Comparison(
        start.op_count, rewrites, runs, ended, *counts,
        by_rule.op_count, by_pass.op_count, same,
        "" if same else _verdict(start, by_rule),
    )  # fmt: skip


def make_worker(recorder: FlightRecorder) -> Callable[[RuleTask], dict[str, Any] | None]:
    """Returns what a worker process does with a task (``hlograph.isolation``)."""

    def work(task: RuleTask) -> dict[str, Any] | None:
        recorder.begin(f"{task.rule} on {task.benchmark}".encode())
        try:
            found = compare(
                _load(task.benchmark, task.prepare), hlograph.rules[task.rule], task.max_rewrites
            )
        except PassError as error:
            return {"error": str(error)}
        finally:
            recorder.end()
        return None if found is None else asdict(found)

    return work


@lru_cache(maxsize=1)
def _load(benchmark: str, prepare: tuple[str, ...]) -> Module:
    module = corpus.benchmark(benchmark).load()
    for name in prepare:
        run_to_fixed_point(module, hlograph.passes[name])
    return module


def _verdict(start: Module, module: Module) -> str:
    limits = Limits(evaluator_seconds=5.0)
    reference = Reference(start, samples=1, engines=("evaluator",), limits=limits)
    return reference.compare(module).verdict
