"""The searches by name."""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.search.beam import beam_search
from experiments.search.greedy import greedy_search
from experiments.search.guide import Guide, TrainedPolicy, expected_op_count
from experiments.search.local import local_search
from experiments.search.mcts import mcts
from experiments.search.policy_beam import policy_beam
from experiments.search.policy_episodes import greedy_episode, policy_episodes
from experiments.search.random_walks import random_search
from experiments.search.space import SearchSpace
from hlograph.errors import HloError

Method = Callable[[SearchSpace, np.random.Generator], None]
"""Moves in a space until ``BudgetSpentError``, or until it has nothing left to try."""
GuidedMethod = Callable[[SearchSpace, np.random.Generator, Guide], None]
"""The same, with a policy."""


def _evolution() -> Method:
    # It imports nevergrad: seconds that only who asks for it shall wait.
    try:
        from experiments.search.evolution import evolution
    except ModuleNotFoundError as error:
        if error.name != "nevergrad":
            raise
        raise HloError(
            "evolutionary search needs nevergrad, which is not installed: "
            "pip install 'hlograph[paper]'"
        ) from error
    return evolution


METHODS: dict[str, Callable[[], Method]] = {
    "random": lambda: random_search,
    "greedy": lambda: greedy_search,
    "beam-4": lambda: partial(beam_search, width=4),
    "beam-16": lambda: partial(beam_search, width=16),
    "evolution": _evolution,
    "local": lambda: local_search,
}
"""Makers of those that need no policy."""
GUIDED: dict[str, GuidedMethod] = {
    "policy-greedy": greedy_episode,
    "policy": policy_episodes,
    "policy-beam": policy_beam,
    "mcts": mcts,
}
"""Those that take a policy."""
SEEDLESS = frozenset({"greedy", "beam-4", "beam-16", "policy-greedy", "policy-beam", "mcts"})
"""Those that draw nothing, or only which of equal states comes first."""


def check_guided(method: str, policy: TrainedPolicy) -> None:
    """Refuses a policy that a method cannot go by.

    Raises:
        ValueError: The policy does not order passes, or the method goes by values, and the
            policy's tell no op count.
    """
    config = policy.pass_config
    if method == "policy-beam":
        expected_op_count(config.reward, 0.0, op_count=1, start=1)
