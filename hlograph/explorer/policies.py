"""The page of a policy: the episode that it plays on a program, and episodes on request."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.process import Action
from hlograph.errors import HloError
from hlograph.explorer.difference import row
from hlograph.explorer.graph_pages import Numbers
from hlograph.explorer.matching import Instructions
from hlograph.explorer.player import Attention, Move, PlayablePolicy, load_player
from hlograph.explorer.site import Page, Query
from hlograph.explorer.steps import StepData
from hlograph.module import Module

_MOST_TOUCHED = 24  # instructions of a choice in one role
_MOST_NODES = 1_500  # instructions in the file of one state
_MOST_ATTENDED = 60
_MOST_NEAR = 6  # operands, and users, around one instruction


class EpisodeData:
    """Describes the moves of one episode, one after the other.

    Attributes:
        files: What the policy saw in each state, and what changed in each step, by name.

    Args:
        start: The module at the start of the episode.
        prefix: First part of the names of files.
    """

    def __init__(self, start: Module, prefix: str) -> None:
        self._steps = StepData(start, f"{prefix}-step")
        self._prefix, self._number = prefix, 0
        self.files: dict[str, Any] = self._steps.files

    def describe(self, move: Move) -> dict[str, Any]:
        """Returns a move as JSON.

        The keys are those of ``Move``; ``names`` and ``facts`` of the choices; ``state``, the name
        of the file of the instructions that the choices touch; and ``step``, as
        ``StepData.describe`` has it.
        """
        self._number += 1
        state = f"{self._prefix}-state-{self._number}"
        self.files[state] = _state(self._steps.state, move)
        actions = list(move.choices)
        return {
            "actions": actions,
            "names": [move.choices[action].name for action in actions],
            "facts": [_facts(move.choices[action]) for action in actions],
            "probabilities": [_rounded(move.probabilities[action]) for action in actions],
            "allowed": [bool(move.allowed[action]) for action in actions],
            "value": _rounded(move.value),
            "stop": _rounded(move.probabilities[-1]) if move.stops else None,
            "preferred": move.preferred,
            "action": move.action,
            "reward": _rounded(move.reward),
            "ending": move.ending,
            "state": state,
            "step": self._steps.describe(move.step),
        }


def _state(state: Instructions, move: Move) -> dict[str, Any]:
    """Returns the instructions that matter in a state, and what is around them.

    The keys are ``nodes``, a table as in ``hlograph.explorer.difference`` with the pooling's
    weight of each node as ``attention``; ``touched``, by action and role the numbers of
    instructions in it; ``attended``, those with the largest weights; and ``edges``, those
    between nodes of the table as ``[from, to, forward, backward]``, with their weights as
    ``Attention`` has them.
    """
    numbers = {name: number for number, name in enumerate(state.names)}
    touched = {
        action: {
            role: [numbers[name] for name in names[:_MOST_TOUCHED] if name in numbers]
            for role, names in choice.touched.items()
        }
        for action, choice in move.choices.items()
        if choice.touched
    }
    attention = move.attention
    attended = [] if attention is None else _largest(attention.nodes[: len(state)])
    chosen = [n for roles in touched.values() for several in roles.values() for n in several]
    places = _around(state, [*dict.fromkeys([*chosen, *attended])])
    weights = None if attention is None else attention.nodes
    return {
        "nodes": [_node(state, number, places, weights) for number in places],
        "touched": {
            str(action): {
                role: [places[number] for number in several if number in places]
                for role, several in roles.items()
            }
            for action, roles in touched.items()
        },
        "attended": [places[number] for number in attended if number in places],
        "edges": [] if attention is None else _weighted_edges(attention, places),
    }


def _around(state: Instructions, chosen: list[int]) -> dict[int, int]:
    """Returns instructions, their operands and their first users, as places by number."""
    kept = dict.fromkeys(chosen[:_MOST_NODES])
    for number in chosen:
        for near in (*state.operands_of(number)[:_MOST_NEAR], *state.users_of(number)[:_MOST_NEAR]):
            if len(kept) >= _MOST_NODES:
                break
            kept.setdefault(near)
    return {number: place for place, number in enumerate(sorted(kept))}


def _node(
    state: Instructions,
    number: int,
    places: dict[int, int],
    weights: NDArray[np.float32] | None,
) -> dict[str, Any]:
    operands = [places[operand] for operand in state.operands_of(number) if operand in places]
    node = row(state, number) | {"operands": operands}
    return node if weights is None else node | {"attention": _rounded(weights[number])}


def _largest(weights: NDArray[np.float32]) -> list[int]:
    """Returns the nodes with the largest weights, the largest first."""
    return np.argsort(-weights, kind="stable")[:_MOST_ATTENDED].tolist()


def _weighted_edges(attention: Attention, places: dict[int, int]) -> list[list[float | None]]:
    """Returns the edges between some nodes, with the weights of both their directions."""
    chosen = np.zeros(len(attention.nodes), bool)
    chosen[list(places)] = True
    kept = chosen[attention.links].all(1)
    columns = (attention.links[kept], attention.forward[kept], attention.backward[kept])
    return [
        [places[source], places[target], _rounded(forward), _rounded(backward)]
        for (source, target), forward, backward in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _facts(choice: Action) -> dict[str, float | None]:
    return {name: _rounded(value) for name, value in choice.facts.items()}


def _rounded(number: float) -> float | None:
    """Returns a number with five digits; None for infinities and NaN, which JSON lacks."""
    return float(f"{number:.5g}") if math.isfinite(number) else None


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
    """

    def __init__(
        self,
        player: PlayablePolicy,
        program: Module,
        files: dict[str, Any],
    ) -> None:
        self.attention: Attention | None = None
        self._files = files
        self._player, self._program = player, program
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
                played = self._player.play(self._program, first, MOST_STEPS)
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
        if not isinstance(actions, list) or not all(type(action) is int for action in actions):
            raise HloError(f"expected {{'actions': [numbers]}}, got {question!r}")
        if len(actions) >= MOST_STEPS:
            raise HloError(f"expected fewer than {MOST_STEPS} actions, got {len(actions)}")
        return {"episode": self.episode(tuple(actions))}


WHAT_IF = "what-if"
"""Name of the query that plays on after other actions."""


class PolicyPages(NamedTuple):
    """Holds what a policy adds to a site.

    Attributes:
        page: Its page.
        queries: What the page asks of a server.
        numbers: Numbers to colour the program's graph by: where the policy looks at the start.
    """

    page: Page
    queries: Mapping[str, Query]
    numbers: tuple[Numbers, ...]


def policy_page(program: Module, policy: str, files: dict[str, Any]) -> PolicyPages:
    """Plays a policy on a program, and returns what to show of it.

    Args:
        program: The program.
        policy: Name of a policy that comes with the project, or path or URL of a checkpoint.
        files: Receives the data files of the page, now and with each episode that is asked for.

    Raises:
        HloError: There is no such policy, or it cannot play the program.
    """
    player = load_player(policy)
    session = PolicySession(player, program, files)
    page = Page("policy", "policy", "Policy", session.page() | {"name": policy})
    numbers = ()
    count = program.op_count
    same = player.start(program).fingerprint() == program.fingerprint()
    if session.attention is not None and same:
        values = 100 * session.attention.nodes[:count]
        numbers = (Numbers("attention", "attention of the policy", "%", values),)
    return PolicyPages(page, {WHAT_IF: session.what_if}, numbers)
