"""Methods for tests, by name: ``tests.hlograph.optimization.proposals:widths``."""

from hlograph.optimization.methods import Listed
from hlograph.plans import Plan

WIDTHS = tuple(Plan(flags={"xla_cpu_prefer_vector_width": width}) for width in (128, 256, 512))
SIZES = (Plan(flags={"xla_cpu_optimize_for_size": True}),)
LEVELS = tuple(
    Plan(flags={"xla_cpu_prefer_vector_width": width, "xla_backend_optimization_level": level})
    for width in (128, 256, 512)
    for level in range(4)
)


SCHEDULES = (Plan(flags={"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}),)


def schedules(program, numerics):
    """Proposes the schedule that makes memory small."""
    return Listed(iter(SCHEDULES))


def silent(program, numerics):
    return Listed(iter(()))


def widths(program, numerics):
    return Listed(iter(WIDTHS))


def sizes(program, numerics):
    return Listed(iter(SIZES))


def endless(program, numerics):
    """Proposes plans that a search takes minutes for."""
    return Listed(iter((*WIDTHS, *LEVELS, *_thresholds())))


def _thresholds():
    for number in range(1000):
        yield Plan(flags={"xla_cpu_small_while_loop_byte_threshold": number})


def fast_math(program, numerics):
    return Listed(iter([Plan(flags={"xla_cpu_enable_fast_math": True}, numerics="exact")]))


class _Repeated:
    def ask(self, most=1):
        return WIDTHS[:1]

    def tell(self, results):
        raise RuntimeError("does not listen")


def repeated(program, numerics):
    return _Repeated()


def broken(program, numerics):
    raise RuntimeError("no such method today")


class _Waiting(Listed):
    waits_for = 2


def waiting(program, numerics):
    """Proposes plans of its own when two outcomes are known."""
    return _Waiting(iter(LEVELS[:3]))


class Slow(Listed):
    """Works on its plans until it is told to be ready."""

    ready = False


def slow(program, numerics):
    return Slow(iter(LEVELS[:3]))


class _First(Listed):
    comes_first = True


def first(program, numerics):
    """Proposes its plan before others do."""
    return _First(iter(SIZES))


def undone(program, numerics):
    """Proposes plans of which jaxlib makes the default's code."""
    names = ("dce", "cse", "tuple-simplifier")
    return Listed(Plan(steps=(name,), method=name) for name in names)
