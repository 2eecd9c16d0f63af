"""Parses, graphs and steps one synthetic module, and prints the peak memory.

    python -m benchmarks.peak_memory INSTRUCTIONS

A process of its own for each size: memory that was freed before would hide what is taken now.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hlograph
from benchmarks.subjects import chain
from envs import PassOrderingEnv
from hlograph.module import Module

_STATUS = Path("/proc/self/status")
_PEAK, _NOW = "VmHWM", "VmRSS"


def memory(line: str) -> float:
    """Returns the MiB in one line of the process's status."""
    for text in _STATUS.read_text(encoding="ascii").splitlines():
        name, _, value = text.partition(":")
        if name == line:
            return int(value.split()[0]) / 1024
    raise hlograph.HloError(f"expected a line {line} in {_STATUS}; this needs Linux")


def peaks(instructions: int) -> dict[str, float]:
    """Returns peak MiB beyond those of the process before it has a module.

    Returns:
        `parse`: highest by the time that the module is there; `graph`: that its graph is there,
        too; `steps`: that an environment has stepped on it.
    """
    _step(Module.from_text(chain(100)))  # loads all that is loaded on first use
    text = chain(instructions)
    before = memory(_NOW)
    found = {}
    module = Module.from_text(text)
    found["parse"] = memory(_PEAK) - before
    graph = module.graph()
    found["graph"] = memory(_PEAK) - before
    _step(module)
    found["steps"] = memory(_PEAK) - before
    assert graph.num_nodes >= instructions
    return found


def _step(module: Module) -> None:
    env = PassOrderingEnv(module, observation="graph", costs=False)
    env.reset(seed=0)
    for name in ("dce", "algsimp", "cse", "tuple-simplifier"):
        env.step(hlograph.passes.names.index(name))


if __name__ == "__main__":
    print(json.dumps(peaks(int(sys.argv[1]))))
