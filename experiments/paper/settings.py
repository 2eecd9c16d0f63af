"""Settings of the studies that train nothing, of which most play policies.

Nothing here imports torch or the engine: command lines are built from these classes.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.policies.config import Workers
from hlograph.corpus.shipped import CorpusSet, Split

BEST_KNOWN = "best known"
"""Method that takes the least op counts that any search has found."""
_TRAINING_SEED = re.compile(r" \(training seed \d+\)")


def same_time(method: str) -> str:
    """Returns the name in tables of random search that had the wall time of a method."""
    return f"random search, time of {method}"


def without_training_seed(name: str) -> str:
    """Returns the name of a policy, or of a method with it, without the seed of the training."""
    return _TRAINING_SEED.sub("", name)


@dataclass(frozen=True)
class ExperimentConfig:
    """Settings of experiments that train nothing."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all other settings: quick takes minutes on two cores, full takes a
    night."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the methods that draw at random."""
    workers: Workers = "processes"
    """Place of the work: in processes of this machine, in actors of a Ray cluster, or, to
    debug, in this process."""
    num_workers: int | None = None
    """Number of workers; None is one a core."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/. An unfinished run of the same
    experiment in it is continued."""


@dataclass(frozen=True)
class CheckpointsConfig(ExperimentConfig):
    """Settings of experiments that play checkpoints."""

    seeds: tuple[int, ...] = (0,)
    """Seeds of the episodes after the first, where several are played, one for each checkpoint in
    turn; the trials' seeds are those of the trainings."""
    checkpoints: tuple[str, ...] = ()
    """Policies, one checkpoint for each kind and seed of training: paths, URLs or names; none are
    those that come with the project."""
    samples: int = 1
    """Episodes on each benchmark, of which the best is kept; one is greedy."""
    op_limit: int = 3_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 36
    """Number of benchmarks of each group, evenly over families; None is all."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""


@dataclass(frozen=True)
class Figure3Config(CheckpointsConfig):
    """Figure 3 of the paper: GNN and op counts against XLA's own order, benchmark by benchmark.

    Plays trained policies, one checkpoint for each seed, on families that none was trained on. By
    default these are the policies that come with the project.
    """

    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus; the split test-unseen of each is a group of benchmarks."""


@dataclass(frozen=True)
class GeneralisationConfig(CheckpointsConfig):
    """Generalisation of policies to families that they never saw and to larger modules.

    Four groups of benchmarks: `test-seen` (families that training saw, in other configurations),
    `test-unseen` (families and libraries that it did not see), those of `train` that were too large
    to be trained on, and those of both test splits with more than 10,000 instructions. The report
    also groups all of them by size.
    """

    corpus_set: CorpusSet | None = None
    """Set of the corpus that benchmarks are from; None is all but speed."""
    huge_limit: int = 40_000
    """Size limit of the group of benchmarks with more than 10,000 instructions; op_limit is the
    limit of the other groups."""


@dataclass(frozen=True)
class WinConfig(Figure3Config):
    """Settings of the comparison with the aims."""

    samples: int = 16
    """Episodes on each benchmark, of which the best is kept, after the greedy one was played by
    itself."""
    stop_above: float = 0.5
    """Each policy is also played so that it stops where stopping is more probable than this."""


@dataclass(frozen=True)
class SearchComparisonConfig(ExperimentConfig):
    """Searches at equal budgets: the same number of pass calls, or of seconds, for each method.

    Random, greedy, beam and evolutionary search, local search from the reference pipelines, and
    searches that follow a trained policy, on families that no policy was trained on.
    """

    seeds: tuple[int, ...] = (0, 1, 2)
    """Each method that draws at random searches each benchmark once with each seed; a method that
    draws nothing, or only breaks ties, searches once, with the first seed."""
    methods: tuple[str, ...] = ("random", "greedy", "beam-4", "evolution", "local")
    """Searches without a policy."""
    guided: tuple[str, ...] = ("policy-greedy", "policy", "policy-beam", "mcts")
    """Searches with a policy, each with every checkpoint; policy-greedy is its one greedy episode,
    whatever the budget."""
    checkpoints: tuple[str, ...] = ()
    """Policies: paths, URLs or names; none are those that come with the project, if there are
    any."""
    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus, each a group of benchmarks for each budget."""
    split: Split = "test-unseen"
    """Split that benchmarks are from. Settings of searches are chosen on validation."""
    op_limit: int = 2_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 6
    """Number of benchmarks of each set, evenly over families; None is all."""
    calls: tuple[int, ...] = (1_000,)
    """Budgets of pass calls for each benchmark."""
    seconds: tuple[float, ...] = (3.0,)
    """Budgets of wall time for each benchmark."""
    limit_seconds: float = 600.0
    """Time limit of a search with a budget of pass calls on one benchmark; the best state that it
    has found until then counts, and the study names it."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    num_workers: int | None = None
    """Searches side by side; None is one for each core that is idle when the run begins. A run that
    is continued keeps the number."""


@dataclass(frozen=True)
class TimedConfig(ExperimentConfig):
    """Settings of experiments that compile modules and run them in turn."""

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

    def __post_init__(self) -> None:
        """Raises ValueError if nothing would be compiled."""
        if self.compilations < 1:
            raise ValueError(f"--compilations: expected at least 1, got {self.compilations}")


