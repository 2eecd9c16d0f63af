"""Measures how times grow with the size of synthetic modules.

Exponents are slopes between logarithms. Times are processor times: sizes are measured minutes
apart, and other load on the machine must not pass for growth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import hlograph
from benchmarks.labels import EXPONENT, LAST_DECADE
from benchmarks.progress import tracked
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import chain
from benchmarks.timing import Call, interleaved
from benchmarks.timing import exponent as fitted
from envs import PassOrderingEnv
from hlograph.module import Module

TITLE = "Growth with the size of the module"
LINEAR = Aim(1.1)


def sizes_to(largest: int) -> list[int]:
    """Returns the powers of ten from 1,000 on."""
    return [10**power for power in range(3, 10) if 10**power <= largest]


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures all sizes, then fits."""
    sizes = sizes_to(settings.growth_limit)
    medians: dict[str, list[float]] = {}
    for size in tracked(sizes):
        found = interleaved(_calls(size), settings.rounds, settings.budget, time.process_time)
        for name in found.seconds:
            times = found.of(name, 1e3)
            medians.setdefault(name, []).append(times.value)
            yield Figure.of(name, f"{size:,}", times, "ms")
    if len(sizes) > 1:
        for name, times in medians.items():
            yield Figure.of(name, EXPONENT, fitted(sizes, times), "", LINEAR)
            yield Figure.of(name, LAST_DECADE, fitted(sizes[-2:], times[-2:]), "")


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return {
        "all": "synthetic chains of element-wise instructions in layers of eight; "
        "milliseconds of processor time; exponents over all sizes and between the two largest"
    }


def _calls(size: int) -> dict[str, Call]:
    text = chain(size)
    module = Module.from_text(text)
    changed = module.clone()
    changed.run("dce")
    graph = module.graph()
    env = PassOrderingEnv(module, observation="graph", costs=False)
    dce = hlograph.passes.names.index("dce")

    def reset() -> PassOrderingEnv:
        env.reset(seed=0)
        return env

    return {
        "XLA's parser": Call(lambda _: Module.from_text(text)),
        "parse": Call(lambda _: hlograph.parse(text)),
        "module.graph()": Call(lambda _: module.graph()),
        "graph observation": Call(lambda _: module.features()),
        "graph.to_pyg()": Call(lambda _: graph.to_pyg()),
        "clone of a changed module": Call(lambda _: changed.clone()),
        "first fingerprint": Call(
            lambda fresh: fresh.fingerprint(), prepare=lambda: Module.from_text(text)
        ),
        "dce alone": Call(lambda _: changed.run("dce")),
        "first env step (dce)": Call(lambda ready: ready.step(dce), prepare=reset),
    }
