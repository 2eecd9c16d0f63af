"""Searchers over knobs that need no other library."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hlograph.tuning.searcher import MakeSearcher
from hlograph.tuning.searchers.coordinate import Coordinate
from hlograph.tuning.searchers.evolution import Evolution
from hlograph.tuning.searchers.gains import Gains, Kind, kind_of
from hlograph.tuning.searchers.random import Random

SEARCHERS: Mapping[str, MakeSearcher] = MappingProxyType(
    {"coordinate": Coordinate, "random": Random, "evolution": Evolution}
)
"""Functions that make a searcher, by name."""

__all__ = ["SEARCHERS", "Coordinate", "Evolution", "Gains", "Kind", "Random", "kind_of"]
