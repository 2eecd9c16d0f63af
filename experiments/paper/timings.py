"""Timings that are kept while an experiment runs, and as a study holds them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.evaluate.evaluation import Check, Outcome
from experiments.paper.paired_timing import CONTROL, TimedPair, summaries
from experiments.paper.runtime_worker import (
    MakeWorker,
    MethodTiming,
    TimeBenchmark,
    measure,
    timing_pool,
)
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
        pair and TimedPair.from_json(pair),
        outcome and Outcome.from_json(outcome),
        check and Check(**check),
    )


def pairs_of(results: Mapping[str, Sequence[MethodTiming]]) -> list[TimedPair]:
    """Returns all pairs, benchmark by benchmark."""
    return [r.pair for of_name in results.values() for r in of_name if r.pair is not None]


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
            name: {r.method: r.problem for r in of_name if r.problem}
            for name, of_name in results.items()
            if any(r.problem for r in of_name)
        },
    }
