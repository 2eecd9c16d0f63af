"""Lists and applies rewrites in an episode, but for those that ended a process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from envs.episode import Episode
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import listing, noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.transforms.rewriting import Rewrite, Rule


class RewriteRunner:
    """The rules of an environment.

    A benchmark on which listing ended a process is listed rule by rule from then on, so that the
    next loss tells which rule it is; that one is left out on this benchmark.

    Args:
        rules: The rules.
        quarantine: Places, and listings of rules, that are not to be tried on a benchmark.
        recorder: Where each listing and rewrite is noted before it runs; None in a process that
            is nobody's worker.
    """

    def __init__(
        self, rules: Sequence[Rule], quarantine: Quarantine, recorder: FlightRecorder | None
    ) -> None:
        self._rules = tuple(rules)
        self._quarantine, self._recorder = quarantine, recorder

    def find(self, episode: Episode) -> list[Rewrite]:
        """What applies in the state that an episode is in now, in the order of the rules."""
        out = self._quarantine.passes_at(episode.benchmark)
        found = self._by(self._rules, episode, out)
        return [rewrite for rewrite in found if rewrite.place not in out] if out else found

    def apply(self, episode: Episode, rewrite: Rewrite) -> None:
        """Applies a rewrite to the module of an episode.

        Raises:
            RewriteError: XLA returned an error; the module is as before.
        """
        with self._noted(episode, rewrite.place):
            episode.module.apply(rewrite)

    def _by(self, rules: Sequence[Rule], episode: Episode, out: frozenset[str]) -> list[Rewrite]:
        name = listing(rule.name for rule in rules)
        if name not in out:
            with self._noted(episode, name):
                return episode.module.rewrites(rules)
        if len(rules) == 1:
            return []
        return [rewrite for rule in rules for rewrite in self._by([rule], episode, out)]

    def _noted(self, episode: Episode, name: str) -> AbstractContextManager[None]:
        about = (episode.fingerprint, episode.benchmark, episode.applied)
        return noted(self._recorder, name, *about)
