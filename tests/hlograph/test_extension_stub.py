"""The checked-in stub describes the extension as it is built."""

from __future__ import annotations

from tests.extension_stub import STUB, generate


def test_stub_is_current():
    assert STUB.read_text() == generate(), "run: make stub"
