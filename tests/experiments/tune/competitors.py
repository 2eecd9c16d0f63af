"""Methods for tests, by name: ``tests.experiments.tune.competitors:wide``."""

from hlograph.optimization.methods import Listed
from hlograph.plans import Plan


def _width(width):
    return Plan(flags={"xla_cpu_prefer_vector_width": width}, method=f"width {width}")


def wide(program, numerics):
    return Listed(iter([_width(512), _width(256)]))


def seeded(program, numerics, seed):
    return Listed(iter([_width(128 << seed)]))


class _Interrupting:
    def ask(self):
        raise KeyboardInterrupt

    def tell(self, outcome):
        pass


def interrupting(program, numerics):
    """Presses Ctrl-C when it is asked for a plan."""
    return _Interrupting()
