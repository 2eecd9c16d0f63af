"""Run times of modules before and after optimisation, pair by pair."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from experiments.evaluate import best_known
from experiments.evaluate.benchmarks import held_out_benchmarks, recorded
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.study import Study, Trial
from experiments.paper.checkpoints import labelled
from experiments.paper.paired_timing import CONTROL, summaries, table
from experiments.paper.runtime_worker import MakeWorker, MethodTiming, TimeBenchmark
from experiments.paper.settings import BEST_KNOWN, RuntimeConfig
from experiments.paper.timings import Kept, measurements, pairs_of
from experiments.policies.checkpoint import Checkpoint, training_cost
from experiments.policies.config import to_json
from experiments.workers.player import player
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.execution.equivalence import Limits


def run(config: RuntimeConfig, folder: Path, make_worker: MakeWorker | None = None) -> Study:
    """Measures all methods on all benchmarks.

    Args:
        config: Settings.
        folder: Folder that measurements are kept in, so that a run can be continued.
        make_worker: Makes the function that measures, in its process; by default that of
            ``runtime_worker``.

    Raises:
        HloError: A checkpoint is damaged, or no benchmark is small enough.
        ValueError: A checkpoint has no action that exists now.
        OSError: A file cannot be read or written.
    """
    names = held_out_benchmarks(config.op_limit, config.count, config.corpus_set, config.split)
    if not names:
        raise HloError(f"no benchmark of {config.split} has at most {config.op_limit} instructions")
    kept = Kept(folder)
    missing = [name for name in names if name not in kept.results]
    policies = {n: checkpoint for n, (_, checkpoint) in labelled(config.checkpoints).items()}
    if missing:
        methods = _methods(config, folder, names, policies)
        tasks = [_task(config, name, methods) for name in missing]
        for _ in kept.measure(tasks, config.step_seconds, config.memory_gib, make_worker):
            pass
    results = {name: kept.results[name] for name in names}
    print(table(summaries(pairs_of(results))))
    costs = [f"{method}: {training_cost(policy)}" for method, policy in policies.items()]
    return _study(config, results, costs)


def _methods(
    config: RuntimeConfig, folder: Path, names: Sequence[str], policies: Mapping[str, Checkpoint]
) -> Mapping[str, Mapping[str, Outcome | None]]:
    """Returns outcomes by method and benchmark; None is for the worker to find."""
    methods: dict[str, Mapping[str, Outcome | None]] = {
        method: {o.benchmark: o for o in _played(config, folder, policies[method], names)}
        for method in tqdm(policies, desc="policies", unit="policy", disable=None)
    }
    entries = best_known.current() if config.best_known else {}
    best = {name: entry for name, entry in entries.items() if name in names}
    if best:
        starts = {b.name: b.op_count for b in corpus.load()}
        methods[BEST_KNOWN] = {
            name: Outcome(name, starts[name], entry.op_count, entry.passes, len(entry.passes))
            for name, entry in best.items()
        }
    return methods | {reference: dict.fromkeys(names) for reference in config.references}


def _played(
    config: RuntimeConfig, folder: Path, checkpoint: Checkpoint, names: Sequence[str]
) -> list[Outcome]:
    """Returns the outcomes of a checkpoint's policy, played greedily."""
    with player(checkpoint, folder, num_workers=config.num_workers, workers=config.workers) as play:
        return play.runner.play(checkpoint.kind, play.policy, names)


def _task(
    config: RuntimeConfig, benchmark: str, methods: Mapping[str, Mapping[str, Outcome | None]]
) -> TimeBenchmark:
    results = {m: outcomes[benchmark] for m, outcomes in methods.items() if benchmark in outcomes}
    limits = Limits(compiled_ops=2 * config.op_limit, flops=config.flop_limit)
    return TimeBenchmark.of(
        config, benchmark, results, config.seeds, config.samples, config.step_seconds, limits
    )


def _study(
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


def _trials(config: RuntimeConfig, results: Mapping[str, Sequence[MethodTiming]]) -> list[Trial]:
    everything = [r for of_benchmark in results.values() for r in of_benchmark]
    group = f"{config.corpus_set or 'all'} {config.split}"
    trials = []
    for method in dict.fromkeys(r.method for r in everything):
        pairs = [(r.outcome, r.check) for r in everything if r.method == method]
        checked = [(o, c) for o, c in pairs if o is not None and c is not None]
        if checked:
            outcomes, checks = zip(*checked, strict=True)
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
    methods = {result.method for of_name in results.values() for result in of_name}
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
