"""Times a program of jaxlib and its version in PyTorch, in turns in one process.

The libraries' threads wait for work by spinning for some milliseconds after a call. A call of the
other library would meet them, so each measurement begins with a pause and an untimed call.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from benchmarks.beside_torch.model import Compiler, Model
from benchmarks.beside_torch.program import Program, agreement, arguments_of, eager
from benchmarks.beside_torch.settings import Settings
from benchmarks.timing import Call, interleaved
from experiments.tune.races import TuningRace, raced
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.execution.bootstrap import Interval
from hlograph.plans import Plan

JAX, EAGER, COMPILED, PLANNED = "jax", "eager", "compiled", "planned"

MOST_CALLS = 200
"""Calls in one measurement at most."""


@dataclass(frozen=True)
class Row:
    """Times of one program in both libraries."""

    program: str
    jax_ms: Interval
    eager_ms: Interval
    compiled_ms: Interval | None
    """Time of `torch.compile`, if it was measured."""
    over_eager: Interval
    """Time of jaxlib over that of eager PyTorch, round by round; above 1 XLA is slower."""
    over_compiled: Interval | None
    jax_compile_s: float
    """Compilation by jaxlib, in seconds."""
    torch_compile_s: float | None
    """Compilation by inductor with an empty cache, in seconds: the first call."""
    difference: float
    """Largest relative difference of PyTorch's outputs from jaxlib's."""
    rounds: int
    planned_ms: Interval | None = None
    """Time of jaxlib with a plan, if one was searched for and found."""
    planned_over_eager: Interval | None = None
    """The same over that of eager PyTorch."""
    decisions: str = ""
    """The plan in words."""


def measure(model: Model, settings: Settings, plan: Plan | None = None) -> Row:
    """Compares and times one program.

    Args:
        model: The version in PyTorch.
        settings: Settings of the run.
        plan: A plan of the program, to be measured, too; None or an empty one is not.

    Raises:
        DisagreementError: The version in PyTorch computes something else.
    """
    program = Program.named(model.name, settings.seed)
    arguments = arguments_of(model, program)
    compilers: dict[str, Compiler] = {EAGER: eager}
    if settings.compile:
        # What another program compiled must not count as a recompilation of this one.
        torch.compiler.reset()
        compilers[COMPILED] = torch.compile
    runs: dict[str, Callable[[], object]] = {JAX: program.run}
    if plan is not None and not plan.is_empty:
        runs[PLANNED] = program.planned(plan)
    first_seconds, differences = {}, []
    for name, compiler in compilers.items():
        runs[name] = partial(model.call, model.build(compiler), arguments)
        begun = time.perf_counter()
        outputs = runs[name]()
        first_seconds[name] = time.perf_counter() - begun
        differences.append(agreement(model, program, outputs))
    calls = {name: _call(run, settings) for name, run in runs.items()}
    timings = interleaved(calls, settings.rounds, settings.budget)

    def ms(name: str) -> Interval | None:
        return timings.of(name, 1e3) if name in runs else None

    return Row(
        program=model.name,
        jax_ms=timings.of(JAX, 1e3),
        eager_ms=timings.of(EAGER, 1e3),
        compiled_ms=ms(COMPILED),
        over_eager=timings.ratio(JAX, EAGER),
        over_compiled=timings.ratio(JAX, COMPILED) if COMPILED in runs else None,
        jax_compile_s=program.compile_seconds,
        torch_compile_s=first_seconds.get(COMPILED),
        difference=max(differences),
        rounds=len(timings.seconds[JAX]),
        planned_ms=ms(PLANNED),
        planned_over_eager=timings.ratio(PLANNED, EAGER) if PLANNED in runs else None,
        decisions="; ".join(plan.summary()) if plan is not None and PLANNED in runs else "",
    )


def warm_compiler() -> None:
    """Compiles something small: the first compilation of a process loads and builds much else."""
    torch.compile(lambda x: torch.tanh(x) + 1.0)(torch.ones(4096))
    torch.compiler.reset()


def _call(run: Callable[[], object], settings: Settings) -> Call:
    """Returns a call that runs as often as fills a measurement."""
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    number = math.ceil(settings.sample_seconds / max(min(seconds), 1e-6))

    def rested() -> None:
        time.sleep(settings.pause)
        run()

    return Call(lambda _: run(), rested, max(1, min(number, MOST_CALLS)))


def plan_of(name: str, settings: Settings) -> Plan:
    """Returns the plan of a program: of an earlier run, or that of a search now.

    Args:
        name: Name of the program.
        settings: Settings of the run.

    Raises:
        HloError: The search failed.
    """
    program = corpus.load("speed")[name]
    race = TuningRace(program, settings.out.with_suffix(""), settings.search, seed=settings.seed)
    result = race.result()
    if result is None:
        result = raced(race)
        result.save(race.folder)
    if result.plan is None:
        raise HloError(f"no plan of {name}: {result.error}")
    return result.plan
