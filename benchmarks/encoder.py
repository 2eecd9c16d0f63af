"""Measures the GNN's encoder on recorded batches, in nodes and states per second.

`python -m benchmarks.run --groups encoder --device cuda` measures it on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from benchmarks.loops import Loop, config_of
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.subjects import described, names_near
from benchmarks.timing import Call, interleaved, tracked
from experiments.policies.kind import policy_kind
from hlograph.execution.bootstrap import Interval
from models.encoder import Encoder, StateStore

TITLE = "The encoder alone"
_BATCHES = 8  # of one size: enough that no single graph decides


class Recorded(NamedTuple):
    """Holds recorded batches of states.

    Attributes:
        states: The store that they are in.
        batches: int64 [G] each, numbers of the states of a batch.
        nodes: Nodes that encoding these batches takes.
    """

    states: StateStore
    batches: list[torch.Tensor]
    nodes: int


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures forward and backward on states of a recorded rollout."""
    device = torch.device(settings.device)
    config = config_of(settings)
    encoder = policy_kind("gnn", config).new_policy().encoder
    for size in tracked(settings.learning_sizes):
        recorded = record(size, settings)
        timings = interleaved(_calls(encoder, recorded, device), settings.rounds)
        states = sum(len(batch) for batch in recorded.batches)
        for row in timings.seconds:
            seconds = timings.of(row)
            label, column = f"{row} on {settings.device}", f"{size:,}"
            yield Figure.of(label, column, _rate(recorded.nodes, seconds), "nodes/s")
            yield Figure.of(f"{label}: states", column, _rate(states, seconds), "states/s")


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return {
        f"{size:,}": f"distinct states of a rollout on "
        f"{described(names_near(size, settings.modules))}, in batches of the node budget"
        for size in settings.learning_sizes
    }


def record(size: int, settings: Settings) -> Recorded:
    """Records distinct states that a new policy visits, in batches as the update forms them."""
    with Loop("gnn", names_near(size, settings.modules), 1, settings) as loop:
        states = loop.collect().rollout.states
    budget = config_of(settings).gat_ppo.node_budget
    groups = states.groups(range(len(states)), budget)[:_BATCHES]
    batches = [torch.tensor(group) for group, _ in groups]
    return Recorded(states, batches, sum(nodes for _, nodes in groups))


def _calls(encoder: Encoder, recorded: Recorded, device: torch.device) -> dict[str, Call]:
    """Returns calls that run forward, and forward and backward, over all batches."""

    @torch.no_grad()
    def forward(_: object) -> None:
        for batch in recorded.batches:
            encoder(recorded.states, batch)
        synchronize(device)

    def both(_: object) -> None:
        for batch in recorded.batches:
            encoder.zero_grad()
            encoder(recorded.states, batch).sum().backward()
        synchronize(device)

    return {"forward": Call(forward), "forward and backward": Call(both)}


def synchronize(device: torch.device) -> None:
    """Waits until the device has finished all operations."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _rate(count: int, seconds: Interval) -> Interval:
    """Returns a count per second; the slowest quartile gives the lowest rate."""
    return Interval(count / seconds.value, count / seconds.high, count / seconds.low)
