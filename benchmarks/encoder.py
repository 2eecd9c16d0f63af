"""Measures the GNN's encoder on recorded batches, in nodes and states per second.

`python -m benchmarks.run --groups encoder --device cuda` measures it on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from benchmarks.loops import Loop, config_of
from benchmarks.progress import tracked
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.subjects import described, names_near
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
        for what, run in _runs(encoder, recorded).items():
            seconds = seconds_of(run, device, settings.rounds)
            states = sum(len(batch) for batch in recorded.batches)
            label, column = f"{what} on {settings.device}", f"{size:,}"
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


def _runs(encoder: Encoder, recorded: Recorded) -> dict[str, Callable[[], None]]:
    """Returns functions that run forward, and forward and backward, over all batches."""

    @torch.no_grad()
    def forward() -> None:
        for batch in recorded.batches:
            encoder(recorded.states, batch)

    def both() -> None:
        for batch in recorded.batches:
            encoder.zero_grad()
            encoder(recorded.states, batch).sum().backward()

    return {"forward": forward, "forward and backward": both}


def seconds_of(run: Callable[[], object], device: torch.device, repeats: int) -> Interval:
    """Times a function on a device, after one untimed run; waits for the device each time."""
    times = []
    for number in range(repeats + 1):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        if number:
            times.append(time.perf_counter() - start)
    return Interval.quartiles(times)


def synchronize(device: torch.device) -> None:
    """Waits until the device has finished all operations."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _rate(count: int, seconds: Interval) -> Interval:
    """Returns a count per second; the slowest quartile gives the lowest rate."""
    return Interval(count / seconds.value, count / seconds.high, count / seconds.low)
