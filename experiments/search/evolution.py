"""Evolutionary search over orders of passes, driven by nevergrad."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.search.budget import Patience
from experiments.search.space import PassSpace
from experiments.search.state_space import Steps, step
from experiments.search.tuning.libraries import imported
from hlograph.transforms.registry import passes

_LENGTH = 32
"""Positions of an order; each holds a pass or nothing."""
_OPTIMIZER = "DoubleFastGADiscreteOnePlusOne"
"""(1+1) evolution strategy over discrete values whose mutation rate has heavy tails.

Doerr, Le, Makhmara and Nguyen 2017, "Fast genetic algorithms" (arXiv:1703.03334), in nevergrad's
implementation. https://facebookresearch.github.io/nevergrad/
"""
_MAX_ORDERS = 100_000
"""Budget for which nevergrad plans when only seconds are limited."""


def evolution(space: PassSpace, random: np.random.Generator) -> Steps[None]:
    """Evolves orders of a fixed length, beginning with an order of no passes.

    The fitness of an order is the least op count on its path. Its passes are called one after the
    other; those in states that the table knows cost nothing.

    Raises:
        HloError: nevergrad is not installed.
    """
    nevergrad, nothing = imported("nevergrad"), len(passes)
    orders = nevergrad.p.Array(init=np.full(_LENGTH, float(nothing)), lower=0, upper=nothing)
    # So wide that a mutation may take any value: numbers of passes have no order.
    orders.set_mutation(sigma=nothing / 2)
    orders.set_integer_casting()
    orders.random_state = np.random.RandomState(random.integers(2**32, dtype=np.uint32))
    budget = space.budget.limit_calls or _MAX_ORDERS
    optimizer = _quietly(nevergrad.optimizers.registry[_OPTIMIZER], orders, budget=budget)
    patience = Patience(space, tries=100)
    while True:
        patience.check()
        asked = _quietly(optimizer.ask)
        node, least = space.root, space.root.op_count
        for action in asked.value:
            if action < len(passes):
                node = yield from step(node, int(action))
                least = min(least, node.op_count)
        _quietly(optimizer.tell, asked, float(least))


def _quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls nevergrad without its remarks on settings and on numpy functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)
