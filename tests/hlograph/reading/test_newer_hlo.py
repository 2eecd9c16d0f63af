"""HLO of a newer XLA than the linked one: the order of comparisons, on which NaN depends."""

import jax
import jax.numpy as jnp
import pytest

from hlograph import HloParseError, Module
from hlograph.reading.wire_format import field, fields

TEXT = """HloModule compare

ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  i = s32[4] parameter(2)
  total = pred[4] compare(a, b), direction=LT, type=TOTALORDER
  partial = pred[4] compare(a, b), direction=GE
  whole = pred[4] compare(i, i), direction=LE
  ROOT all = (pred[4], pred[4], pred[4]) tuple(total, partial, whole)
}
"""
# HloModuleProto.computations, HloComputationProto.instructions, and of HloInstructionProto
# comparison_type, which newer versions do not write, and comparison_order, which they do.
COMPUTATIONS, INSTRUCTIONS, TYPE, ORDER = 3, 2, 72, 102
ORDERS = {b"TOTALORDER": b"TOTAL", b"FLOAT": b"PARTIAL", b"SIGNED": b"TOTAL"}


def _newer(proto, path=(COMPUTATIONS, INSTRUCTIONS)):
    """Returns a message with the order of comparisons as a newer XLA writes it."""
    out = b""
    for number, raw, payload in fields(proto):
        if path and number == path[0]:
            out += field(number, _newer(payload, path[1:]))
        elif not path and number == TYPE:
            out += field(ORDER, ORDERS[bytes(payload)])
        else:
            out += bytes(raw)
    return out


def test_the_order_of_comparisons_in_protos():
    module = Module.from_text(TEXT)
    proto = _newer(module.to_proto())
    assert proto != module.to_proto()
    assert b"TOTALORDER" not in proto
    read = Module.read(proto)
    assert read.to_text() == module.to_text()
    assert read.fingerprint() == module.fingerprint()


def test_the_order_of_comparisons_in_text():
    newer = TEXT.replace("type=TOTALORDER", "order=TOTAL")
    assert Module.from_text(newer).to_text() == Module.from_text(TEXT).to_text()
    with pytest.raises(HloParseError):
        Module.from_text(TEXT.replace("type=TOTALORDER", "order=OTHER"))


def test_a_sort_of_jax_has_a_total_order():
    lowered = jax.jit(jnp.sort).lower(jnp.ones((8, 100)))
    for source in (lowered, lowered.as_text()):
        text = Module.read(source).to_text()
        assert text.count("direction=LT, type=TOTALORDER") == 1
