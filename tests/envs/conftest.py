"""A tiny module that every pass of the tests has an effect on."""

from __future__ import annotations

import pytest

from hlograph import Module
from tests.tiny_module import TINY


@pytest.fixture
def tiny() -> Module:
    """Eight instructions; dce leaves 7, call-inliner then 5, cse then 4."""
    return Module.from_text(TINY)
