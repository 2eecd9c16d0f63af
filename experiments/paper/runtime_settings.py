"""Settings of the experiment on run times."""

from dataclasses import dataclass

from experiments.paper.settings import ExperimentConfig
from hlograph.corpus.shipped import CorpusSet, Split

BEST_KNOWN = "best known"
"""Method that takes the least op counts that any search has found."""


@dataclass(frozen=True)
class RuntimeConfig(ExperimentConfig):
    """Settings of the experiment."""

    seeds: tuple[int, ...] = (0,)
    """Seeds of the random inputs that modules run on; each gets an equal share of the pairs."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are from; None is all but speed."""
    split: Split = "test-unseen"
    """Split of the corpus that benchmarks are from."""
    op_limit: int = 700
    """Benchmarks with more instructions are left out: most of the time goes into compiling."""
    count: int | None = 28
    """Number of benchmarks, evenly over families; None is all."""
    checkpoints: tuple[str, ...] = ()
    """Policies to measure: paths, URLs or names; none is gnn and op-counts, which come with the
    project."""
    best_known: bool = True
    """True to measure the least op counts that are known, where they are."""
    references: tuple[str, ...] = ("xla-simplify", "xla-cpu")
    """Reference pipelines to measure."""
    compilations: int = 3
    """Times that both modules of a pair are compiled, in turn; compile times are medians of them,
    and the first ones run."""
    repetitions: int = 30
    """Pairs of samples for each benchmark and method."""
    sample_seconds: float = 0.002
    """Duration of a sample, in runs of a module, of which the median counts; a slower module runs
    once."""
    pair_seconds: float = 2.0
    """Time after which no more samples are taken for one benchmark and method."""
    samples: int = 1
    """Random inputs on which each result is compared with its original; 0 does not compare."""
    flop_limit: float = 1e10
    """Benchmarks with more floating-point operations in a run are left out, and named."""
    step_seconds: float = 300.0
    """Time limit of a check, and of a compilation with its runs; a method that exceeds it is left
    out."""
    memory_gib: float = 6.0
    """Limit of resident memory of the process that compiles and runs."""
    num_workers: int | None = None
    """Processes that play policies; None is one a core. A single process takes times."""

    def __post_init__(self) -> None:
        """Raises ValueError if nothing would be compiled."""
        if self.compilations < 1:
            raise ValueError(f"--compilations: expected at least 1, got {self.compilations}")


PRESETS = {
    "quick": RuntimeConfig(),
    "full": RuntimeConfig(
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
