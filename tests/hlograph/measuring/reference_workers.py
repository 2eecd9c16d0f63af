"""Workers of references with a planted limit or fault. Worker processes import this module."""

import itertools

from hlograph.measuring.implementation_worker import ImplementationWorker
from hlograph.measuring.implementations import DEFAULT


class QuickWorker(ImplementationWorker):
    """Runs implementations, each of which may take a quarter of a second."""

    def __init__(self, job, sample, recorder):
        super().__init__(job, sample, recorder)
        self._limit = 0.25


class UnstableWorker(ImplementationWorker):
    """Runs a default whose outputs are larger by 1 each time, as if it read changing memory."""

    def _runner(self, implementation):
        run = super()._runner(implementation)
        if implementation != DEFAULT:
            return run
        runs = itertools.count()

        def unstable(inputs):
            number = next(runs)
            return [output + output.dtype.type(number) for output in run(inputs)]

        return unstable
