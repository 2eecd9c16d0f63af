"""XLA:CPU's own passes, in process."""

import pytest

import hlograph
from hlograph import HloError, Module
from hlograph.transforms.xla_cpu import before_layout_assignment

PARTITIONED = """
HloModule step, num_partitions=8
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY main {
  p = f32[4,4] parameter(0)
  id = u32[] partition-id()
  r = f32[4,4] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true, to_apply=sum
  one = f32[] constant(1)
  ones = f32[4,4] broadcast(one), dimensions={}
  product = f32[4,4] multiply(r, ones)
  ROOT out = (f32[4,4], u32[]) tuple(product, id)
}
"""  # noqa: E501


def test_it_ends_where_the_pipeline_does(corpus_module):
    start = corpus_module.fingerprint()
    module = corpus_module.clone()
    module.run(hlograph.pipelines["xla-cpu"])
    theirs = before_layout_assignment(corpus_module)
    assert theirs.fingerprint() == module.fingerprint()
    assert corpus_module.fingerprint() == start


def test_a_partitioned_module_is_taken_as_it_is():
    """XLA's partitioner would reject partition-id, which it creates itself."""
    module = Module.from_text(PARTITIONED)
    module.verify()
    theirs = before_layout_assignment(module)
    text = theirs.to_text()
    assert "all-reduce(" in text
    assert "multiply(" not in text
    assert "num_partitions=8" in text
    module.run(hlograph.pipelines["xla-cpu"])
    assert module.fingerprint() == theirs.fingerprint()


def test_passes_can_be_left_out(corpus_module):
    whole = before_layout_assignment(corpus_module)
    without = before_layout_assignment(corpus_module, disabled=["algsimp", "cse", "dce"])
    assert without.op_count > whole.op_count


def test_what_xla_refuses():
    text = PARTITIONED.replace("num_partitions=8", "num_partitions=8, replica_count=2")
    with pytest.raises(HloError):
        before_layout_assignment(Module.from_text(text))
