"""Tests of the wire format of protocol buffers."""

import pytest

from hlograph.reading.wire_format import field, fields, read_varint


def test_fields_are_read_as_they_were_written():
    long = bytes(300)
    data = field(1, b"name") + field(1000, long) + b"\x10\x96\x01" + b"\x1d1234" + b"\x2112345678"
    read = [(number, payload and bytes(payload)) for number, _, payload in fields(data)]
    assert read == [(1, b"name"), (1000, long), (2, None), (3, None), (4, None)]
    assert b"".join(bytes(part) for _, part, _ in fields(data)) == data


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 100])
def test_damaged_numbers_are_refused(data: bytes):
    with pytest.raises(ValueError, match="at most ten bytes"):
        read_varint(data, 0)
