"""Measures the noise of rewards for run time: modules are timed against themselves.

    python -m benchmarks.run_time_noise
    python -m benchmarks.run_time_noise --benchmarks dqn/q-mlp/grad --repeats 50

A module is compiled again for each repeat and timed in turn with its first compilation, with the
settings of the rewards (envs.RunTimes). Without noise every ratio would be 1 and every reward 0.
Ctrl-C ends it early, with the rows so far.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from hlograph.errors import HloError

_REFUSED, _INTERRUPTED = 2, 130


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
    """Runs the program.

    Returns:
        Exit status: 0, 2 if a benchmark cannot be read or run, or 130 after Ctrl-C.
    """
    prog = "python -m benchmarks.run_time_noise"
    config = tyro.cli(NoiseConfig, args=arguments, prog=prog, description=__doc__)
    try:
        return _measure(config)
    except (HloError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _REFUSED


def _measure(config: NoiseConfig) -> int:
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from tqdm import tqdm

    from envs.run_times import RunTimes, Start
    from hlograph.decisions.benchmarks import resolve_benchmarks

    headings = "benchmark", "standard deviation", "90 % within", "worst"
    table = Table(*headings, title="rewards of a module timed against itself")
    status = 0
    with tqdm(total=len(config.benchmarks) * config.repeats, unit="compilation") as bar:
        try:
            for benchmark in config.benchmarks:
                module = resolve_benchmarks(benchmark)[0].load()
                times, start = RunTimes(), Start(module, module)
                times.check(start)
                rewards = []
                for _ in range(config.repeats):
                    rewards.append(100 * (1 - times.again(start).ratio))
                    bar.update()
                sizes = np.abs(rewards)
                figures = (np.std(rewards), np.quantile(sizes, 0.9), np.max(sizes))
                table.add_row(benchmark, *(f"{figure:.1f}" for figure in figures))
        except KeyboardInterrupt:
            status = _INTERRUPTED
    Console().print(table)
    return status


if __name__ == "__main__":
    sys.exit(main())
