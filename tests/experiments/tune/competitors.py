"""Methods for tests, by name: ``tests.experiments.tune.competitors:wide``."""

import os
import time
from pathlib import Path

from hlograph.optimization.methods import Listed
from hlograph.plans import Plan


def _width(width):
    return Plan(flags={"xla_cpu_prefer_vector_width": width}, method=f"width {width}")


def wide(program, numerics):
    return Listed(iter([_width(512), _width(256)]))


def seeded(program, numerics, seed):
    return Listed(iter([_width(128 << seed)]))


class _Interrupting:
    def ask(self, most=1):
        raise KeyboardInterrupt

    def tell(self, results):
        pass


def interrupting(program, numerics):
    """Presses Ctrl-C when it is asked for a plan."""
    return _Interrupting()


WIDTHS = (128, 256, 512)

GATE = "HLOGRAPH_TEST_GATE"
"""Environment variable with the path of the file that ``gated`` waits for."""


def widths(program, numerics):
    return Listed(_width(width) for width in WIDTHS)


def gated(program, numerics):
    """Proposes ``WIDTHS``; the last one only when the file is there.

    Until then, a file beside it has the number of this process as its suffix.
    """
    return Listed(_gated_plans())


def _gated_plans():
    for width in WIDTHS[:-1]:
        yield _width(width)
    gate = Path(os.environ[GATE])
    gate.with_suffix(f".{os.getpid()}").touch()
    while not gate.exists():
        time.sleep(0.05)
    yield _width(WIDTHS[-1])
