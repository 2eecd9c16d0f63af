"""The searches by name."""

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.search.beam import beam_search
from experiments.search.local import local_search
from experiments.search.space import SearchSpace

Method = Callable[[SearchSpace, np.random.Generator], None]
"""Moves in a space until ``BudgetSpentError``, or until it has nothing left to try."""

METHODS: dict[str, Method] = {
    "beam-4": partial(beam_search, width=4),
    "local": local_search,
}
"""Those that need no policy."""
