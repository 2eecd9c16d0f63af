"""Measures predictions of the trees of kernels beside compilations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.timing import Call, interleaved, tracked
from hlograph import corpus
from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import descended, log_ratios
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_inputs import kernel_inputs
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.kernel_trees import KernelTrees
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.reading.parsers import parse_text

TITLE = "Predictions of the cost model"
_COMPILE, _LIST = "compilation by jaxlib", "kernels listed"
_NEW = "prediction, new kernels"
_KNOWN, _HUNDRED = "prediction, known kernels", "prediction, 100 known kernels"
# Of all distinct kernels, shown for one.
_PARSE, _INPUTS = "a new kernel: XLA's parser", "a new kernel: its inputs"
_ONE = "a new kernel: prediction"
# All gains of the default, and the plan that follows from them, with XLA's optimizations.
_GAINS, _PLAN = "gains of all decisions, known kernels", "a plan without a measurement"
_MANY = 100
_PLAN_AIMS = {300: 500.0, 1_000: 3_000.0}


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures the parts of a prediction, and a compilation, for programs of some sizes."""
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
    hundred = [kernels[number % len(kernels)] for number in range(_MANY)]
    trees = KernelTrees.load()
    trees(kernels, {})
    default = PlanStates(program).state(Point())
    calls = {
        _COMPILE: Call(lambda _: compile_program(program, Plan())),
        _LIST: Call(lambda _: _kernels(program)),
        _PARSE: Call(lambda _: [parse_text(module) for module in modules]),
        _INPUTS: Call(lambda _: [kernel_inputs(text) for text in texts]),
        _NEW: Call(lambda new: new(kernels, {}), KernelTrees.load),
        _KNOWN: Call(lambda _: trees(kernels, {}), number=10),
        _HUNDRED: Call(lambda _: trees(hundred, {}), number=10),
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
