"""Lists and applies rewrites in an episode, except those that ended a process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from envs.rewrite_episode import RewriteEpisode
from envs.step_result import StepResult
from hlograph.errors import RewriteError
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.pass_call import listing, noted
from hlograph.isolation.quarantine import Quarantine
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import Rule


class RewriteRunner:
    """Lists and applies the rewrites of an environment's rules.

    After a listing has ended a process, the rules are listed one by one on that benchmark, so that
    the next loss identifies the rule. That rule is then left out on the benchmark.

    Args:
        rules: The rules.
        quarantine: Places, and listings of rules, that are not to be tried on a benchmark.
        recorder: Records each listing and rewrite before it runs; None outside of worker
            processes.
    """

    def __init__(
        self, rules: Sequence[Rule], quarantine: Quarantine, recorder: FlightRecorder | None
    ) -> None:
        self._rules = tuple(rules)
        self._quarantine, self._recorder = quarantine, recorder

    def list_candidates(self, episode: RewriteEpisode) -> None:
        """Lists the rewrites that apply to the module of an episode, in the order of the rules."""
        excluded = self._quarantine.passes_at(episode.benchmark)
        episode.offer(self._find(self._rules, episode, excluded), excluded)

    def apply(self, episode: RewriteEpisode, action: int) -> StepResult:
        """Applies a candidate to the module of an episode; masks it if that fails.

        Args:
            episode: The episode.
            action: Number of the candidate.

        Returns:
            Outcome of the step; its time is that of applying the rewrite and of listing the
            rewrites that apply afterwards.
        """
        place = episode.candidates[action].place
        begin = time.perf_counter()
        try:
            with self._noted(episode, place):
                episode.module.apply(episode.candidates[action])
        except RewriteError as error:
            episode.withdraw(action)
            episode.note(place)
            return StepResult(place, seconds=time.perf_counter() - begin, error=str(error))
        episode.enter(episode.module.snapshot())
        # Before listing, which records all steps that led to the state.
        episode.note(place)
        self.list_candidates(episode)
        return StepResult(place, changed=True, seconds=time.perf_counter() - begin)

    def _find(
        self, rules: Sequence[Rule], episode: RewriteEpisode, excluded: frozenset[str]
    ) -> Sequence[Rewrite]:
        name = listing(rule.name for rule in rules)
        if name not in excluded:
            with self._noted(episode, name):
                return episode.module.rewrites(rules)
        if len(rules) == 1:
            return []
        return [rewrite for rule in rules for rewrite in self._find([rule], episode, excluded)]

    def _noted(self, episode: RewriteEpisode, name: str) -> AbstractContextManager[None]:
        about = (episode.fingerprint, episode.benchmark, episode.applied)
        return noted(self._recorder, name, *about)
