"""A tiny module that every pass of the tests has an effect on."""

from __future__ import annotations

import pytest

from hlograph import Module

TINY = """
HloModule tiny

double {
  x = f32[4] parameter(0)
  ROOT two_x = f32[4] add(x, x)
}

ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] exponential(p)
  b = f32[4] exponential(p)
  sum = f32[4] add(a, b)
  unused = f32[4] multiply(p, p)
  ROOT doubled = f32[4] call(sum), to_apply=double
}
"""


@pytest.fixture
def tiny() -> Module:
    """Eight instructions; dce leaves 7, call-inliner then 5, cse then 4."""
    return Module.from_text(TINY)
