"""What the runtime experiment has measured: kept while it runs, and written down as a study."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.outcomes.benchmarks import recorded
from experiments.outcomes.evaluation import Check, Outcome
from experiments.outcomes.study import Study, Trial
from experiments.paper.paired_timing import CONTROL, Pair, Side, summaries
from experiments.paper.runtime import BEST_KNOWN, Config
from experiments.paper.runtime_worker import Result
from experiments.policies.config_json import to_json
from hlograph.storage.checked_file import read_checked_json, write_checked_json

_KIND, _VERSION = "run times", 1


class Kept:
    """Results by benchmark, in a file that a run goes on with.

    Args:
        folder: Where the file is, or will be.

    Raises:
        DamagedFileError: It is no such file, or was altered.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "measured.json"
        self.results: dict[str, list[Result]] = {}
        if self._path.exists():
            content = read_checked_json(self._path, _KIND, _VERSION)["results"]
            self.results = {name: [_result(r) for r in kept] for name, kept in content.items()}

    def add(self, benchmark: str, results: Sequence[Result]) -> None:
        """Keeps all results of one benchmark."""
        self.results[benchmark] = list(results)
        content = {name: [asdict(r) for r in kept] for name, kept in self.results.items()}
        write_checked_json(self._path, _KIND, _VERSION, {"results": content})


def _result(content: Mapping[str, Any]) -> Result:
    pair, outcome, check = (content[key] for key in ("pair", "outcome", "check"))
    return Result(
        content["method"],
        content["problem"],
        pair and Pair(**pair | {side: Side(**pair[side]) for side in ("before", "after")}),
        outcome and Outcome(**outcome | {"passes": tuple(outcome["passes"])}),
        check and Check(**check),
    )


def pairs_of(results: Mapping[str, Sequence[Result]]) -> list[Pair]:
    """What was measured, benchmark by benchmark."""
    return [r.pair for found in results.values() for r in found if r.pair is not None]


def study(
    config: Config, results: Mapping[str, Sequence[Result]], notes: Sequence[str] = ()
) -> Study:
    """The study of some results.

    Args:
        config: Settings of the experiment.
        results: Of all its benchmarks.
        notes: What else a reader has to be told.
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


def measurements(results: Mapping[str, Sequence[Result]]) -> dict[str, Any]:
    """What was measured, as a study holds it.

    ``pairs`` and ``summaries`` (``paired_timing``: by method), ``control`` (the method that
    compares modules with themselves) and ``left_out``: by benchmark, and then by method, why there
    is no pair; the control stands for the benchmark itself.

    Args:
        results: By benchmark.
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


def _trials(config: Config, results: Mapping[str, Sequence[Result]]) -> list[Trial]:
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
    config: Config,
    results: Mapping[str, Sequence[Result]],
    left_out: Mapping[str, Mapping[str, str | None]],
) -> list[str]:
    gone = [name for name, why in left_out.items() if CONTROL in why]
    notes = [
        f"Of {len(results)} benchmarks {len(results) - len(gone)} were executed. Each was compiled "
        "by XLA:CPU with its default flags, after all passes of its own; ratios are time before / "
        "time after, so above 1 is faster.",
        f"The method {CONTROL} compares each module with itself, compiled a second time: it shows "
        "what noise makes of ratios. An interval covers what varies from run to run, not from one "
        "compilation to the next (where code and data lie), so the control's counts of faster and "
        "slower benchmarks are those of false alarms.",
        f"Compile times are medians of {config.compilations} compilations of each of the two "
        f"modules, in turn; what {CONTROL} shows of them is noise, too.",
    ]
    methods = {result.method for found in results.values() for result in found}
    if config.best_known and BEST_KNOWN not in methods:
        notes.append(f"{BEST_KNOWN} is not shown: none is known of any of these benchmarks.")
    for name, why in left_out.items():
        if CONTROL in why:
            notes.append(f"{name} was not executed: {why[CONTROL]}")
        else:
            notes += [
                f"{name} after {method} was not timed: {text}" for method, text in why.items()
            ]
    return notes
