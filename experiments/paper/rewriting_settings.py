"""Settings of the comparison of rewriting methods."""

from dataclasses import dataclass
from typing import Literal

from experiments.paper.settings import ExperimentConfig


@dataclass(frozen=True)
class RewritingConfig(ExperimentConfig):
    """Settings of the comparison of rewriting methods."""

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
    compilations: int = 1
    """Times that both modules of a pair are compiled, in turn; the first ones run."""
    repetitions: int = 30
    """Pairs of samples for each benchmark and timed trial."""
    sample_seconds: float = 0.002
    """Duration of a sample, in runs of a module, of which the median counts; a slower module runs
    once."""
    pair_seconds: float = 0.5
    """Time after which no more samples are taken for one benchmark and trial."""


PRESETS = {
    "quick": RewritingConfig(),
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
