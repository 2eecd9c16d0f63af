"""Defines what the explorer asks of a policy: an episode on a program, decision by decision.

The library knows no policies. They are trained and played by the project's experiments, which are
reached here and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.process import Action
from hlograph.errors import HloError
from hlograph.explorer.steps import StepRun
from hlograph.module import Module

_PLAYER = "hlograph.experiments.policies.explored"
"""Module with a function ``load_player``, by its name in the wheel and in a checkout."""


@dataclass(frozen=True)
class Attention:
    """Attention of a policy's encoder in a module's graph of N nodes.

    Attributes:
        nodes: float32 ``[N]``, weight of each node in the vector of the graph; sums to 1.
        links: int64 ``[E, 2]``, source and target of each edge.
        forward: float32 ``[E]``, weight of the source among all neighbours of the target, in the
            last layer.
        backward: float32 ``[E]``, weight of the target among all neighbours of the source; 0 if
            the encoder does not look that way.
    """

    nodes: NDArray[np.float32]
    links: NDArray[np.int64]
    forward: NDArray[np.float32]
    backward: NDArray[np.float32]


@dataclass(frozen=True)
class Move:
    """One decision of a policy, and the step that followed.

    Attributes:
        choices: What the actions mean, by number, without those that mean nothing here.
        probabilities: Of each action; 0 where it is masked.
        allowed: False for each action that is masked.
        value: Reward that the policy expects from here to the end of the episode, discounted.
        stops: True if the last action ends the episode.
        preferred: Action that the policy takes when it does not draw.
        action: Action that was taken.
        attention: Where the encoder looks; None if it has no attention.
        step: The step, with the module after it.
        reward: Reward of the step.
        ending: Why the episode ended with this step: ``stop``, ``horizon``, or empty if it goes
            on.
    """

    choices: Mapping[int, Action]
    probabilities: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    value: float
    stops: bool
    preferred: int
    action: int
    attention: Attention | None
    step: StepRun
    reward: float
    ending: str


class PlayablePolicy(Protocol):
    """A policy that plays episodes."""

    @property
    def label(self) -> str:
        """Name of the policy."""
        ...

    @property
    def about(self) -> str:
        """A sentence on its training."""
        ...

    def start(self, program: Module) -> Module:
        """Returns the module in which episodes on a program begin."""
        ...

    def play(self, program: Module, first: Sequence[int], limit: int) -> Iterator[Move]:
        """Plays an episode.

        Args:
            program: The program.
            first: Actions to begin with; the policy takes those that follow, and never draws.
            limit: Largest number of steps.

        Raises:
            HloError: The program cannot be played, or an action of ``first`` is masked.
        """
        ...


def load_player(name: str) -> PlayablePolicy:
    """Returns the player of a policy.

    Args:
        name: Name of a policy that comes with the project, or path or URL of a checkpoint.

    Raises:
        HloError: There is no such policy, or the programs that play policies are not here.
        OSError: The checkpoint cannot be read.
    """
    try:
        player = importlib.import_module(_PLAYER)
    except ModuleNotFoundError as error:
        if error.name is None or not _PLAYER.startswith(error.name):
            raise HloError(f"playing a policy needs the package {error.name}") from error
        raise HloError(f"policies are played by the module {_PLAYER}, which is not here") from error
    return player.load_player(name)
