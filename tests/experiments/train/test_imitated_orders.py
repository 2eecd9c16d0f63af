"""Orders to imitate are those of the best of a pipeline and its variants."""

from functools import partial

import pytest

import hlograph
from experiments.policies.config import GNNTrainConfig
from experiments.train.imitated_orders import IMITATED, imitated_pipelines, pipeline_orders
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker
from hlograph import Pipeline, corpus
from hlograph.isolation import InProcessPool

WHOLE, LATER, CONDITIONAL = (
    "vqvae/gradient-r1/forward",
    "signal-transform/map-coordinates/one",
    ("collective-matmul/ring-gather-tp8/forward"),
)
"""Benchmarks on which the pipeline itself, and each of its variants, leaves the fewest."""


@pytest.fixture
def runner(tmp_path) -> TaskRunner:
    config = GNNTrainConfig(out=tmp_path)
    return TaskRunner(config, InProcessPool(partial(RolloutWorker, config)), tmp_path)


def test_an_order_ends_at_the_least_op_count_of_the_pipeline(runner, tmp_path):
    file = tmp_path / "smallest.hlo"
    file.write_text("HloModule m\nENTRY main { ROOT p = f32[] parameter(0) }\n")
    orders = pipeline_orders(runner, [WHOLE, str(file)])
    assert list(orders) == [WHOLE]  # nothing is left to remove from the other
    imitated = corpus.benchmark(WHOLE).load()
    changed = [imitated.run(name) for name in orders[WHOLE]]
    assert changed[-1]
    assert not all(changed)  # calls in vain are imitated, too
    assert imitated.op_count == _least(WHOLE, hlograph.pipelines[IMITATED])


def test_of_the_variants_the_one_that_leaves_the_fewest_is_imitated(runner):
    orders = pipeline_orders(runner, [WHOLE, LATER, CONDITIONAL])
    whole, later, conditional = (orders[name] for name in (WHOLE, LATER, CONDITIONAL))
    assert "call-inliner:small" in whole
    assert "call-inliner:small" not in later
    assert conditional[0] == "algsimp:conditional"
    assert "algsimp:conditional" not in (*whole, *later)
    for name, order in orders.items():
        module = corpus.benchmark(name).load()
        for entry in order:
            module.run(entry)
        assert module.op_count == min(_least(name, pipeline) for pipeline in imitated_pipelines())


def _least(benchmark: str, pipeline: Pipeline) -> int:
    module, counts = corpus.benchmark(benchmark).load(), list[int]()

    def step(entry: hlograph.Pass) -> bool:
        changed = module.run(entry)
        counts.append(module.op_count)
        return changed

    pipeline.run(step)
    return min(counts)
