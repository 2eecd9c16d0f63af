"""Workers that tests start in processes."""

import os
import time

from benchmarks.peers.worker import CallWorker


class SleepingWorker(CallWorker):
    """Sleeps for two milliseconds a call."""

    def prepared(self):
        """Returns nothing."""

    def run(self, prepared):
        """Sleeps."""
        time.sleep(0.002)

    def variable(self, name):
        """Returns an environment variable of the process."""
        return os.environ.get(name)


class DyingWorker(SleepingWorker):
    """Ends its process in the third call."""

    calls = 0

    def run(self, prepared):
        """Counts the calls."""
        self.calls += 1
        if self.calls == 3:
            os._exit(7)
