"""Orders of passes end where their pipelines do; their variants are near."""

import random

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.search.pipelines import Order, RunPipelines
from hlograph import FixedPoint, Pipeline

CALLED_OFTEN = """
HloModule m

big {
  p = f32[4] parameter(0)
  a = f32[4] sine(p)
  b = f32[4] cosine(a)
  c = f32[4] tanh(b)
  d = f32[4] negate(c)
  e = f32[4] exponential(d)
  f = f32[4] sqrt(e)
  ROOT g = f32[4] abs(f)
}

ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] call(p), to_apply=big
  b = f32[4] call(a), to_apply=big
  c = f32[4] call(b), to_apply=big
  d = f32[4] call(c), to_apply=big
  e = f32[4] call(d), to_apply=big
  f = f32[4] call(e), to_apply=big
  g = f32[4] call(f), to_apply=big
  h = f32[4] call(g), to_apply=big
  ROOT i = f32[4] call(h), to_apply=big
}
"""


def test_an_order_ends_where_its_pipeline_does(worker, benchmark):
    pipelines = tuple(
        hlograph.pipelines[name] for name in ("none", "xla-simplify", "hlograph-simplify")
    )
    ends = RunPipelines(benchmark=benchmark, pipelines=pipelines).do(worker)
    for pipeline, end in zip(pipelines, ends, strict=True):
        module = load(benchmark)
        called = pipeline.run(module.run)
        assert end is not None
        assert (end.op_count, end.calls) == (module.op_count, len(called))


def test_an_order_that_makes_a_module_too_large_has_no_end(worker, tmp_path):
    file = tmp_path / "calls.hlo"
    file.write_text(CALLED_OFTEN)
    grows = Pipeline("grows", "", (hlograph.passes["call-inliner"],))
    ends = RunPipelines(benchmark=str(file), pipelines=(grows, hlograph.pipelines["none"])).do(
        worker
    )
    assert ends[0] is None
    assert ends[1] is not None


def test_variants_are_near_and_drawn_from_the_seed():
    order = Order(("sharding-remover",), ("algsimp", "cse", "dce"), ())
    variants = [order.variant(["tuple-simplifier"], random.Random(seed)) for seed in range(60)]
    assert variants == [
        order.variant(["tuple-simplifier"], random.Random(seed)) for seed in range(60)
    ]
    assert len(set(variants)) > 20
    for variant in variants:
        passes = [*variant.once, *variant.first, *variant.second]
        assert variant.first
        assert abs(len(passes) - 4) <= 2
        assert set(passes) <= {"sharding-remover", "algsimp", "cse", "dce", "tuple-simplifier"}


def test_an_order_is_a_pipeline_and_a_file(tmp_path):
    order = Order(("sharding-remover",), ("algsimp", "dce"), ("tuple-simplifier",))
    once, first, second = order.pipeline().steps
    assert once is hlograph.passes["sharding-remover"]
    assert first == FixedPoint((hlograph.passes["algsimp"], hlograph.passes["dce"]))
    assert second == FixedPoint((hlograph.passes["tuple-simplifier"],))
    order.save(tmp_path / "order.json")
    assert Order.load(tmp_path / "order.json") == order
