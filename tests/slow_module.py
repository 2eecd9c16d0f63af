"""Modules on which an XLA pass practically never terminates."""

import numpy as np

SLOW_FOLDING = """
HloModule slow
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }
ENTRY e { one = f32[] constant(1)
  ones = f32[1000000] broadcast(one), dimensions={}
  zero = f32[] constant(0)
  ROOT sums = f32[999001] reduce-window(ones, zero), window={size=1000}, to_apply=add }
"""
"""Four entry instructions; constant_folding evaluates 10^9 additions one by one, for minutes."""

_CUBE = str(np.ones((10,) * 4, int).tolist()).replace("[", "{").replace("]", "}")
_WINDOW = "{size=10x10x10x10 pad=9_9x9_9x9_9x9_9}"
SLOW_FOLDING_AT_ONCE = f"""
HloModule slow
add {{ x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }}
ENTRY e {{ ones = f32[10,10,10,10] constant({_CUBE})
  zero = f32[] constant(0)
  again = f32[] constant(0)
  sums = f32[19,19,19,19] reduce-window(ones, zero), window={_WINDOW}, to_apply=add
  start = f32[19,19,19,19] broadcast(again), dimensions={{}}
  ROOT all = f32[19,19,19,19] add(sums, start) }}
"""
"""One such instruction with constant operands, so that a rewrite of it hangs too."""
