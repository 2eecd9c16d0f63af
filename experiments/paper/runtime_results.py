"""Results of the experiment on run times: kept while it runs, and written as a study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.evaluate.benchmarks import recorded
from experiments.evaluate.evaluation import Check, Outcome
from experiments.evaluate.study import Study, Trial
from experiments.paper.paired_timing import CONTROL, Pair, Side, summaries
from experiments.paper.runtime_settings import BEST_KNOWN, RuntimeConfig
from experiments.paper.runtime_worker import (
    MakeWorker,
    MethodTiming,
    TimeBenchmark,
    measure,
    timing_pool,
)
from experiments.policies.config_json import to_json
from hlograph.storage.checked_file import read_checked_json, write_checked_json

_KIND, _VERSION = "run times", 1


class Kept:
    """Results by benchmark, in a file from which a run can be continued.

    Args:
        folder: Folder of the file, which may not exist yet.

    Raises:
        DamagedFileError: The file is of another kind, or was altered.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "measured.json"
        self.results: dict[str, list[MethodTiming]] = {}
        if self._path.exists():
            content = read_checked_json(self._path, _KIND, _VERSION)["results"]
            self.results = {name: [_result(r) for r in kept] for name, kept in content.items()}

    def measure(
        self,
        tasks: Sequence[TimeBenchmark],
        step_seconds: float,
        memory_gib: float,
        make_worker: MakeWorker | None,
    ) -> Iterator[None]:
        """Measures benchmarks one after the other, in a single process; yields after each.

        Args:
            tasks: The benchmarks.
            step_seconds: Time limit of a check, and of a compilation with its runs.
            memory_gib: Limit of the process's resident memory.
            make_worker: Makes the function that measures; None is that of ``runtime_worker``.
        """
        with timing_pool(step_seconds, memory_gib, make_worker) as pool:
            for benchmark, results in tqdm(measure(pool, tasks), total=len(tasks), unit="module"):
                self.results[benchmark] = results
                content = {name: [asdict(r) for r in kept] for name, kept in self.results.items()}
                write_checked_json(self._path, _KIND, _VERSION, {"results": content})
                yield


def _result(content: Mapping[str, Any]) -> MethodTiming:
    pair, outcome, check = (content[key] for key in ("pair", "outcome", "check"))
    return MethodTiming(
        content["method"],
        content["problem"],
        pair and Pair(**pair | {side: Side(**pair[side]) for side in ("before", "after")}),
        outcome and Outcome(**outcome | {"passes": tuple(outcome["passes"])}),
        check and Check(**check),
    )


def pairs_of(results: Mapping[str, Sequence[MethodTiming]]) -> list[Pair]:
    """Returns all pairs, benchmark by benchmark."""
    return [r.pair for found in results.values() for r in found if r.pair is not None]


def study(
    config: RuntimeConfig, results: Mapping[str, Sequence[MethodTiming]], notes: Sequence[str] = ()
) -> Study:
    """Returns the study of some results.

    Args:
        config: Settings of the experiment.
        results: Results of all its benchmarks.
        notes: Further notes for the reader.
    """
    measured = measurements(results)
    return Study(
        name="runtime",
        preset=config.preset,
        settings=to_json(config),
        references=recorded(list(results)),
        trials=_trials(config, results),
        measurements=measured,
        notes=[*_notes(config, results, measured["left_out"]), *notes],
    )


def measurements(results: Mapping[str, Sequence[MethodTiming]]) -> dict[str, Any]:
    """Returns measurements as a study holds them.

    ``pairs`` and ``summaries`` (``paired_timing``: by method), ``control`` (the method that
    compares modules with themselves) and ``left_out``: by benchmark, and then by method, why there
    is no pair; the control stands for the benchmark itself.

    Args:
        results: Results by benchmark.
    """
    pairs = pairs_of(results)
    return {
        "pairs": [asdict(pair) for pair in pairs],
        "summaries": {method: asdict(s) for method, s in summaries(pairs).items()},
        "control": CONTROL,
        "left_out": {
            name: {r.method: r.problem for r in found if r.problem}
            for name, found in results.items()
            if any(r.problem for r in found)
        },
    }


def _trials(config: RuntimeConfig, results: Mapping[str, Sequence[MethodTiming]]) -> list[Trial]:
    everything = [r for found in results.values() for r in found]
    group = f"{config.corpus_set or 'all'} {config.split}"
    trials = []
    for method in dict.fromkeys(r.method for r in everything):
        found = [(r.outcome, r.check) for r in everything if r.method == method]
        both = [(o, c) for o, c in found if o is not None and c is not None]
        if both:
            outcomes, checks = zip(*both, strict=True)
            trials.append(Trial(method, 0, group, outcomes, checks))
    return trials


def _notes(
    config: RuntimeConfig,
    results: Mapping[str, Sequence[MethodTiming]],
    left_out: Mapping[str, Mapping[str, str | None]],
) -> list[str]:
    gone = [name for name, why in left_out.items() if CONTROL in why]
    notes = [
        f"Of {len(results)} benchmarks {len(results) - len(gone)} were executed. Each was compiled "
        "by XLA:CPU with its default flags, after all passes of its own; ratios are time before / "
        "time after, so above 1 is faster.",
        f"The method {CONTROL} compares each module with itself, compiled a second time: its "
        "ratios show the noise. An interval covers the variation from run to run, but not from one "
        "compilation to the next (where code and data lie), so the control's counts of faster and "
        "slower benchmarks are the number of false alarms.",
        f"Compile times are medians of {config.compilations} compilations of each of the two "
        f"modules, in turn; those of {CONTROL} show the noise, too.",
    ]
    methods = {result.method for found in results.values() for result in found}
    if config.best_known and BEST_KNOWN not in methods:
        notes.append(f"{BEST_KNOWN} is not shown: none of these benchmarks has one.")
    for name, why in left_out.items():
        if CONTROL in why:
            notes.append(f"{name} was not executed: {why[CONTROL]}")
        else:
            notes += [
                f"{name} after {method} was not timed: {text}" for method, text in why.items()
            ]
    return notes
