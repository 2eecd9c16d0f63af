"""How far rewards of measured run time can be trusted here: modules timed beside themselves.

    python -m tests.campaigns.run_time_noise
    python -m tests.campaigns.run_time_noise --benchmarks dqn/q-mlp/grad --repeats 50

A module is compiled again for each repeat and timed in turn with its first compilation, with the
settings of the rewards (envs.RunTimes). Without noise every ratio were 1, and every reward 0.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from hlograph.errors import HloError

_REFUSED = 2


@dataclass(frozen=True)
class NoiseConfig:
    """Settings of the measurement."""

    benchmarks: tuple[str, ...] = (
        "loss/fenchel-young/grad",
        "rnn/lstm-l1-h32/forward-b4-s24",
        "cnn/haiku-batch/forward",
        "dqn/q-mlp/grad",
        "stax/residual-2/forward-b4",
        "kmeans/k4/fit-n64",
    )
    """Names of the corpus, or paths of HLO files."""
    repeats: int = 20
    """Compilations of each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what a command line asks for.

    Returns:
        Exit status: 0, or 2 if a benchmark does not run.
    """
    prog = "python -m tests.campaigns.run_time_noise"
    config = tyro.cli(NoiseConfig, args=arguments, prog=prog, description=__doc__)
    try:
        _measure(config)
    except (HloError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _REFUSED
    return 0


def _measure(config: NoiseConfig) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from tqdm import tqdm

    from envs.run_times import RunTimes, Start
    from experiments.outcomes.benchmarks import load

    table = Table("benchmark", "sd", "90 % within", "worst", title="rewards of a module for itself")
    for benchmark in tqdm(config.benchmarks, disable=None):
        times, module = RunTimes(), load(benchmark)
        start = Start(module, module)
        times.check(start)
        rewards = [100 * (1 - times.again(start).ratio) for _ in range(config.repeats)]
        sizes = np.abs(rewards)
        figures = (np.std(rewards), np.quantile(sizes, 0.9), np.max(sizes))
        table.add_row(benchmark, *(f"{figure:.1f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
