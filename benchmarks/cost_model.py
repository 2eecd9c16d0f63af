"""Measures predictions of the learned models beside compilations, and beside torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import torch

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.timing import Call, interleaved, tracked
from experiments.cost_model.examples import TableColumns
from experiments.cost_model.model import new_model, weights_of
from hlograph import corpus
from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import descended, log_ratios
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_inputs import kernel_inputs
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.kernel_trees import KernelTrees
from hlograph.profiling.learned_seconds import LearnedKernels
from hlograph.profiling.learned_weights import LearnedWeights
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.reading.parsers import parse_text
from models.config import CostModelConfig
from models.cost_model import CostModel

TITLE = "Predictions of the cost model"
_COMPILE, _LIST = "compilation by jaxlib", "kernels listed"
_NEW, _TORCH = "prediction, new kernels", "the same network by torch, new kernels"
_KNOWN, _HUNDRED = "prediction, known kernels", "prediction, 100 known kernels"
# Of all distinct kernels, shown for one.
_PARSE, _INPUTS = "a new kernel: XLA's parser", "a new kernel: its inputs"
_ONE = "a new kernel: prediction"
# All gains of the default, and the plan that follows from them, with XLA's optimizations.
_GAINS, _PLAN = "gains of all decisions by trees, known kernels", "a plan without a measurement"
_MANY = 100
_PLAN_AIMS = {300: 500.0, 1_000: 3_000.0}


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
    texts = list(dict.fromkeys(kernel.text for kernel in kernels))
    modules = [text.encode() for text in texts if text.startswith("HloModule")]
    model, weights = _network()
    known = LearnedKernels(weights)
    known(kernels, {})
    hundred = [kernels[number % len(kernels)] for number in range(_MANY)]
    trees = KernelTrees.load()
    default = PlanStates(program).state(Point())
    calls = {
        _COMPILE: Call(lambda _: compile_program(program, Plan())),
        _LIST: Call(lambda _: _kernels(program)),
        _PARSE: Call(lambda _: [parse_text(module) for module in modules]),
        _INPUTS: Call(lambda _: [kernel_inputs(text) for text in texts]),
        _NEW: Call(lambda predict: predict(kernels, {}), lambda: LearnedKernels(weights)),
        _TORCH: Call(lambda _: _by_torch(model, texts)),
        _KNOWN: Call(lambda _: known(kernels, {}), number=10),
        _HUNDRED: Call(lambda _: known(hundred, {}), number=10),
        _GAINS: Call(lambda _: log_ratios(default, trees, default.actions)),
        _PLAN: Call(lambda new: descended(PlanStates(program), new), KernelTrees.load),
    }
    timings = interleaved(calls, settings.rounds, settings.budget, column=f"{size:,}")
    for name in (_COMPILE, _LIST, _NEW, _KNOWN):
        yield timings.ms(name, name)
    yield timings.ms(_HUNDRED, _HUNDRED, Aim(2.0))
    for row, name, aim in ((_PARSE, _PARSE, None), (_INPUTS, _INPUTS, None), (_ONE, _NEW, Aim(50))):
        seconds = timings.of(name, 1e6 / len(texts))
        yield Figure.of(row, timings.column, seconds, "µs", aim)
    yield timings.ms(_GAINS, _GAINS)
    yield timings.ms(_PLAN, _PLAN, Aim(_PLAN_AIMS[size]) if size in _PLAN_AIMS else None)
    yield timings.times(f"{_TORCH} / {_NEW}", _TORCH, _NEW)
    yield timings.times(f"{_LIST} / {_COMPILE}", _LIST, _COMPILE)


@cache
def _network() -> tuple[CostModel, LearnedWeights]:
    """Returns a network with random parameters, of the usual shape, for torch and without it."""
    columns = TableColumns(LearnedKernels.load().weights.flags)
    model = new_model(columns, CostModelConfig()).eval()
    return model, weights_of(model, columns)


@torch.inference_mode()
def _by_torch(model: CostModel, texts: Sequence[str]) -> list[float]:
    inputs = [kernel_inputs(text) for text in texts]
    states = model.encoder.store()
    states.add(inputs)
    numbers = torch.from_numpy(np.stack([kernel.numbers for kernel in inputs]))
    vectors = model.kernel_vectors(states, numbers, torch.arange(len(inputs)))
    flags = torch.zeros(len(inputs), model.flags.in_features)
    return model.log_seconds(vectors, numbers, flags).exp()[:, 0].tolist()


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
