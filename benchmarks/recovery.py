"""Measures the cost of isolation, and the time until a lost worker is replaced.

python -m benchmarks.recovery
"""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from dataclasses import dataclass
from functools import partial

from experiments.policies.kinds import policy_kind
from experiments.training.presets import GNN_PRESETS
from experiments.workers.pools import PRELOADED
from experiments.workers.task_runner import parameters_of
from experiments.workers.tasks import Play
from experiments.workers.worker import Task, make_rollout_worker
from hlograph import corpus
from hlograph.errors import WorkerLostError
from hlograph.isolation import FlightRecorder, WorkerPool
from hlograph.isolation.pass_call import note

LOSSES = 10


@dataclass(frozen=True)
class Pid(Task):
    """Task that returns the worker's process id."""

    def do(self, worker: object) -> int:
        """Returns the process's number."""
        return os.getpid()


def note_microseconds() -> float:
    """Returns the microseconds that noting one pass takes, with 20 passes before it."""
    recorder, applied = FlightRecorder(), ["algsimp"] * 20
    times = []
    for _ in range(2_000):
        start = time.perf_counter()
        recorder.begin(note("dce", "0" * 32, "gpt2/l2-h64/train-adamw-b2-s32", applied))
        recorder.end()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def recoveries() -> tuple[list[float], list[float]]:
    """Returns seconds from a kill to its report, and to the next worker's first episode."""
    config = GNN_PRESETS["quick"]
    kind = policy_kind("gnn", config)
    benchmark = min(corpus.load(split="train"), key=lambda b: abs(b.op_count - 300)).name
    play = Play(
        kind="gnn",
        parameters=parameters_of(kind.new_policy()),
        benchmarks=[benchmark],
    )
    reported, recovered = [], []
    with WorkerPool(partial(make_rollout_worker, config), 1, preloaded=PRELOADED) as pool:
        for _ in range(LOSSES):
            ((_, pid),) = pool.map([Pid()])
            timer = threading.Timer(0.02, os.kill, (pid, signal.SIGKILL))
            timer.start()
            start = time.perf_counter() + 0.02
            while not any(isinstance(r, WorkerLostError) for _, r in pool.map([play])):
                pass
            reported.append(time.perf_counter() - start)
            list(pool.map([play]))
            recovered.append(time.perf_counter() - start)
    return reported, recovered


def main() -> None:
    """Prints the measures."""
    print(f"noting a pass: {note_microseconds():.1f} us")
    reported, recovered = recoveries()
    for what, seconds in (("loss reported", reported), ("next episode played", recovered)):
        print(
            f"{what} after: median {1e3 * statistics.median(seconds):.0f} ms, "
            f"longest {1e3 * max(seconds):.0f} ms, {LOSSES} kills"
        )


if __name__ == "__main__":
    main()
