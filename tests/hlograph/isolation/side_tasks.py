"""Tasks of the tests of ``SideProcess``."""

import functools
import os
import pickle
import signal
import time

from hlograph.errors import HloError
from hlograph.isolation import WorkerPool


def task(function, *args):
    return pickle.dumps(functools.partial(function, *args))


def numbers(count):
    yield from range(count)


def failing():
    yield 1
    raise HloError("expected something else")


def dying():
    yield 1
    os.kill(os.getpid(), signal.SIGSEGV)


class _Priority:
    def __call__(self, recorder):
        return lambda task: (os.getpid(), os.getpriority(os.PRIO_PROCESS, 0))


def endless():
    """Yields the pids and priorities of the process and of a worker of it, and then waits."""
    with WorkerPool(_Priority(), 1) as pool:
        ((_, worker),) = pool.map([None])
        yield (os.getpid(), os.getpriority(os.PRIO_PROCESS, 0)), worker
        time.sleep(1000)
