"""Inputs of learned cost models: what of a kernel they show."""

import math
import re

import numpy as np
import pytest

from hlograph.corpus import plan_times
from hlograph.errors import HloParseError
from hlograph.execution.rates import default_rates
from hlograph.graph.features import NODE_FEATURES
from hlograph.module import Module
from hlograph.profiling.kernel_inputs import (
    KERNEL_NODE_FEATURES,
    NUMBERS,
    kernel_inputs,
    number_names,
)
from hlograph.profiling.kernel_seconds import rated_alone, rated_seconds, work_of
from hlograph.profiling.optimized_module import known_trips
from hlograph.reading.hlo_text import read_instructions

FUSED = """HloModule kernel

%n0 {
  %n1 = f32[8,128]{LAYOUT} parameter(0)
  ROOT %n2 = f32[8,128]{LAYOUT} sine(%n1)
}
ENTRY %n3 {
  %n4 = f32[8,128]{LAYOUT} parameter(0)
  ROOT %n5 = f32[8,128]{LAYOUT} fusion(%n4), kind=kLoop, calls=%n0, CONFIG
}
"""
SINE = """HloModule kernel

ENTRY %n0 {
  %n1 = f32[SIZE,64]{1,0} parameter(0)
  ROOT %n2 = f32[SIZE,64]{1,0} sine(%n1)
}
"""


@pytest.fixture(scope="module")
def recorded():
    """Some of the kernels of programs."""
    kernels = plan_times.load("validation").kernels
    modules = [text for text in kernels if text.startswith("HloModule")]
    return modules[:: len(modules) // 200]


def fused(layout="1,0", partitions='"2","3"'):
    config = f'backend_config={{"outer_dimension_partitions":[{partitions}]}}'
    return kernel_inputs(FUSED.replace("LAYOUT", layout).replace("CONFIG", config))


def number(inputs, name):
    return inputs.numbers[NUMBERS.index(name)]


def numbers_of(text, module):
    """Returns the numbers about a kernel, without the extension's code for them."""
    cost, rates = module.cost(), default_rates()
    partitions = re.search(r'"outer_dimension_partitions":\[([^\]]*)\]', text)
    parts = re.findall(r"\d+", partitions[1]) if partitions else []
    kinds = [each.attribute("kind") for each in read_instructions(text) if each.is_root]
    values = {
        "log_flops": math.log1p(max(cost.flops, 0.0)),
        "log_bytes": math.log1p(max(cost.bytes_accessed, 0.0)),
        "log_transcendentals": math.log1p(max(cost.transcendentals, 0.0)),
        "log_predicted": math.log(rated_seconds(module, rates)),
        "log_partitions": math.log(math.prod(map(int, parts))),
        "log_trips": math.log(max([1, *known_trips(text)])),
        "log_instructions": math.log1p(module.op_count),
        "ynn": '"__ynn_fusion"' in text,
        "onednn": '"__onednn_fusion"' in text,
        "small_call": "xla_cpu_small_call" in text,
        next(filter(None, kinds), ""): 1.0,
        "log_alone": math.log(rated_alone(module, rates)),
    }
    work = work_of(module)
    amounts = [math.log1p(work.get(n, 0.0)) / 8 for n in range(len(number_names()) - len(NUMBERS))]
    return [*(values.get(name, 0.0) for name in NUMBERS), *amounts]


def layouts_of(graph):
    """Returns the features of the nodes' layouts, node by node."""
    rows = []
    for first, last in zip(graph.dim_offsets[:-1], graph.dim_offsets[1:], strict=True):
        order, sizes = graph.dim_layout[first:last], graph.dim_size[first:last]
        minor = sizes[max(order[0], 0)] if len(order) else 0
        in_order = order.tolist() == list(range(len(order)))[::-1]
        rows.append((float(in_order), math.log2(1 + max(minor, 0)) / 16))
    return rows


def test_kernels_of_programs_are_seen_as_they_are(recorded):
    for text in recorded:
        inputs, module = kernel_inputs(text), Module.from_text(text)
        np.testing.assert_allclose(inputs.numbers, numbers_of(text, module), rtol=1e-6)
        features, width = module.features(), len(NODE_FEATURES)
        np.testing.assert_array_equal(inputs.nodes[:, :width], features.nodes)
        np.testing.assert_array_equal(inputs.edges, features.edges)
        np.testing.assert_array_equal(inputs.edge_links, features.links)
        layouts = layouts_of(module.graph())
        np.testing.assert_allclose(inputs.nodes[:, width:], layouts, rtol=1e-6)


def test_recorded_kernels_are_of_many_kinds(recorded):
    numbers = np.array([kernel_inputs(text).numbers for text in recorded])
    present = dict(zip(NUMBERS, (numbers > 0).any(axis=0), strict=False))
    assert present["log_partitions"]
    assert present["kLoop"]
    assert present["small_call"]
    assert present["log_trips"]


def test_decisions_about_a_kernel_are_seen():
    two, six = fused(partitions='"2"'), fused()
    assert number(two, "log_partitions") == pytest.approx(np.log(2))
    assert number(six, "log_partitions") == pytest.approx(np.log(6))
    assert number(six, "kLoop") == 1
    assert number(six, "kOutput") == number(six, "ynn") == 0


def test_kinds_of_fusions_have_numbers_of_their_own():
    text = FUSED.replace("LAYOUT", "1,0").replace(", CONFIG", "")
    for kind in ("kLoop", "kOutput", "kInput", "kCustom"):
        inputs = kernel_inputs(text.replace("kLoop", kind))
        first, last = NUMBERS.index("kLoop"), NUMBERS.index("ynn")
        assert inputs.numbers[first:last].sum() == number(inputs, kind) == 1


def test_layouts_are_features_of_nodes():
    rows, columns = fused("1,0"), fused("0,1")
    first = len(NODE_FEATURES)
    assert rows.nodes.shape == columns.nodes.shape
    assert rows.nodes.shape[1] == len(KERNEL_NODE_FEATURES)
    np.testing.assert_array_equal(rows.nodes[:, :first], columns.nodes[:, :first])
    np.testing.assert_array_equal(rows.nodes[:, first], 1)
    np.testing.assert_array_equal(columns.nodes[:, first], 0)
    np.testing.assert_allclose(rows.nodes[:, first + 1], np.log2(129) / 16)
    np.testing.assert_allclose(columns.nodes[:, first + 1], np.log2(9) / 16)


def test_more_work_is_predicted_to_take_longer():
    small, large = (kernel_inputs(SINE.replace("SIZE", size)) for size in ("64", "4096"))
    assert number(small, "log_predicted") < number(large, "log_predicted")
    assert number(small, "log_bytes") < number(large, "log_bytes")


def test_a_loop_of_other_kernels_is_one_node():
    inputs = kernel_inputs("while")
    assert len(inputs.nodes) == 1
    assert number(inputs, "is_control") == 1


def test_other_texts_are_refused():
    with pytest.raises(HloParseError):
        kernel_inputs("HloModule something else")
