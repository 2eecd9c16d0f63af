"""Tiny modules: eight instructions that passes reduce to four, and a loop."""

TINY = """
HloModule tiny
double { x = f32[4] parameter(0) ROOT two_x = f32[4] add(x, x) }
ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] exponential(p)
  b = f32[4] exponential(p)
  sum = f32[4] add(a, b)
  unused = f32[4] multiply(p, p)
  ROOT doubled = f32[4] call(sum), to_apply=double
}
"""

COUNTED_LOOP = """
HloModule loop
body { p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[] tanh(x)
  ROOT t = (s32[], f32[]) tuple(j, y) }
condition { q = (s32[], f32[]) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(k, ten), direction=LT }
ENTRY e { zero = s32[] constant(0)
  a = f32[] parameter(0)
  s = (s32[], f32[]) tuple(zero, a)
  ROOT w = (s32[], f32[]) while(s), condition=condition, body=body }
"""
"""A loop of ten rounds: the trip-count annotator writes that, and calls it a change each time."""
