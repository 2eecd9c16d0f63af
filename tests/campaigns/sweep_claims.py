"""Checks what each pass claims to leave as it is, on usual and on special values.

    python -m tests.campaigns.sweep_claims --page docs/pass-claims.md
    python -m tests.campaigns.sweep_claims --benchmarks 'random/*' --passes algsimp cse

Every pass runs alone on degenerate modules of all opcodes and on random programs. XLA's evaluator
runs the result and the original on the same inputs: usual numbers, and NaN, infinities, zeros of
both signs and the extremes of each type. Results are appended to `results.jsonl` in the
folder, so the same command continues after Ctrl-C. The table by pass is written to `report.md` and,
with --page, into a page of the documentation.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import ml_dtypes
import numpy as np
import tyro

import hlograph
from hlograph import HloError, Module, PassError, VerificationError
from hlograph.execution.equivalence.arrays import Array, Signature, is_integral, signature_of
from hlograph.execution.equivalence.engines import Limits, Runner, check_runnable, make_runner
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.verdict import Difference, difference
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
from tests.campaigns.random_programs.inputs import Kind, inputs_of

Change = Literal["equal", "rounding", "special values", "numbers", "not run"]
"""What changes in the results, from nothing to the most.

``rounding``: finite numbers, by at most `_ROUNDING_ULP`. ``special values``: NaN, infinities or the
signs of zeros, while finite numbers differ by rounding at most. ``numbers``: finite numbers, by
more. ``not run``: the evaluator cannot run the original or the result.
"""

_CHANGES: tuple[Change, ...] = get_args(Change)
_ROUNDING_ULP = 16.0
# XLA's evaluator computes functions such as sine on vectors, which flush denormals, and what
# is left over of an array on scalars, which do not: what it makes of one depends on its place.
_DENORMALS: frozenset[Kind] = frozenset({"denormals"})
_SETS = ("degenerate/*", "random/*")


@dataclass(frozen=True)
class ClaimsConfig(SweepConfig):
    """Settings of the sweep."""

    out: Path = Path("runs/claims")
    """Folder of the results; a sweep found in it is continued."""
    benchmarks: tuple[str, ...] = _SETS
    """Globs over names of modules: small/*, degenerate/*, random/*, or those of the corpus."""
    passes: tuple[str, ...] = ()
    """Passes; none is every pass."""
    samples: int = 2
    """Number of inputs of each kind for each module."""
    seed: int = 0
    """Seed of the inputs."""

    def names(self) -> tuple[str, ...]:
        """Returns the names of the passes.

        Raises:
            UnknownNameError: There is no pass of a name.
        """
        for name in self.passes:
            hlograph.passes[name]
        return self.passes or hlograph.passes.names


class Original:
    """A module with its inputs, and what it computes of them.

    Args:
        module: The module.
        config: Settings of the sweep.

    Raises:
        HloError: The evaluator cannot run the module.
    """

    def __init__(self, module: Module, config: ClaimsConfig) -> None:
        self._limits = Limits(evaluated_ops=5_000, evaluator_seconds=config.max_seconds / 8)
        self._signature: Signature = signature_of(module)
        flow = Flow(module.graph())
        specs = self._signature.parameters
        self._inputs: dict[bool, list[list[Array]]] = {
            special: [
                inputs_of(flow, specs, config.seed + sample, special, _DENORMALS)
                for sample in range(config.samples)
            ]
            for special in (False, True)
        }
        run = self._runner(module)
        self._outputs = {
            special: [run(arrays) for arrays in inputs] for special, inputs in self._inputs.items()
        }

    def changes(self, module: Module) -> tuple[Change, Change]:
        """Returns what differs in the results of a module, on usual and on special values.

        Raises:
            HloError: The evaluator cannot run the module.
        """
        run = self._runner(module)
        return self._worst(run, False), self._worst(run, True)

    def _worst(self, run: Runner, special: bool) -> Change:
        samples = zip(self._inputs[special], self._outputs[special], strict=True)
        return worst_change(
            change
            for inputs, expected in samples
            for change in self._differences(expected, run(inputs))
        )

    def _runner(self, module: Module) -> Runner:
        check_runnable(Flow(module.graph()), "evaluator", self._limits)
        return make_runner("evaluator", module, self._signature, self._limits)

    def _differences(self, expected: list[Array], outputs: list[Array]) -> list[Change]:
        types = [spec.element_type for spec in self._signature.results]
        return [
            change_of(difference(flushed(before), flushed(after), element_type))
            for before, after, element_type in zip(expected, outputs, types, strict=True)
        ]


def flushed(array: Any) -> Any:
    """Returns an array whose denormals are zeros of their sign."""
    if array.dtype == np.bool_ or is_integral(array):
        return array
    array = array.copy()
    for part in (array.real, array.imag) if array.dtype.kind == "c" else (array,):
        with np.errstate(invalid="ignore"):  # NaN
            is_denormal = np.abs(part) < ml_dtypes.finfo(part.dtype).tiny
        part[is_denormal] = np.copysign(part.dtype.type(0), part[is_denormal])
    return array


def change_of(measured: Difference) -> Change:
    """Returns the change that a difference of two arrays is."""
    if measured.bitwise:
        return "equal"
    if measured.exact_type or measured.ulp > _ROUNDING_ULP:
        return "numbers"
    # Without an error in ulp, zeros differ in their signs.
    return "special values" if measured.misplaced or not measured.ulp else "rounding"


def worst_change(changes: Iterable[Change]) -> Change:
    """Returns the last of some changes in the order of `Change`."""
    ranks = [_CHANGES.index(change) for change in changes]
    return _CHANGES[max(ranks, default=0)]


def make_worker(
    config: ClaimsConfig, recorder: FlightRecorder
) -> Callable[[SweepTask], list[Result]]:
    """Returns the function that does a task in a worker process (`hlograph.isolation`)."""

    def work(task: SweepTask) -> list[Result]:
        module = load(task.benchmark)
        try:
            module.verify()
        except VerificationError:
            return []
        return _results(module, task.names, config, partial(noted, recorder))

    return work


def _results(
    module: Module, names: Sequence[str], config: ClaimsConfig, note: Callable
) -> list[Result]:
    """Returns what each pass that changes the module does to its results."""
    original: Original | None = None
    known: dict[str, tuple[Change, Change]] = {}
    results: list[Result] = []
    for name in names:
        changed = module.clone()
        try:
            with note(name):
                changed.run(name)
        except PassError as error:
            results.append({"name": name, "verdict": "failed", "reason": str(error)[:120]})
            continue
        fingerprint = changed.fingerprint()
        if fingerprint == module.fingerprint():
            continue
        if fingerprint not in known:
            try:
                with note(f"{name} evaluator"):
                    original = original or Original(module, config)
                    known[fingerprint] = original.changes(changed)
            except HloError:
                known[fingerprint] = ("not run", "not run")
        usual, special = known[fingerprint]
        results.append({"name": name, "verdict": usual, "special": special, "reason": ""})
    return results


TEXT = """    python -m tests.campaigns.sweep_claims {arguments}

{modules} modules, on each of which {samples} inputs of usual and {samples} of special values were
tried. {changed} times a pass changed a module. Columns with two numbers are for usual and special
values.

{by_pass}

{contradictions}

{unseen}
"""


def write_report(lines: Sequence[Line], config: ClaimsConfig) -> str:
    """Returns the report.

    Args:
        lines: Results of the sweep.
        config: Settings of the sweep.
    """
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    wrong: dict[str, str] = {}
    for line in lines:
        for result in line["results"]:
            name, special = result["name"], result.get("special", "")
            counts[name][result["verdict"], special] += 1
            seen = {result["verdict"], special} & {"rounding", "special values", "numbers"}
            if name in hlograph.passes and hlograph.passes[name].numerics == "exact" and seen:
                wrong.setdefault(name, line["benchmark"])
    changed = sum(n for count in counts.values() for (_, special), n in count.items() if special)
    return TEXT.format(
        arguments=" ".join(flags_of(config, without=PLACES)),
        modules=len(lines),
        samples=config.samples,
        changed=changed,
        by_pass=_by_pass(counts),
        contradictions=_contradictions(wrong),
        unseen=_unseen(counts, config),
    )


def _by_pass(counts: dict[str, Counter[tuple[str, str]]]) -> str:
    headings = ("pass", "class", "may change", "changed", *_CHANGES, "no result")
    rows = []
    for name in hlograph.passes.names:
        count = counts.get(name)
        if not count:
            continue
        usual, special = Counter[str](), Counter[str]()
        for (verdict, other), number in count.items():
            usual[verdict] += number
            special[other] += number
        numbers = [
            f"{usual[change]}" if change == "not run" else f"{usual[change]}, {special[change]}"
            for change in _CHANGES
        ]
        lost = count.total() - sum(usual[change] for change in _CHANGES)
        entry = hlograph.passes[name]
        claim = entry.claim.words.replace("|", "\\|") if ":" not in name else "the same"
        done = count.total() - lost
        rows.append((f"`{name}`", entry.numerics, claim, done, *numbers, lost))
    return table(headings, rows)


def _contradictions(wrong: dict[str, str]) -> str:
    if not wrong:
        return "No pass of class exact changed a bit."
    examples = ", ".join(f"`{name}` on `{module}`" for name, module in sorted(wrong.items()))
    return f"Class exact in the registry, but bits changed: {examples}."


def _unseen(counts: dict[str, Counter[tuple[str, str]]], config: ClaimsConfig) -> str:
    run = {
        name
        for name, count in counts.items()
        if any(verdict in _CHANGES[:-1] for verdict, _ in count)
    }
    unseen = [name for name in config.names() if name not in run]
    if not unseen:
        return "Results of every pass were compared."
    return f"Changed no module whose results could be compared: {code_list(unseen)}."


_PROGRAM = "sweep_claims"


def make_sweep(config: ClaimsConfig) -> Sweep:
    """Returns the sweep.

    Raises:
        UnknownNameError: There is no pass of a name in the settings.
    """
    return Sweep(_PROGRAM, config, config.names(), partial(make_worker, config))


def main() -> int:
    """Runs the program; returns its exit status."""
    prog = f"python -m tests.campaigns.{_PROGRAM}"
    config = tyro.cli(ClaimsConfig, prog=prog, description=__doc__)
    return make_sweep(config).run(lambda lines: write_report(lines, config))


if __name__ == "__main__":
    sys.exit(main())
