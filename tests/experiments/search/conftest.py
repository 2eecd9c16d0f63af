"""Fixtures: small modules to search in, and policies without training."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.policies.config import PassTrainConfig
from experiments.policies.kind import policy_kind
from experiments.search.budget import Budget
from experiments.search.guide import TrainedPolicy
from experiments.search.space import PassSpace
from experiments.train.command_line import GNN_PRESETS
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.isolation import FlightRecorder
from models.config import GATConfig


@pytest.fixture(scope="session")
def benchmark() -> str:
    """Returns a benchmark of a few hundred instructions that both references make smaller."""
    found = sorted(corpus.load(split="train"), key=lambda b: (b.op_count, b.name))
    return next(
        b.name
        for b in found
        if b.op_count >= 100
        and (b.op_count_xla_simplify or b.op_count) < 0.7 * b.op_count
        and b.op_count_xla_cpu != b.op_count_xla_simplify
    )


@pytest.fixture(scope="session")
def worker() -> RolloutWorker:
    return RolloutWorker(PassTrainConfig(known_no_ops_mib=1), FlightRecorder())


@pytest.fixture
def make_space(benchmark) -> Callable[..., PassSpace]:
    def make(calls: int, **settings) -> PassSpace:
        return PassSpace(load(benchmark), benchmark, Budget(calls=calls), **settings)

    return make


@pytest.fixture(scope="session", params=["gnn", "op_counts"])
def policy(request) -> TrainedPolicy:
    config = replace(
        GNN_PRESETS["quick"],
        value_costs=request.param == "op_counts",
        gat=GATConfig(layers=1, heads=2, head_width=8, edge_width=4, counted_kinds=4),
    )
    network = policy_kind(request.param, config).new_policy()
    parameters = {key: value.numpy() for key, value in network.state_dict().items()}
    return TrainedPolicy(request.param, config, parameters)


@pytest.fixture
def replayed(benchmark) -> Callable[..., hlograph.Module]:
    """Returns a function that runs passes, by name, on a fresh module."""

    def run(passes) -> hlograph.Module:
        module = load(benchmark)
        for name in passes:
            module.run(name)
        return module

    return run
