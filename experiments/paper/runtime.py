"""Whether modules with fewer instructions run faster (section 5.1.2 of the paper).

Each benchmark is compiled by XLA:CPU as it is, and as each method left it; both are executed in
turn in one process, and compared pair by pair. XLA:CPU runs all of its own passes on both: what is
measured is what is left of a difference after them. A module that is compared with itself shows
what noise makes of it. Measure on a machine that does nothing else.

Methods are policies, played greedily, the least op counts that are known, and XLA's own orders.
A result counts after it was verified and compared with its original on random inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tqdm import tqdm

from experiments.policies.config import CorpusSet
from hlograph.corpus.shipped import Split
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.outcomes.evaluation import Outcome
    from experiments.outcomes.study import Study
    from experiments.paper.runtime_results import Kept
    from experiments.paper.runtime_worker import MakeWorker
    from experiments.policies.checkpoint import Checkpoint

BEST_KNOWN = "best known"
"""Method that takes the least op counts that any search has found."""


@dataclass(frozen=True)
class Config:
    """Settings of the experiment."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all the rest: quick takes ten minutes, full a night."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of the random inputs that modules run on; pairs are shared out among them."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are of; None is all sets."""
    split: Split = "test-unseen"
    """Split of the corpus that benchmarks are of."""
    op_limit: int = 700
    """Benchmarks with more instructions are left out: most of the time goes into compiling."""
    count: int | None = 28
    """Benchmarks, evenly over families; None is all."""
    checkpoints: tuple[str, ...] = ()
    """Policies to measure: paths, URLs, or gnn and op-counts, which come with the project; none is
    all that do."""
    best_known: bool = True
    """Whether to measure the least op counts that are known, where they are."""
    references: tuple[str, ...] = ("xla-simplify", "xla-cpu")
    """Reference pipelines to measure."""
    compilations: int = 3
    """Times that both modules of a pair are compiled, in turn; compile times are medians of them,
    and the first ones run."""
    repetitions: int = 30
    """Pairs of samples for each benchmark and method."""
    sample_seconds: float = 0.002
    """A sample is the median over as many runs as take so long; a slower module runs once."""
    pair_seconds: float = 2.0
    """After so long no more samples are taken for one benchmark and method."""
    samples: int = 1
    """Random inputs on which each result is compared with its original; 0 does not compare."""
    flop_limit: float = 1e10
    """Benchmarks with more floating-point operations in a run are left out, and named."""
    step_seconds: float = 300.0
    """A check, or a compilation with its runs, may take so long."""
    memory_gib: float = 6.0
    """Resident memory of the process that compiles and runs."""
    num_workers: int | None = None
    """Processes that play policies, one a core by default; one alone takes times."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/. One that was not finished goes on."""

    def __post_init__(self) -> None:
        """Refuses to compile nothing."""
        if self.compilations < 1:
            raise ValueError(f"--compilations: expected at least 1, got {self.compilations}")


PRESETS: dict[str, Config] = {
    "quick": Config(),
    "full": Config(
        preset="full",
        seeds=(0, 1, 2),
        op_limit=5_000,
        count=120,
        repetitions=48,
        sample_seconds=0.01,
        pair_seconds=20.0,
        samples=2,
        flop_limit=1e11,
    ),
}


def run(config: Config, folder: Path, make_worker: "MakeWorker | None" = None) -> "Study":
    """Makes the study.

    Args:
        config: The settings.
        folder: Where what was measured is kept meanwhile, so that a run can go on.
        make_worker: Makes what measures, in its process; by default that of ``runtime_worker``.

    Raises:
        HloError: A checkpoint is damaged.
        ValueError: It was made with other passes.
        OSError: It cannot be read.
    """
    from experiments.outcomes.benchmarks import held_out_benchmarks
    from experiments.paper.paired_timing import summaries, table
    from experiments.paper.runtime_results import Kept, pairs_of, study
    from experiments.workers.player import training_cost

    names = held_out_benchmarks(config.op_limit, config.count, config.corpus_set, config.split)
    if not names:
        raise HloError(f"no benchmark of {config.split} has at most {config.op_limit} instructions")
    kept = Kept(folder)
    left = [name for name in names if name not in kept.results]
    policies = _policies(config)
    if left:
        _measure(config, kept, left, _methods(config, folder, names, policies), make_worker)
    results = {name: kept.results[name] for name in names}
    print(table(summaries(pairs_of(results))))
    costs = [f"{method}: {training_cost(policy)}" for method, policy in policies.items()]
    return study(config, results, costs)


def _policies(config: Config) -> "dict[str, Checkpoint]":
    """The checkpoints, by what tables call their policies; the second of a kind has a number."""
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.shipped import ORDERING, checkpoint_location, one_of_each
    from experiments.workers.player import LABELS

    found: dict[str, Checkpoint] = {}
    for given in config.checkpoints or one_of_each(kinds=ORDERING):
        checkpoint = Checkpoint.load(checkpoint_location(given))
        number = 1 + sum(other.learner == checkpoint.learner for other in found.values())
        label = LABELS[checkpoint.learner]
        found[label if number == 1 else f"{label} #{number}"] = checkpoint
    return found


def _methods(
    config: Config, folder: Path, names: Sequence[str], policies: "Mapping[str, Checkpoint]"
) -> "Mapping[str, Mapping[str, Outcome | None]]":
    """By method and benchmark what was found; None is to be found by the worker."""
    from experiments.outcomes.best_known import current
    from experiments.outcomes.evaluation import Outcome
    from hlograph import corpus

    methods: dict[str, Mapping[str, Outcome | None]] = {
        method: {o.benchmark: o for o in _played(config, folder, checkpoint, names)}
        for method, checkpoint in policies.items()
    }
    known = {k: v for k, v in current().items() if k in names} if config.best_known else {}
    if known:
        starts = {b.name: b.op_count for b in corpus.load()}
        methods[BEST_KNOWN] = {
            name: Outcome(name, starts[name], best.op_count, best.passes, len(best.passes))
            for name, best in known.items()
        }
    return methods | {reference: dict.fromkeys(names) for reference in config.references}


def _played(
    config: Config, folder: Path, checkpoint: "Checkpoint", names: Sequence[str]
) -> "list[Outcome]":
    """What a checkpoint's policy makes of benchmarks when it is played greedily."""
    from experiments.workers.player import player

    with player(checkpoint, folder, num_workers=config.num_workers) as play:
        return play.crew.play(checkpoint.learner, play.policy, names)


def _measure(
    config: Config,
    kept: "Kept",
    names: Sequence[str],
    methods: "Mapping[str, Mapping[str, Outcome | None]]",
    make_worker: "MakeWorker | None",
) -> None:
    """Measures benchmarks one after the other in a process of their own."""
    from experiments.paper.runtime_worker import Candidate, TimeBenchmark, measure, timing_pool
    from hlograph.execution.equivalence import Limits

    tasks = [
        TimeBenchmark(
            benchmark=name,
            candidates=[Candidate(m, found[name]) for m, found in methods.items() if name in found],
            seeds=config.seeds,
            compilations=config.compilations,
            pairs=config.repetitions,
            samples=config.samples,
            sample_seconds=config.sample_seconds,
            pair_seconds=config.pair_seconds,
            step_seconds=config.step_seconds,
            limits=Limits(compiled_ops=2 * config.op_limit, flops=config.flop_limit),
        )
        for name in names
    ]
    with timing_pool(config.step_seconds, config.memory_gib, make_worker) as pool:
        for benchmark, results in tqdm(measure(pool, tasks), total=len(tasks), unit="benchmark"):
            kept.add(benchmark, results)
