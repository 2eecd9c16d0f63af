"""Plans beside a busy loop: which of two plans leads, by times as they are and as they count.

On two CPUs a niced loop slows a default of two threads, and leaves alone a plan of one.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.speed_rules.catalogue import chosen
from benchmarks.speed_rules.measuring import planned
from hlograph.execution import lock
from hlograph.execution.bootstrap import Interval
from hlograph.execution.load import LoadMeter
from hlograph.execution.runs import Run
from hlograph.execution.turns import Turns, in_turns
from hlograph.measuring.samples import Samples
from hlograph.plans import Placement, Plan, Program, compile_program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint
from hlograph.plans.placing.placements import placements_of

TITLE = "Plans on a busy machine"

_CASE = "depthwise-as-products: 4x512x256, 4 taps over time"
_DEFAULT, _RULE, _ONE = "default", "rule alone", "rule, one partition"
_ALONE, _BUSY = "no loop", "a loop beside"
_LEAST = 6


def measure(settings: Settings) -> Iterator[Figure]:
    """Times the default and two plans in turns, without and with a loop beside them."""
    program, plans = _plans()
    inputs = Samples(program, None, settings.seed).usual[0].inputs
    blocks = [Run(compile_program(program, plan), inputs).seconds for plan in plans.values()]
    for column in _COLUMNS:
        beside = _niced_loop() if column == _BUSY else contextlib.nullcontext()
        with lock.alone(), beside:
            turns = in_turns(
                blocks,
                turns=12 * settings.rounds,
                block_seconds=0.01,
                max_seconds=2 * settings.budget,
                least=_LEAST,
                read=LoadMeter(),
            )
        yield from _figures(turns, list(plans), column)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    del settings
    return {"all": f"{_CASE}: `depthwise-as-products` on shapes of `jax.lax`", **_COLUMNS}


_COLUMNS = {
    _ALONE: "as busy as the machine was otherwise",
    _BUSY: "with a niced loop (`nice` 5) on one of its CPUs",
}


def _plans() -> tuple[Program, dict[str, Plan]]:
    (case,) = (case for case in chosen(("depthwise-as-products",)) if case.name == _CASE)
    program, rule = planned(case)
    module = optimized_module(program, rule)
    threads = [
        placement for placement in placements_of(module) if placement.decision == "partitions"
    ]
    fusions = dict.fromkeys(placement.instruction for placement in threads)
    alone = tuple(Placement(fusion, "partitions", "1") for fusion in fusions)
    single_threaded = replace(rule, placements=alone, placed=fingerprint(module))
    return program, {_DEFAULT: Plan(), _RULE: rule, _ONE: single_threaded}


def _figures(turns: Turns, names: list[str], column: str) -> Iterator[Figure]:
    count = turns.undisturbed(_LEAST)
    for label, times in ((", as they are", turns.seconds), ("", count.seconds)):
        for name, seconds in zip(names, times.T.tolist(), strict=True):
            figure = Interval.quartiles(1e3 * value for value in seconds)
            yield Figure.of(f"{name}{label}", column, figure, "ms")
        for number in (1, 2):
            ratios = (times[:, 0] / times[:, number]).tolist()
            row = f"{names[0]} / {names[number]}{label}"
            yield Figure.of(row, column, Interval.of_median(ratios), "x")
    for number, name in enumerate(names):
        yield Figure.of(f"load, {name}", column, float(np.median(turns.load[:, number])), "")


@contextlib.contextmanager
def _niced_loop() -> Iterator[None]:
    loop = subprocess.Popen(["nice", "-n", "5", sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.5)
        yield
    finally:
        loop.kill()
        loop.wait()