@dataclass(frozen=True)
class RuntimeConfig(TimedConfig):
    """Run times of modules before and after optimisation (section 5.1.2 of the paper).

    XLA:CPU compiles each benchmark as it is and as each method left it. Both run in turn in one
    process and are compared pair by pair. XLA:CPU runs all of its own passes on both, so only the
    difference that remains after them is measured. A module that is compared with itself shows the
    noise. Measure on a machine that does nothing else.

    Methods are policies, played greedily, the least op counts that are known, and XLA's own orders.
    A result counts after it was verified and compared with its original on random inputs.
    """

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


@dataclass(frozen=True)
class RewritingConfig(TimedConfig):
    """Single rewrites instead of passes: searches, equality saturation and policies beside XLA.

    The methods of X-RLflow, Tensat and HloEnv, with XLA's own code for the rewrites, on inference
    graphs of the kind that they use. Every result is verified, compared with its original on random
    inputs, compiled by XLA:CPU and run in turn with it. Take times on a machine that does nothing
    else.
    """

    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of methods that draw at random; the trials of a policy have those of its training."""
    benchmarks: tuple[str, ...] = (
        "bert/bert-to-gpt2-l1-h32/forward-b2-s8",
        "gpt2/vit-to-gpt2-l1-h32/forward-b2-s8",
        "resnet/basic-1x1/forward-b2",
        "vit/keras-hub-vit-l1/forward-b2",
        "t5/keras-hub-t5-body-l1-h32/forward-b2-s16",
        "mobilenet/v1-a0.25/forward-b2",
        "efficientnet/keras-short-v2-3blocks/forward-b2",
    )
    """BERT, GPT-2, ResNet, ViT, T5, and two more convolutional nets."""
    other_benchmarks: tuple[str, ...] = (
        "gpt2/lora-l2-h32/forward-b2-s16",
        "resnet/keras-hub-basic/forward-b2",
        "vit/keras-hub-dinov2-l2/forward-b2",
        "efficientnet/keras-short-v1-3blocks/forward-b2",
    )
    """Other benchmarks of the same families, with other shapes and depths, as their own group."""
    methods: tuple[str, ...] = (
        "random",
        "greedy",
        "beam-4",
        "mcts",
        "saturation",
        "simplify+saturation",
    )
    """Searches without a policy, and equality saturation, of the program as it is or of the result
    of xla-simplify."""
    references: tuple[str, ...] = ("xla-cpu", "xla-simplify")
    """XLA's orders of passes; their results are estimated and timed like all others."""
    guided: tuple[str, ...] = ("policy", "mcts")
    """Methods with each policy: policy is its one greedy episode."""
    checkpoints: tuple[str, ...] = (
        "rewrites-seed0",
        "rewrites-seed1",
        "rewrites-seed2",
        "rewrites-cost-seed0",
    )
    """Policies of `train rewrites`, one for each seed of training: paths, URLs, or names of those
    that come with the project. They are in the group of the objective that they were rewarded
    for."""
    objectives: tuple[Literal["op-count", "cost"], ...] = ("op-count", "cost")
    """Quantities to minimise: a group of trials for each."""
    calls: int = 500
    """Rewrites that a search may apply to each benchmark."""
    seconds: float | None = 4.0
    """Budget of wall time of a search for each benchmark; None is the time limit alone."""
    limit_seconds: float = 600.0
    """Time limit of any method for each benchmark. A search or a policy's episode that reaches it
    counts with the best state found until then, and the study names it. A method that does not stop
    five minutes later is ended and counts as the unchanged benchmark."""
    extraction_seconds: float = 4.0
    """Wall time of equality saturation's integer program for each benchmark."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    timed_trials: int = 1
    """Trials of each method whose results are timed; 0 takes no times."""


FIGURE3 = {
    "quick": Figure3Config(),
    "full": Figure3Config(preset="full", op_limit=50_000, count=None),
}
GENERALISATION = {
    "quick": GeneralisationConfig(count=24, op_limit=4_000),
    "full": GeneralisationConfig(preset="full", count=None, op_limit=50_000),
}
WIN = {
    "quick": WinConfig(count=18, checks=1),
    "full": WinConfig(preset="full", op_limit=50_000, count=None),
}
SEARCH = {
    "quick": SearchComparisonConfig(checkpoints=("gnn", "op-counts"), count=4),
    "full": SearchComparisonConfig(
        preset="full",
        op_limit=8_000,
        count=40,
        calls=(1_000, 10_000),
        seconds=(3.0, 30.0),
        limit_seconds=3_600.0,
    ),
}
RUNTIME = {
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
REWRITING = {
    "quick": RewritingConfig(compilations=1, pair_seconds=0.5),
    "full": RewritingConfig(
        preset="full",
        seeds=(0, 1, 2, 3, 4),
        calls=5_000,
        seconds=None,
        extraction_seconds=120.0,
        timed_trials=3,
        compilations=3,
        repetitions=48,
        sample_seconds=0.01,
        pair_seconds=20.0,
    ),
}
