"""State of one episode of pass ordering."""

from __future__ import annotations

from envs.benchmarks import NamedModule
from envs.episode import Episode


class PassEpisode(Episode):
    """State of an episode: a module, and the passes that are known to change nothing in it.

    Attributes:
        known: Passes known to change nothing in the present state, as ``KnownNoOps.at`` returns
            them.
        known_before: Those that were known when the episode entered the state.

    Args:
        benchmark: The benchmark.
        costs: True to run XLA's cost analysis on each state.
    """

    def __init__(self, benchmark: NamedModule, costs: bool) -> None:
        start = benchmark.load()
        super().__init__(benchmark, start, costs)
        self._context = int(start.context_fingerprint(), 16)
        self.known = self.known_before = 0

    @property
    def key(self) -> int:
        """The present state's key in ``KnownNoOps``."""
        return int(self.fingerprint, 16) ^ self._context
