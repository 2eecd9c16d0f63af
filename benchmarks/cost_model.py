"""Measures predictions of the learned cost model beside compilations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import torch

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.timing import Call, interleaved, tracked
from experiments.cost_model.kernel_inputs import kernel_inputs
from experiments.cost_model.predictor import SHIPPED, Predictor
from hlograph import corpus
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.compiling import optimized_module
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.optimized_module import OptimizedModule

TITLE = "Predictions of the cost model"
_LIST, _INPUTS = "kernels listed", "inputs of new kernels"
_NEW, _KNOWN = "prediction, new kernels", "prediction, known kernels"
_COMPILE = "compilation by jaxlib"
_QUICK = Aim(2.0)


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures the parts of a prediction, and a compilation, for programs of some sizes."""
    torch.set_num_threads(settings.threads)
    for size in tracked(settings.learning_sizes):
        yield from _figures(size, settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return {f"{size:,}": _described(size) for size in settings.learning_sizes}


def _figures(size: int, settings: Settings) -> Iterator[Figure]:
    _, program = _nearest(size)
    kernels = _kernels(program)
    known = Predictor.load(SHIPPED)
    known(kernels, {})
    texts = {kernel.text for kernel in kernels}
    calls = {
        _COMPILE: Call(lambda _: compile_program(program, Plan())),
        _LIST: Call(lambda _: _kernels(program)),
        _INPUTS: Call(lambda _: [kernel_inputs(text) for text in texts]),
        _NEW: Call(
            lambda predictor: predictor(kernels, {}),
            lambda: Predictor.load(SHIPPED),
        ),
        _KNOWN: Call(lambda _: known(kernels, {})),
    }
    timings = interleaved(calls, settings.rounds, settings.budget, column=f"{size:,}")
    for name in calls:
        yield timings.ms(name, name, _QUICK if name == _KNOWN and size <= 1_000 else None)
    yield timings.times(f"{_LIST} / {_COMPILE}", _LIST, _COMPILE)


@cache
def _nearest(size: int) -> tuple[str, Program]:
    """Returns the name of a program with about so many optimized instructions, and the program."""
    chosen = min(corpus.load("speed"), key=lambda b: abs((b.op_count_xla_dump or 0) - size))
    return chosen.name, Program.of(chosen.load())


def _kernels(program: Program) -> list[KernelModule]:
    return kernel_modules(OptimizedModule.from_proto(optimized_module(program)))


def _described(size: int) -> str:
    name, program = _nearest(size)
    kernels = _kernels(program)
    distinct = len({kernel.text for kernel in kernels})
    return f"{name}, {len(kernels)} kernels, {distinct} of them distinct"
