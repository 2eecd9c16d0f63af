"""Compares fusion policies that learn nothing with XLA:CPU's own fusion: kernels and run time.

    python -m experiments.paper.fusion_baselines                              # ten small benchmarks
    python -m experiments.paper.fusion_baselines --benchmarks cnn/haiku-batch/forward --seed 1

Each policy plays one episode of hlograph/PassDecisions-v0. Its module is compiled with the fusions
that it chose, and timed in turn with the module that XLA compiles by default.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.evaluate.run_folder import run_program

if TYPE_CHECKING:
    from envs.fusion_policies import FusionPolicy


@dataclass(frozen=True)
class FusionBaselinesConfig:
    """Settings of the comparison of fusion policies."""

    benchmarks: tuple[str, ...] = (
        "loss/fenchel-young/grad",
        "rnn/lstm-l1-h32/forward-b4-s24",
        "cnn/haiku-batch/forward",
        "capsule/t1/forward",
        "neural-process/mean/forward",
        "molecular-dynamics/correlation/measure",
        "dqn/q-mlp/grad",
        "stax/residual-2/forward-b4",
        "kmeans/k4/fit-n64",
        "graph-network/relation/grad",
    )
    """Names of the corpus, or paths of HLO files."""
    seed: int = 0
    """Seed of the policy that draws at random, and of the inputs."""
    pairs: int = 20
    """Pairs of runs that are timed."""
    sample_seconds: float = 0.02
    """Duration of a sample, in runs of a module."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison of a command line.

    Returns:
        Exit status: 0, or 2 if a benchmark cannot be compiled.
    """
    prog = "experiments.paper.fusion_baselines"
    return run_program(_compare, FusionBaselinesConfig, prog, __doc__, arguments)


def _compare(config: FusionBaselinesConfig) -> int:
    from rich.console import Console
    from rich.table import Table
    from tqdm import tqdm

    from experiments.train.kernel_table import heuristics

    policies = heuristics(config.seed)
    table = Table("benchmark", "XLA", *policies, title="kernels (times XLA's speed)")
    for benchmark in tqdm(config.benchmarks, disable=None):
        table.add_row(benchmark, *_measure(config, benchmark, policies.values()))
    Console().print(table)
    return 0


def _measure(
    config: FusionBaselinesConfig, benchmark: str, policies: "Iterable[FusionPolicy]"
) -> list[str]:
    from envs.fusion_policies import play
    from envs.pass_decisions import PassDecisionsEnv
    from experiments.evaluate.fusion_comparison import FusionComparison

    env = PassDecisionsEnv(benchmark, observation="op_counts", horizon=100_000)
    beside = FusionComparison(benchmark, config.seed, 0, config.pairs, config.sample_seconds)
    cells = [str(beside.xla.kernels)]
    for policy in policies:
        env.reset()
        play(env, policy)
        chosen = beside.of(env.module)
        cells.append(f"{chosen.kernels} ({chosen.speed:.2f})")
    return cells


if __name__ == "__main__":
    sys.exit(main())
