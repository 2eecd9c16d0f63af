"""Searches over passes, by name."""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.search.beam import beam_search, policy_beam
from experiments.search.greedy import greedy_search
from experiments.search.guide import Guide, TrainedPolicy, expected_op_count
from experiments.search.local import local_search
from experiments.search.policy_episodes import greedy_episode, policy_episodes
from experiments.search.puct import mcts
from experiments.search.random_walks import random_search
from experiments.search.space import PassSpace
from hlograph.errors import HloError

Method = Callable[[PassSpace, np.random.Generator], None]
"""Moves in a space until ``BudgetSpentError``, or until it has nothing left to try."""
GuidedMethod = Callable[[PassSpace, np.random.Generator, Guide], None]
"""As ``Method``, with a policy."""


def _evolution() -> Method:
    # Importing nevergrad takes seconds.
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
"""Makers of the searches that need no policy."""
GUIDED: dict[str, GuidedMethod] = {
    "policy-greedy": greedy_episode,
    "policy": policy_episodes,
    "policy-beam": policy_beam,
    "mcts": partial(mcts, max_depth=60, tries=1000),
}
"""Searches that take a policy."""
SEEDLESS = frozenset({"greedy", "beam-4", "beam-16", "policy-greedy", "policy-beam", "mcts"})
"""Searches that draw nothing, or only which of equal states comes first."""


def check_guided(method: str, policy: TrainedPolicy) -> None:
    """Refuses a policy that a method cannot use.

    Raises:
        ValueError: The policy does not order passes, or the method uses values and the policy's
            values predict no op count.
    """
    config = policy.pass_config
    if method == "policy-beam":
        expected_op_count(config.reward, 0.0, op_count=1, start=1)
