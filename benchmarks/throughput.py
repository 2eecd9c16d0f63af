"""Measures steps per second of a random policy in worker processes and in threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from benchmarks.progress import tracked
from benchmarks.random_play import RandomPlay, RandomPlayer, make_player
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import learning_subjects, names_near
from benchmarks.timing import over_fewest
from experiments.workers.pools import PRELOADED
from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerPool
from hlograph.timing.bootstrap import Interval
from hlograph.timing.turns import without_collector

TITLE = "Steps a second of a random policy"
subjects = learning_subjects
PER_CORE = Aim(5_000, at_most=False)
TWO_OVER_ONE = Aim(1.8, at_most=False)


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures kinds of play in numbers of processes and threads that take turns."""
    with ExitStack() as stack:
        pools = {
            count: stack.enter_context(WorkerPool(make_player, count, preloaded=PRELOADED))
            for count in settings.workers
        }
        for size in tracked(settings.learning_sizes):
            names = names_near(size, settings.modules)
            for label, play in _plays(names, settings).items():
                speeds = _speeds_of_pools(pools, play, settings.rounds)
                yield from _figures(f"{label}, worker processes", size, speeds, per_core=True)
            play = _plays(names, settings)[_KEPT]
            speeds = _speeds_of_threads(settings.workers, play, settings.rounds)
            yield from _figures(f"{_KEPT}, threads", size, speeds, per_core=False)


_KEPT = "op counts"


def _plays(names: Sequence[str], settings: Settings) -> dict[str, RandomPlay]:
    play = RandomPlay(names, "op_counts", False, settings.random_seconds, settings.seed)
    return {
        _KEPT: play,
        "op counts, reset forgets": replace(play, forget=True),
        "graph": replace(play, observation="graph"),
    }


def _speeds_of_pools(
    pools: Mapping[int, WorkerPool], play: RandomPlay, rounds: int
) -> dict[int, list[float]]:
    """Returns steps per second by number of processes, round by round."""
    for count, pool in pools.items():
        list(pool.map([replace(play, seconds=0.0)] * count * 2))
    speeds: dict[int, list[float]] = {count: [] for count in pools}
    for number in range(rounds):
        for count, pool in pools.items():
            tasks = [replace(play, seed=play.seed + number * 97 + n) for n in range(count)]
            start = time.perf_counter()
            steps = sum(_completed(done) for _, done in pool.map(tasks))
            speeds[count].append(steps / (time.perf_counter() - start))
    return speeds


def _completed(done: int | WorkerLostError) -> int:
    """Returns the steps of a task; raises what ended its worker."""
    if isinstance(done, WorkerLostError):
        raise done
    return done


def _speeds_of_threads(
    counts: Sequence[int], play: RandomPlay, rounds: int
) -> dict[int, list[float]]:
    """Returns steps per second by number of threads, round by round."""
    players = [RandomPlayer() for _ in range(max(counts))]
    for player in players:
        player.warm_up(play)
    speeds: dict[int, list[float]] = {count: [] for count in counts}
    with ThreadPoolExecutor(max(counts)) as threads:
        for number in range(rounds):
            for count in counts:
                plays = [replace(play, seed=play.seed + number * 97 + n) for n in range(count)]
                with without_collector():
                    start = time.perf_counter()
                    running = [threads.submit(p, q) for p, q in zip(players, plays, strict=False)]
                    steps = sum(future.result() for future in running)
                    speeds[count].append(steps / (time.perf_counter() - start))
    return speeds


def _figures(
    what: str, size: int, speeds: Mapping[int, Sequence[float]], *, per_core: bool
) -> Iterator[Figure]:
    column = f"{size:,}"
    for count, found in speeds.items():
        aimed = per_core and count == 1 and size == 1_000 and not what.startswith("graph")
        name = f"{what}: {count}"
        yield Figure.of(name, column, Interval.quartiles(found), "1/s", PER_CORE if aimed else None)
    for count, one, ratio in over_fewest(speeds):
        aim = TWO_OVER_ONE if per_core and (one, count) == (1, 2) else None
        yield Figure.of(f"{what}: {count} over {one}", column, ratio, "x", aim)
