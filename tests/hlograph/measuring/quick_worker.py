"""A worker that gives implementations less time. Workers import this module."""

from hlograph.measuring.implementation_worker import ImplementationWorker


class QuickWorker(ImplementationWorker):
    """Runs implementations, each of which may take a second."""

    def __init__(self, job, sample, recorder):
        super().__init__(job, sample, recorder)
        self._limit = 1.0
