"""Searches over knobs that need no other library."""

from hlograph.tuning.searchers.coordinate import Coordinate, Gains, Kind, kind_of
from hlograph.tuning.searchers.evolution import Evolution, Random

__all__ = ["Coordinate", "Evolution", "Gains", "Kind", "Random", "kind_of"]
