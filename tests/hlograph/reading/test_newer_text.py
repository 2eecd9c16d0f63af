"""HLO text of a newer XLA than the linked one."""

import pytest

import hlograph
from hlograph import HloParseError, Module
from hlograph.errors import HloWarning

TEXT = """HloModule m

ENTRY e {{
  p = u32[4,2]{{1,0}} parameter(0)
  ROOT r = u32[4,2]{{1,0}} {}
}}
"""


def test_jaxlib_reads_what_the_linked_xla_refuses():
    sharded = TEXT.format("negate(p), sharding={mesh['x'=1], [{'x'}, {}]}")
    with pytest.warns(HloWarning, match=r"by jaxlib .* newer than the XLA that hlograph"):
        module = Module.read(sharded)
    assert module.opcodes() == ["negate", "parameter"]
    assert "sharding={" in module.to_text()


def test_device_counts_that_are_lost_are_named():
    text = TEXT.replace("HloModule m", "HloModule m, num_partitions=2")
    sharded = text.format("negate(p), sharding={mesh['x'=2], [{'x'}, {}]}")
    with pytest.warns(HloWarning, match="so are the numbers of replicas and partitions"):
        Module.read(sharded)


def test_an_opcode_that_only_jaxlib_knows_is_named():
    with pytest.raises(HloParseError, match=r"knows it, .* opcode: mulhi") as raised:
        hlograph.parse(TEXT.format("mulhi(p, p)"))
    assert (raised.value.line, raised.value.column) == (5, 26)


@pytest.mark.parametrize("what", ["negate(p), own_attribute=1", "own-opcode(p)"])
def test_what_neither_knows_is_named(what):
    with pytest.raises(HloParseError, match=r"own[\s\S]*Neither .* nor that of jaxlib") as raised:
        hlograph.parse(TEXT.format(what))
    assert raised.value.line == 5


def test_a_mistake_is_an_error_of_the_linked_xla():
    with pytest.raises(HloParseError) as raised:
        hlograph.parse(TEXT.format("negate(nothing)"))
    assert "jaxlib" not in str(raised.value)
