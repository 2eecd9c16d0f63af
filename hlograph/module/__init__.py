"""HLO modules held by XLA: reading, inspecting, changing, comparing and writing them."""

from hlograph.module.changes import Module, PassRun, take_step
from hlograph.module.graphs import parse, parse_all
from hlograph.module.held import Cost, Snapshot

__all__ = ["Cost", "Module", "PassRun", "Snapshot", "parse", "parse_all", "take_step"]
