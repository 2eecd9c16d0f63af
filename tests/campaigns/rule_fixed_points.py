"""Holds each rule of rewriting against the pass that it is a part of.

    python -m tests.campaigns.rule_fixed_points --max-ops 400 --out runs/rule-fixed-points

Applies the rewrites of one rule until none is left, runs the pass to its fixed point, and compares
the op counts. For every rule that has a pass, on modules of the corpus, smallest first, each in a
worker process that may be lost. Ends with a table by rule, in `report.md` in the folder and, with
--page, in a page of its own; `results.jsonl` has a line for each module that a rule or its pass
changes.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from tqdm import tqdm

import hlograph
from hlograph import corpus
from hlograph.errors import WorkerLostError
from hlograph.isolation import Limits, make_pool
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.rules.module import RuleTask, make_worker, pass_of
from tests.campaigns.rules.report import write_report


@dataclass(frozen=True)
class FixedPointsConfig:
    """Settings of the comparison."""

    out: Path = Path("runs/rule-fixed-points")
    """Folder of the results."""
    rules: tuple[str, ...] = ()
    """Names of rules; none is all that have a pass."""
    benchmarks: tuple[str, ...] = ("*",)
    """Globs over names of the corpus."""
    max_ops: int = 400
    """Modules with more instructions are left out."""
    per_family: int = 0
    """Of each family so many modules, the smallest; 0 is all."""
    prepare: tuple[str, ...] = ()
    """Passes that run before, each to its fixed point."""
    max_rewrites: int = 5_000
    """After so many rewrites of a module it is given up that none is left."""
    max_seconds: float = 120.0
    """Longest time of one rule on one module; then the worker is replaced."""
    workers: int = 1
    """Worker processes; 0 works in this one, for debugging."""
    page: Path | None = None
    """Markdown file to write the report to, besides report.md in the folder."""


def run(config: FixedPointsConfig) -> list[dict[str, Any]]:
    """Compares rules and passes, and writes the results and the report.

    Returns:
        The lines of `results.jsonl`.

    Raises:
        UnknownNameError: No rule or pass has one of the names.
        ValueError: One of the rules has no pass.
    """
    rules = _rules(config)
    for name in config.prepare:
        hlograph.passes[name]
    benchmarks = _benchmarks(config)
    tasks = [
        RuleTask(benchmark.name, rule, config.prepare, config.max_rewrites)
        for benchmark in benchmarks
        for rule in rules
    ]
    limits = Limits(seconds=config.max_seconds, idle_seconds=10 * config.max_seconds)
    lines: dict[int, dict[str, Any]] = {}
    with make_pool(make_worker, config.workers, limits) as pool:
        for number, answer in tqdm(pool.map(tasks), total=len(tasks), disable=None):
            if isinstance(answer, WorkerLostError):
                answer = {"error": f"{answer.kind}: {answer}"}
            if answer is not None:
                task = tasks[number]
                lines[number] = {"benchmark": task.benchmark, "rule": task.rule, **answer}
    found = [lines[number] for number in sorted(lines)]
    config.out.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in found)
    write_text_atomically(config.out / "results.jsonl", text)
    report = write_report(found, rules, benchmarks, config)
    for path in filter(None, (config.out / "report.md", config.page)):
        write_text_atomically(path, report)
    return found


def _rules(config: FixedPointsConfig) -> list[str]:
    if not config.rules:
        return [rule.name for rule in hlograph.rules if pass_of(rule) is not None]
    for name in config.rules:
        if pass_of(hlograph.rules[name]) is None:
            raise ValueError(f"expected rules that have a pass, got {name}")
    return list(config.rules)


def _benchmarks(config: FixedPointsConfig) -> list[corpus.Benchmark]:
    """The modules, smallest first."""
    chosen: list[corpus.Benchmark] = []
    of_family: Counter[str] = Counter()
    by_size = sorted(corpus.load(max_op_count=config.max_ops), key=lambda b: (b.op_count, b.name))
    for benchmark in by_size:
        if not any(fnmatch.fnmatch(benchmark.name, glob) for glob in config.benchmarks):
            continue
        of_family[benchmark.family] += 1
        if not config.per_family or of_family[benchmark.family] <= config.per_family:
            chosen.append(benchmark)
    return chosen


def main(arguments: Sequence[str] | None = None) -> None:
    """Compares what a command line asks for."""
    prog = "python -m tests.campaigns.rule_fixed_points"
    config = tyro.cli(FixedPointsConfig, args=arguments, prog=prog, description=__doc__)
    run(config)
    print(config.out / "report.md")


if __name__ == "__main__":
    main()
