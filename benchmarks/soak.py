"""Steps one environment for a long time and samples the memory of its process.

python -m benchmarks.soak --steps 200000 --out docs/soak

Random actions on benchmarks of the whole corpus, graph observations, all caches at their limits.
Writes the samples (.csv) and a plot (.svg). The exit status is 1 if memory still grew after the
warm-up: by more than `--limit-mib` from the second quarter of the run to the last.
"""

from __future__ import annotations

import csv
import io
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import tyro
from tqdm import tqdm

import envs
from hlograph import corpus
from hlograph.decisions.benchmarks import MODULES
from hlograph.storage.atomic_write import write_atomically, write_text_atomically


@dataclass(frozen=True)
class SoakConfig:
    """Settings of a soak."""

    steps: int = 200_000
    """Pass calls."""
    seed: int = 0
    """Seed of benchmarks and actions."""
    op_limit: int = 10**9
    """Largest number of instructions of a benchmark."""
    horizon: int = 40
    """Pass calls in an episode."""
    module_cache_mib: int = 256
    """Limit of the cache of modules."""
    no_op_mib: int = 4
    """Limit of the table of passes without effect."""
    sample_every: int = 500
    """Steps from one sample of memory to the next."""
    limit_mib: float = 64.0
    """Largest growth that counts as flat."""
    out: Path = Path("runs/soak")
    """Name of the files without the suffix."""


Sample = tuple[int, float, float]
"""Steps done, resident MiB, and MiB in the module cache by its own estimate."""


def soak(config: SoakConfig) -> list[Sample]:
    """Steps the environment and returns the samples."""
    MODULES.max_bytes = config.module_cache_mib << 20
    names = corpus.load(max_op_count=config.op_limit).names
    env = envs.PassOrderingEnv(
        names, horizon=config.horizon, no_op_bytes=config.no_op_mib << 20, costs=False
    )
    generator = np.random.default_rng(config.seed)
    process = psutil.Process()
    samples: list[Sample] = []
    _, info = env.reset(seed=config.seed)
    for step in tqdm(range(config.steps), unit="step"):
        actions = np.flatnonzero(info["action_mask"][:-1])
        stop = len(env.passes)
        _, _, ended, cut, info = env.step(generator.choice(actions) if len(actions) else stop)
        if ended or cut:
            _, info = env.reset()
        if step % config.sample_every == 0:
            resident = process.memory_info().rss / 2**20
            samples.append((step, resident, MODULES.size / 2**20))
    return samples


def growth(samples: list[Sample]) -> float:
    """Returns the growth in MiB from the second quarter's median to the last quarter's."""
    quarter = max(len(samples) // 4, 1)
    early, late = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    return median(s[1] for s in late) - median(s[1] for s in early)


def save(samples: list[Sample], config: SoakConfig) -> None:
    """Writes samples and plot."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["step", "resident_mib", "module_cache_mib"])
    writer.writerows((step, f"{r:.1f}", f"{c:.1f}") for step, r, c in samples)
    write_text_atomically(config.out.with_suffix(".csv"), lines.getvalue())

    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "hlograph"
    from matplotlib import pyplot as plt

    steps, resident, cached = zip(*samples, strict=True)
    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    axes.plot(steps, resident, label="resident memory", linewidth=1)
    axes.plot(steps, cached, label=f"module cache (limit {config.module_cache_mib} MiB)")
    axes.set(
        xlabel="steps", ylabel="MiB", ylim=(0, None), title="One environment over the whole corpus"
    )
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    write_atomically(
        config.out.with_suffix(".svg"),
        lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
    )
    plt.close(figure)


def main(config: SoakConfig) -> int:
    """Runs the program."""
    start = time.perf_counter()
    samples = soak(config)
    save(samples, config)
    grown = growth(samples)
    seconds = time.perf_counter() - start
    resident = [s[1] for s in samples]
    print(
        f"{config.steps} steps in {seconds:.0f} s, seed {config.seed}: resident memory at most "
        f"{max(resident):.0f} MiB, {resident[-1]:.0f} at the end; from the second quarter to the "
        f"last it grew by {grown:.0f} MiB (limit {config.limit_mib:g})"
    )
    return int(grown > config.limit_mib)


if __name__ == "__main__":
    sys.exit(main(tyro.cli(SoakConfig, description=__doc__)))
