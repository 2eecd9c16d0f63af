"""Measures the corpus: opening it, parsing one module, iterating in threads.

python -m benchmarks.corpus
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from hlograph import corpus
from hlograph.corpus import shipped

SIZES = (100, 1_000, 10_000)
SAMPLE = 200

OPENING = """
import time
from hlograph import corpus
start = time.perf_counter()
benchmarks = corpus.load("gpt2-train", split="train")
opened = time.perf_counter()
module = min(benchmarks, key=lambda b: abs(b.op_count - 1000)).load()
loaded = time.perf_counter()
module = min(benchmarks, key=lambda b: abs(b.op_count - 1000)).load()
print(opened - start, loaded - opened, time.perf_counter() - loaded)
"""


def new_process() -> list[float]:
    """Returns the median milliseconds of the first steps in a process, over five processes.

    These are: reading the manifest; the first module, with the engine's libraries; the second.
    """
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", OPENING], capture_output=True, text=True, check=True
        )
        times.append([float(word) * 1e3 for word in done.stdout.split()])
    return [statistics.median(column) for column in zip(*times, strict=True)]


def load_ms(benchmark: corpus.Benchmark) -> float:
    """Returns the median time to open one module."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        benchmark.load()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def workers_ratio(benchmarks: corpus.BenchmarkSet) -> float:
    """Returns the speed of two workers over one at opening modules and making graphs."""

    def seconds(workers: int) -> float:
        start = time.perf_counter()
        for _ in benchmarks.map(lambda b: b.load().graph(), workers=workers):
            pass
        return time.perf_counter() - start

    return statistics.median(seconds(1) / seconds(2) for _ in range(5))


def main() -> None:
    """Prints all figures."""
    manifest, first, second = new_process()
    print(f"in a new process: corpus.load {manifest:.1f} ms, first module {first:.0f} ms (with")
    print(f"XLA's libraries), the next {second:.1f} ms")
    everything = corpus.load()
    for size in SIZES:
        near = min(everything, key=lambda b: abs(b.op_count - size))
        print(f"load of {near.op_count:,} instructions: {load_ms(near):.2f} ms")
    start = time.perf_counter()
    shipped._manifest.cache_clear()
    corpus.manifest()
    print(f"corpus.manifest(): {(time.perf_counter() - start) * 1e3:.0f} ms")
    some = corpus.load(max_op_count=3_000)[:: max(1, len(everything) // SAMPLE)]
    print(f"two workers over one, {len(some)} modules to graphs: {workers_ratio(some):.2f}")


if __name__ == "__main__":
    main()
