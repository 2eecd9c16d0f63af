"""The setting of a process: what decides, beside the machine, how fast a program runs in it.

Workers are forked from a server, which may have started before the program changed its setting. So
each worker adopts that of the process that asks for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hlograph.execution.process_memory import keep_freed_memory, keeps_freed_memory

# Settings with which jax makes its client of the CPU, and their defaults. Others are part of the
# lowered program, or concern jax's own caches and checks.
_OF_CLIENT = {"jax_num_cpu_devices": -1, "jax_cpu_enable_async_dispatch": True}

# Environment variables that the C library reads when a process starts, and not later.
_AT_START = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")

_STARTING = threading.Lock()


@dataclass(frozen=True)
class ProcessSetting:
    """Setting of a process, which another one on the same machine can adopt. It can be pickled.

    Attributes:
        environment: Environment variables.
        cpus: CPUs that the thread may use, from which XLA takes the number of its threads; empty
            if the system does not say.
        of_client: Settings of jax's client of the CPU, by name; empty before jax is imported.
        keeps_freed_memory: True if the process keeps freed memory.
    """

    environment: Mapping[str, str]
    cpus: frozenset[int]
    of_client: Mapping[str, Any]
    keeps_freed_memory: bool

    @classmethod
    def here(cls) -> Self:
        """Returns the setting of this process, and of this thread."""
        has_affinity = hasattr(os, "sched_getaffinity")
        cpus = frozenset(os.sched_getaffinity(0)) if has_affinity else frozenset()
        return cls(dict(os.environ), cpus, _settings_of_client(), keeps_freed_memory())

    def adopt(self) -> None:
        """Gives this process the setting, which must have no client of jax yet.

        What the C library reads at the start of a process is that of the process already; see
        ``environment_at_start``.
        """
        os.environ.clear()
        os.environ.update(self.environment)
        if "jax" in sys.modules or any(
            value != _OF_CLIENT[name] for name, value in self.of_client.items()
        ):
            self._set_client()
        if self.cpus:
            with contextlib.suppress(OSError):  # CPUs that were taken away meanwhile
                os.sched_setaffinity(0, self.cpus)
        if self.keeps_freed_memory:
            keep_freed_memory()

    def _set_client(self) -> None:
        import jax

        for name, value in self.of_client.items():
            if jax.config.values[name] != value:
                jax.config.update(name, value)


def environment_at_start() -> dict[str, str]:
    """Returns the environment for a process that allocates memory as this one does.

    It has the variables of now, but those that the C library reads when a process starts are the
    ones that this process has started with.
    """
    now = {name: value for name, value in os.environ.items() if not name.startswith(_AT_START)}
    return now | _read_at_start()


@contextlib.contextmanager
def starting_a_process() -> Iterator[None]:
    """Has a process that is started in the block read what this one has read at its start."""
    with _STARTING:
        before = dict(os.environ)
        changed = environment_at_start() != before
        try:
            if changed:
                _replace_environment(environment_at_start())
            yield
        finally:
            if changed:
                _replace_environment(before)


def _replace_environment(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() | environment.keys():
        if name.startswith(_AT_START):
            os.environ.pop(name, None)
            if name in environment:
                os.environ[name] = environment[name]


def _read_at_start() -> dict[str, str]:
    """Returns the variables that the C library has read when this process started."""
    try:
        content = Path("/proc/self/environ").read_bytes()
    except OSError:  # not on Linux
        return {n: value for n, value in os.environ.items() if n.startswith(_AT_START)}
    pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0") if entry)
    return {name: value for name, _, value in pairs if name.startswith(_AT_START)}


def _settings_of_client() -> dict[str, Any]:
    if "jax" not in sys.modules:
        return {}
    values = sys.modules["jax"].config.values
    return {name: values[name] for name in _OF_CLIENT if name in values}
