"""Joins a Ray cluster, or starts one on this machine."""

import logging
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Ray reads them when it is imported or started: it sends nothing anywhere, workers without a GPU
# keep their variables, and workers are as little nice as processes without Ray.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")

import ray
from ray.exceptions import RaySystemError

from hlograph.errors import HloError

_OBJECT_STORE = 256 << 20
"""Bytes of shared memory for what tasks and results hold, of a cluster of this machine alone.

A rollout of 16 environments takes some MiB; Ray writes to disk what does not fit."""

_ANSWER_WITHIN = 10.0  # seconds


@contextmanager
def cluster(address: str | None, workers: int | None) -> Iterator[int]:
    """Joins a cluster, or starts one on this machine; leaves or stops it in the end.

    A program that is already in a cluster stays in that one.

    Args:
        address: ``host:port`` of the cluster's head; "auto" for the cluster that this machine is a
            node of; None to start one.
        workers: Workers that are wanted; None is one for each CPU of the cluster.

    Yields:
        The number of workers to have.

    Raises:
        HloError: There is no cluster at the address, or not with the same Ray and Python.
        ValueError: Less than one worker is wanted.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"expected at least 1 worker, got {workers}")
    with _connected(address, workers):
        yield workers or max(1, int(ray.cluster_resources().get("CPU", 0)))


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    folder = None
    try:
        if address is None:
            # Short, for the sockets in it have names that the kernel limits.
            folder = tempfile.mkdtemp(prefix="hlograph-ray-")
            cpus = workers or len(os.sched_getaffinity(0))
            _init(
                address="local",
                num_cpus=cpus,
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                _temp_dir=folder,
            )
        else:
            _join(address)
        yield
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _join(address: str) -> None:
    try:
        if address != "auto":
            # Ray itself would try for minutes.
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), _ANSWER_WITHIN).close()
        _init(address=address)
    except (OSError, RuntimeError, ValueError, RaySystemError) as error:
        raise HloError(
            f"--ray-address: there is no Ray cluster at {address!r} that this machine is a node "
            "of, with this version of Ray and Python. Expected auto or host:port of a cluster "
            f"that was started with ray start --head. {type(error).__name__}: {error}"
        ) from error


def _init(**settings: object) -> None:
    """Starts or joins, and keeps the signals' handlers as they were.

    Ray's handler of SIGTERM would end the program before its state is saved.
    """
    before = signal.getsignal(signal.SIGTERM)
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)  # pyright: ignore[reportArgumentType]
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)
