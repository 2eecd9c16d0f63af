"""The pools of workers that a run's settings ask for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import Any

from experiments.policies.config import TrainConfig
from experiments.workers.worker import RolloutWorker, make_rollout_worker
from hlograph.errors import HloError
from hlograph.isolation import FlightRecorder, InProcessPool, Pool, WorkerLimits, WorkerPool

PRELOADED = (
    "experiments.workers.worker",
    "experiments.workers.preload",
)
"""Modules that workers begin with, so that a new one starts at once."""
MakeWorker = Callable[[TrainConfig, FlightRecorder], RolloutWorker]


def pool_of(config: TrainConfig, make_worker: MakeWorker = make_rollout_worker) -> Pool:
    """Returns the pool of workers that a run's settings ask for.

    Raises:
        HloError: Ray is not installed, or there is no such cluster.
    """
    if config.workers == "in-process":
        return InProcessPool(partial(RolloutWorker, config))
    limits = WorkerLimits(
        seconds=config.pass_seconds, memory=int(config.worker_memory_gib * (1 << 30))
    )
    work = (partial(make_worker, config), config.num_workers, limits, PRELOADED)
    return _ray_pool(*work, config.ray_address) if config.workers == "ray" else WorkerPool(*work)


def _ray_pool(*arguments: Any) -> Pool:
    """Returns a ``RayPool``. Ray is imported here, since its import takes seconds."""
    with needing_ray():
        ray_pool = resolve_name("experiments.workers.ray.pool:RayPool")
    return ray_pool(*arguments)


@contextmanager
def needing_ray() -> Iterator[None]:
    """Says what to install if Ray is not there to be imported.

    Raises:
        HloError: It is not.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise HloError(
            "--workers ray needs Ray, which is not installed: pip install 'hlograph[ray]'"
        ) from error
