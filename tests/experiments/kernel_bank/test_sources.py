"""Kernels as programs, and changes of their shapes."""

import pytest

from experiments.kernel_bank.sources import Change, changed, source_of
from hlograph.errors import HloError
from hlograph.module import Module
from hlograph.reading.hlo_text import array_shape

# Row sums of a product, whose second operand and result lie in memory column by column.
KERNEL = """HloModule kernel

%n0 {
  %n1 = f32[16,64]{1,0} parameter(0)
  %n2 = f32[64,24]{0,1} parameter(1)
  %n3 = f32[16,24]{1,0} dot(%n1, %n2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %n4 = f32[384]{0} bitcast(%n3)
  %n5 = f32[16,24]{1,0} bitcast(%n4)
  %n6 = f32[8,24]{1,0} slice(%n5), slice={[0:8], [0:24]}
  ROOT %n7 = f32[8,24]{0,1} copy(%n6)
}

ENTRY %n8 {
  %n9 = f32[16,64]{1,0} parameter(0)
  %n10 = f32[64,24]{0,1} parameter(1)
  ROOT %n11 = f32[8,24]{0,1} fusion(%n9, %n10), kind=kLoop, calls=%n0
}
"""


@pytest.fixture(scope="module")
def source():
    return source_of(KERNEL)


def shapes(module):
    """Returns the shapes of the parameters, and of the result."""
    entry = source_of(module.to_text()).entry
    return [str(array_shape(op.shape)) for op in (*entry.parameters, entry.root)]


def test_a_kernel_is_a_program_of_arrays_in_the_order_of_memory(source):
    module = changed(source, Change())
    assert not {"fusion", "bitcast", "call"} & set(module.opcodes())
    assert shapes(module) == ["f32[16,64]", "f32[24,64]", "f32[24,8]"]
    same = Module.from_text(
        """HloModule same

ENTRY e {
  a = f32[16,64] parameter(0)
  b = f32[24,64] parameter(1)
  d = f32[16,24] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  s = f32[8,24] slice(d), slice={[0:8], [0:24]}
  ROOT r = f32[24,8] transpose(s), dimensions={1,0}
}
"""
    )
    assert module.equivalent_to(same)


def test_sizes_change_wherever_they_stand(source):
    module = changed(source, Change(sizes={"24": 48}))
    assert shapes(module) == ["f32[16,64]", "f32[48,64]", "f32[48,8]"]
    assert "f32[768]" in module.to_text()  # what was reshaped
    assert shapes(changed(source, Change(sizes={"64": 131}))) == [
        *("f32[16,131]", "f32[24,131]", "f32[24,8]")
    ]


def test_types_and_orders_in_memory_change(source):
    module = changed(source, Change(types={"f32": "bf16"}, turned=(0,)))
    assert shapes(module) == ["bf16[64,16]", "bf16[24,64]", "bf16[24,8]"]


def test_a_change_that_does_not_fit_is_refused(source):
    with pytest.raises(HloError):
        changed(source, Change(sizes={"8": 100}))  # more than there is to slice
    with pytest.raises(HloError, match="two dimensions or more"):
        changed(
            source_of(KERNEL.replace("f32[16,64]{1,0} parameter(0)", "f32[] parameter(0)")),
            Change(turned=(0,)),
        )


def test_calls_keep_their_sizes():
    text = """HloModule kernel

ENTRY %n0 {
  %n1 = f32[16]{0} parameter(0)
  ROOT %n2 = f32[16]{0} custom-call(%n1), custom_call_target="Sharding"
}
"""
    with pytest.raises(HloError, match="got a call"):
        changed(source_of(text), Change(sizes={"16": 32}))


def test_sizes_that_follow_are_inferred():
    text = """HloModule kernel

ENTRY %n0 {
  %n1 = f32[1,32,32,4]{3,2,1,0} parameter(0)
  %n2 = f32[3,3,4,8]{3,2,1,0} parameter(1)
  ROOT %n3 = f32[1,30,30,8]{3,2,1,0} convolution(%n1, %n2), WINDOW
}
"""
    text = text.replace("WINDOW", "window={size=3x3}, dim_labels=b01f_01io->b01f")
    module = changed(source_of(text), Change(sizes={"32": 64}))
    assert shapes(module) == ["f32[1,64,64,4]", "f32[3,3,4,8]", "f32[1,62,62,8]"]
