"""Eight instructions that dce, call-inliner and cse reduce to four."""

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
