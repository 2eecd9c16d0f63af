"""Runs every pass on every module and compares the result with the original.

    python -m tests.campaigns.sweep_equivalence --max-ops 300 --out runs/equivalence
    python -m tests.campaigns.sweep_equivalence --benchmarks 'loss/*' --passes algsimp cse

Modules are taken smallest first, in worker processes that may be lost. Results are appended to
`results.jsonl` in the folder, one line for each module. Modules that have a line are not run again,
so the same command continues after Ctrl-C. Tables by pass are written to `report.md` and, with
--page, into a page of the documentation.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import tyro

import hlograph
from hlograph import Module
from hlograph.execution.equivalence import EngineName, Equivalence, Limits, OriginalModule, Verdict
from hlograph.isolation import FlightRecorder
from hlograph.storage.provenance import flags_of
from tests.campaigns.framework.module_sets import load
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

PIPELINES = ("xla-cpu", "xla-simplify")


@dataclass(frozen=True)
class EquivalenceConfig(SweepConfig):
    """Settings of the sweep."""

    out: Path = Path("runs/equivalence")
    """Folder of the results; a sweep found in it is continued."""
    passes: tuple[str, ...] = ()
    """Passes and pipelines (pipeline:NAME); none is every pass and both reference pipelines."""
    compile_ops: int = 200
    """Modules of at most so many instructions are also compiled: after pipelines, and where the
    reference evaluator cannot run them."""
    samples: int = 1
    """Random inputs for each module."""
    seed: int = 0
    """Seed of the inputs."""

    def names(self) -> tuple[str, ...]:
        """Returns the names of the passes and pipelines.

        Raises:
            UnknownNameError: A name is neither a pass nor a pipeline.
        """
        if not self.passes:
            return (*hlograph.passes.names, *(f"pipeline:{name}" for name in PIPELINES))
        for name in self.passes:
            _entry(name)
        return self.passes


def make_worker(
    config: EquivalenceConfig, recorder: FlightRecorder
) -> Callable[[SweepTask], list[Result]]:
    """Returns the function that does a task in a worker process (`hlograph.isolation`)."""

    def work(task: SweepTask) -> list[Result]:
        comparison = PassComparison(load(task.benchmark), config, recorder)
        return [comparison.result(name) for name in task.names]

    return work


class PassComparison:
    """Runs passes on a module, each alone, and compares the results with the module.

    The reference evaluator runs all results. Results of pipelines, and those that it cannot run,
    are compiled. A result that several passes have in common is compared once.

    Args:
        module: The module, which is changed by the passes that prepare it.
        config: Settings of the sweep.
        recorder: Where each pass and each comparison is noted.
    """

    def __init__(self, module: Module, config: EquivalenceConfig, recorder: FlightRecorder) -> None:
        self._module, self._config = module, config
        self._noted = partial(noted, recorder, seconds=config.max_seconds)
        for name in config.prepare:
            with self._noted(name):
                module.run(name)
        limits = Limits(
            compiled_ops=max(2 * config.compile_ops, 1), evaluator_seconds=config.max_seconds / 4
        )
        self._references: dict[EngineName, OriginalModule] = {
            engine: OriginalModule(
                module, samples=config.samples, seed=config.seed, engines=(engine,), limits=limits
            )
            for engine in ("evaluator", "compiled")
        }
        self._compared: dict[tuple[str, EngineName], Equivalence] = {}

    def result(self, name: str) -> Result:
        """Returns the result of one pass or pipeline.

        It has `name`, `changed`, `verdict` and `reason`; for a change also `fingerprint`, `seconds`
        and, as far as there are any, `engine`, `ulp`, `relative` and `compiled`.
        """
        result: Result = {"name": name, "changed": False, "verdict": "equal"}
        module = self._module.clone()
        try:
            with self._noted(name):
                module.run(_entry(name))
        except hlograph.PassError as error:
            return result | {"verdict": "failed", "reason": str(error)}
        if module.fingerprint() == self._module.fingerprint():
            return result
        result |= {"changed": True, "fingerprint": module.fingerprint()}
        result |= self._compare(name, module, "evaluator")
        not_comparable = result["verdict"] == "not comparable"
        compiles = self._module.op_count <= self._config.compile_ops
        if compiles and (name.startswith("pipeline:") or not_comparable):
            compiled = self._compare(name, module, "compiled")
            if not_comparable and "engine" in compiled:
                result |= compiled
            else:
                result["compiled"] = compiled
        return result

    def _compare(self, name: str, module: Module, engine: EngineName) -> Result:
        key = module.fingerprint(), engine
        begin = time.perf_counter()
        if key not in self._compared:
            with self._noted(f"{name} {engine}"):
                self._compared[key] = self._references[engine].compare(module)
        comparison = self._compared[key]
        result: Result = {
            "verdict": comparison.verdict,
            "reason": comparison.reason,
            "seconds": round(time.perf_counter() - begin, 3),
        }
        for finding in comparison.findings:
            result |= {"engine": engine, "ulp": finding.ulp, "relative": finding.relative}
        return result


def _entry(name: str) -> hlograph.Pass | hlograph.Pipeline:
    kind, _, rest = name.partition(":")
    return hlograph.pipelines[rest] if kind == "pipeline" else hlograph.passes[name]


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

    def add(self, benchmark: str, result: Result) -> None:
        self.verdicts[result["verdict"]] += 1
        if result["verdict"] == "close":
            self.worst = max(self.worst, (result["ulp"], result["relative"], benchmark))

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
        judged = result.get("compiled") or (result if result.get("engine") == "compiled" else None)
        if judged is not None:
            compiled[result["name"]].add(name, judged)
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


_PROGRAM = "sweep_equivalence"


def make_sweep(config: EquivalenceConfig) -> Sweep:
    """Returns the sweep.

    Raises:
        UnknownNameError: There is no pass or pipeline of a name in the settings.
    """
    return Sweep(_PROGRAM, config, config.names(), partial(make_worker, config))


def main() -> int:
    """Runs the program; returns its exit status."""
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    config = tyro.cli(EquivalenceConfig, prog=prog, description=__doc__)
    return make_sweep(config).run(lambda lines: write_report(lines, config))


if __name__ == "__main__":
    sys.exit(main())
