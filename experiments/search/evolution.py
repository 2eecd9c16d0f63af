"""Evolutionary search over orders of passes, driven by nevergrad."""

import warnings

import nevergrad
import numpy as np

from experiments.search.patience import Patience
from experiments.search.space import SearchSpace

_LENGTH = 32
"""Places of an order; each holds a pass or nothing."""
_OPTIMIZER = "DoubleFastGADiscreteOnePlusOne"
"""A (1+1) evolution strategy over discrete values whose mutation rate has heavy tails.

Doerr, Le, Makhmara and Nguyen 2017, "Fast genetic algorithms" (arXiv:1703.03334), as nevergrad
has it. https://facebookresearch.github.io/nevergrad/
"""
_MOST_ORDERS = 100_000  # that nevergrad is told to plan for when only seconds are limited


def evolution(space: SearchSpace, random: np.random.Generator) -> None:
    """Evolves orders of a fixed length, beginning with one of no passes.

    An order is worth the least op count on its way. An order's passes are called one after the
    other, and those in states that the table knows cost nothing.

    Args:
        space: Where to search.
        random: Gives nevergrad its seed.

    Raises:
        BudgetSpentError: The budget is spent, or orders lead to nothing new.
    """
    nothing = len(space.passes)
    orders = nevergrad.p.Array(init=np.full(_LENGTH, float(nothing)), lower=0, upper=nothing)
    # So wide that a place that is changed may come to any value: numbers of passes have no order.
    orders.set_mutation(sigma=nothing / 2)
    orders.set_integer_casting()
    orders.random_state = np.random.RandomState(random.integers(2**32, dtype=np.uint32))
    with warnings.catch_warnings():
        # Its remarks on settings, and on functions of numpy's that will go.
        warnings.simplefilter("ignore")
        budget = space.budget.limit_calls or _MOST_ORDERS
        optimizer = nevergrad.optimizers.registry[_OPTIMIZER](orders, budget=budget)
    patience = Patience(space, tries=100)
    while True:
        patience.check()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = optimizer.ask()
        node, least = space.root, space.root.op_count
        for action in asked.value:
            if action < nothing:
                node = space.step(node, int(action))
                least = min(least, node.op_count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer.tell(asked, float(least))
