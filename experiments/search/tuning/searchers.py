"""All searchers over knobs by name: those of hlograph, and those that libraries drive."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from experiments.search.tuning.deciding import greedy, op_counts, policy
from experiments.search.tuning.libraries import TPE, OnePlusOne
from hlograph.optimization.methods import register
from hlograph.optimization.methods.protocol import MakeMethod
from hlograph.optimization.methods.tuned import tuned
from hlograph.tuning.searcher import MakeSearcher
from hlograph.tuning.searchers import SEARCHERS as OWN

SEARCHERS: Mapping[str, MakeSearcher] = MappingProxyType(
    {**OWN, "one-plus-one": OnePlusOne, "tpe": TPE}
)
"""Functions that make a searcher, by name. The libraries are imported when they are called."""

METHODS: Mapping[str, MakeMethod] = MappingProxyType(
    {
        **{f"knobs-{name}": tuned(f"knobs-{name}", make) for name, make in SEARCHERS.items()},
        "policy": policy,
        "policy-op-counts": op_counts,
        "decisions-greedy": greedy,
    }
)
"""Functions that make the method of a searcher, by name, for ``hlograph.optimization.methods``."""


def register_all() -> None:
    """Registers the methods in this process, so that races find them by name."""
    for name, make in METHODS.items():
        register(name, make)
