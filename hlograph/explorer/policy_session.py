"""A program played by a policy: its own episode, and those that begin with other actions."""

from __future__ import annotations

import threading
from typing import Any

from hlograph.errors import HloError
from hlograph.explorer.player import Attention, PlayablePolicy
from hlograph.explorer.policy_data import EpisodeData
from hlograph.module import Module

MOST_STEPS = 100
"""Largest number of steps of an episode."""


class PolicySession:
    """Plays episodes of one policy on one program, and keeps what their views show.

    Attributes:
        attention: Where the policy looks at the start of its own episode, once that was played;
            None if it has no attention.

    Args:
        player: The policy.
        program: The program.
        files: Receives what was seen and changed in each episode, by name.
        limit: Largest number of steps of an episode.
    """

    def __init__(
        self,
        player: PlayablePolicy,
        program: Module,
        files: dict[str, Any],
        limit: int = MOST_STEPS,
    ) -> None:
        self.attention: Attention | None = None
        self._files = files
        self._player, self._program, self._limit = player, program, limit
        self._start = player.start(program)
        self._names: dict[tuple[int, ...], str] = {}
        self._lock = threading.Lock()

    def page(self) -> dict[str, Any]:
        """Returns the data of the page: the policy, and the episode that it plays by itself.

        The latter is as ``episode`` returns it.
        """
        return {
            "policy": self._player.label,
            "about": self._player.about,
            "program": self._program.name,
            "start_op_count": self._start.op_count,
            "episode": self.episode(()),
        }

    def episode(self, first: tuple[int, ...]) -> str:
        """Plays an episode, unless it was played before.

        Args:
            first: Actions to begin with, before the policy takes its own.

        Returns:
            Name of a file with ``first``; ``moves``, as ``EpisodeData.describe`` has them; and
            ``ending``: ``stop``, ``horizon``, or ``limit`` if the limit of steps ended it.

        Raises:
            HloError: An action is not allowed.
        """
        with self._lock:
            if first not in self._names:
                name = f"policy-{len(self._names)}"
                data = EpisodeData(self._start, name)
                played = self._player.play(self._program, first, self._limit)
                moves: list[dict[str, Any]] = []
                for move in played:
                    if not first and not moves:
                        self.attention = move.attention
                    moves.append(data.describe(move))
                ending = moves[-1]["ending"] or "limit"
                episode = {"first": list(first), "moves": moves, "ending": ending}
                self._files.update(data.files | {name: episode})
                self._names[first] = name
            return self._names[first]

    def what_if(self, question: Any) -> dict[str, Any]:
        """Answers a question of the view: the episode after other actions.

        Args:
            question: ``{"actions": [...]}``.

        Returns:
            ``{"episode": name}``, the name of its file.

        Raises:
            HloError: The question is another one, or an action is not allowed.
        """
        actions = question.get("actions") if isinstance(question, dict) else None
        if not isinstance(actions, list) or not all(type(one) is int for one in actions):
            raise HloError(f"expected {{'actions': [numbers]}}, got {question!r}")
        if len(actions) >= self._limit:
            raise HloError(f"expected fewer than {self._limit} actions, got {len(actions)}")
        return {"episode": self.episode(tuple(actions))}
