"""Small HLO modules whose graphs are counted by hand in the tests.

Instruction names are unique in each module, so that the parser keeps them as they are.
"""

from __future__ import annotations

from tests.campaigns.parsing.seeds import (
    CUSTOM_CALL as CUSTOM_CALL,
)
from tests.campaigns.parsing.seeds import (
    DYNAMIC as DYNAMIC,
)
from tests.campaigns.parsing.seeds import (
    INDEXING as INDEXING,
)
from tests.campaigns.parsing.seeds import (
    LITERALS as LITERALS,
)
from tests.campaigns.parsing.seeds import (
    SHARDING as SHARDING,
)
from tests.campaigns.parsing.seeds import (
    TYPES as TYPES,
)
from tests.campaigns.parsing.seeds import (
    WHILE as WHILE,
)

CONDITIONAL = """
HloModule branches

negate_it {
  a = f32[2,3] parameter(0)
  ROOT minus = f32[2,3] negate(a)
}

keep_it {
  ROOT b = f32[2,3] parameter(0)
}

ENTRY main {
  which = pred[] parameter(0)
  x = f32[2,3] parameter(1)
  y = f32[2,3] parameter(2)
  ROOT chosen = f32[2,3] conditional(which, x, y), true_computation=negate_it,
      false_computation=keep_it
}
"""

FUSION = """
HloModule fused

fused_computation {
  u = f32[8] parameter(0)
  v = f32[8] parameter(1)
  product = f32[8] multiply(u, v)
  ROOT sum = f32[8] add(product, v)
}

ENTRY main {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  ROOT fusion = f32[8] fusion(y, x), kind=kLoop, calls=fused_computation
}
"""

REDUCE = """
HloModule sums

plus {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT total = f32[] add(l, r)
}

ENTRY main {
  x = f32[2,3,5]{2,1,0} parameter(0)
  zero = f32[] constant(0)
  inner = f32[2,3]{1,0} reduce(x, zero), dimensions={2}, to_apply=plus
  ROOT outer = f32[] reduce(inner, zero), dimensions={0,1}, to_apply=plus
}
"""

NESTED_TUPLES = """
HloModule nested

ENTRY main {
  p = ((f32[2], s32[3]), (pred[])) parameter(0)
  first = (f32[2], s32[3]) get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(first), index=0
  empty = () tuple()
  ROOT out = ((), (f32[2], s32[3]), f32[2]) tuple(empty, first, x)
}
"""

CONTROL = """
HloModule ordered

ENTRY main {
  x = f32[2] parameter(0)
  a = f32[2] exponential(x)
  b = f32[2] negate(x), control-predecessors={a}
  c = f32[2] sine(x), control-predecessors={a, b}
  ROOT sum = f32[2] add(b, c)
}
"""

CONVOLUTION = """
HloModule conv3d

ENTRY main {
  image = f32[2,8,9,10,4] parameter(0)
  kernel = f32[3,3,1,2,6] parameter(1)
  ROOT out = f32[2,4,9,10,6] convolution(image, kernel),
      window={size=3x3x1 stride=2x1x1 pad=1_1x1_1x0_0 rhs_reversal=0x0x1},
      dim_labels=b012f_012io->b012f, feature_group_count=2
}
"""

REDUNDANT = """
HloModule redundant

unused {
  q = f32[4] parameter(0)
  ROOT same = f32[4] abs(q)
}

left {
  l1 = f32[] parameter(0)
  l2 = f32[] parameter(1)
  ROOT l3 = f32[] add(l1, l2)
}

right {
  r1 = f32[] parameter(0)
  r2 = f32[] parameter(1)
  ROOT r3 = f32[] add(r1, r2)
}

ENTRY main {
  p = f32[4] parameter(0)
  idle = f32[4] parameter(1)
  zero = f32[] constant(0)
  e1 = f32[4] exponential(p)
  e2 = f32[4] exponential(p)
  n1 = f32[4] negate(e1)
  n2 = f32[4] negate(e2)
  sum1 = f32[] reduce(n1, zero), dimensions={0}, to_apply=left
  sum2 = f32[] reduce(n2, zero), dimensions={0}, to_apply=right
  d1 = f32[4] sine(p)
  d2 = f32[4] cosine(d1)
  gone = f32[4] call(d2), to_apply=unused
  ROOT sum = f32[] add(sum1, sum2)
}
"""

SHAPES = """
HloModule shapes

add {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT t = f32[] add(l, r)
}

ENTRY main {
  x = f32[4,1,6] parameter(0)
  s = f32[] parameter(1)
  k0 = f32[] constant(0)
  k1 = f32[] constant(1)
  zeros = f32[4,1,6] broadcast(k0), dimensions={}
  ones = f32[4,1,6] broadcast(k1), dimensions={}
  filled = f32[4,1,6] broadcast(s), dimensions={}
  front = f32[2,4,1,6] broadcast(x), dimensions={1,2,3}
  behind = f32[4,1,6,2] broadcast(x), dimensions={0,1,2}
  plus0 = f32[4,1,6] add(x, zeros)
  times1 = f32[4,1,6] multiply(x, ones)
  square = f32[4,1,6] multiply(x, x)
  flat = f32[24] reshape(x)
  squeezed = f32[4,6] reshape(x)
  again = f32[6,4] reshape(squeezed)
  swapped = f32[4,6,1] transpose(x), dimensions={0,2,1}
  turned = f32[6,1,4] transpose(x), dimensions={2,1,0}
  identity = f32[4,1,6] transpose(x), dimensions={0,1,2}
  same = f32[4,1,6] convert(x)
  narrow = bf16[4,1,6] convert(x)
  wide = f32[4,1,6] convert(narrow)
  unit = f32[4,6] reduce(x, k0), dimensions={1}, to_apply=add
  minor = f32[4,1] reduce(x, k0), dimensions={2}, to_apply=add
  major = f32[1,6] reduce(x, k0), dimensions={0}, to_apply=add
  folded = f32[] add(k0, k1)
  ne = pred[] compare(s, k0), direction=NE
  ge = pred[] compare(s, k0), direction=GE
  ROOT out = () tuple()
}
"""

ALL = {
    name: text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and text.lstrip().startswith("HloModule")
}
"""All of the above, by name."""
