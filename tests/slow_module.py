"""A module that an XLA pass practically never comes to an end on."""

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
