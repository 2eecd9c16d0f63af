"""Inputs of the cost model: what of a kernel they show."""

import numpy as np
import pytest

from experiments.cost_model.kernel_inputs import LAYOUT_FEATURES, NUMBERS, kernel_inputs
from hlograph.errors import HloParseError
from hlograph.graph.features import NODE_FEATURES
from tests.experiments.cost_model.data import kernel

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


def fused(layout="1,0", partitions='"2","3"'):
    config = f'backend_config={{"outer_dimension_partitions":[{partitions}]}}'
    return kernel_inputs(FUSED.replace("LAYOUT", layout).replace("CONFIG", config))


def number(inputs, name):
    return inputs.numbers[NUMBERS.index(name)]


def test_decisions_about_a_kernel_are_seen():
    two, six = fused(partitions='"2"'), fused()
    assert number(two, "log_partitions") == pytest.approx(np.log(2))
    assert number(six, "log_partitions") == pytest.approx(np.log(6))
    assert number(six, "kLoop") == 1
    assert number(six, "kOutput") == number(six, "ynn") == 0


def test_layouts_are_features_of_nodes():
    rows, columns = fused("1,0"), fused("0,1")
    first = len(NODE_FEATURES)
    assert rows.nodes.shape == columns.nodes.shape
    assert rows.nodes.shape[1] == first + len(LAYOUT_FEATURES)
    np.testing.assert_array_equal(rows.nodes[:, :first], columns.nodes[:, :first])
    np.testing.assert_array_equal(rows.nodes[:, first], 1)
    np.testing.assert_array_equal(columns.nodes[:, first], 0)
    np.testing.assert_allclose(rows.nodes[:, first + 1], np.log2(129) / 16)
    np.testing.assert_allclose(columns.nodes[:, first + 1], np.log2(9) / 16)


def test_more_work_is_predicted_to_take_longer():
    small, large = kernel_inputs(kernel("sine", 64)), kernel_inputs(kernel("sine", 4096))
    assert number(small, "log_predicted") < number(large, "log_predicted")
    assert number(small, "log_bytes") < number(large, "log_bytes")


def test_a_loop_of_other_kernels_is_one_node():
    inputs = kernel_inputs("while")
    assert len(inputs.nodes) == 1
    assert number(inputs, "is_control") == 1


def test_other_texts_are_refused():
    with pytest.raises(HloParseError):
        kernel_inputs("HloModule something else")
