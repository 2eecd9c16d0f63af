"""Small HLO modules whose graphs are counted by hand in the tests.

Instruction names are unique in each module, so that the parser keeps them as they are.
"""

WHILE = """
HloModule loop
body {
  state = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[4] get-tuple-element(state), index=1
  step = s32[] constant(1)
  next = s32[] add(i, step)
  twice = f32[4] add(x, x)
  ROOT out = (s32[], f32[4]) tuple(next, twice)
}
condition {
  old = (s32[], f32[4]) parameter(0)
  counter = s32[] get-tuple-element(old), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(counter, limit), direction=LT
}
ENTRY main {
  start = s32[] constant(0)
  p = f32[4] parameter(0)
  init = (s32[], f32[4]) tuple(start, p)
  loop = (s32[], f32[4]) while(init), condition=condition, body=body
  ROOT result = f32[4] get-tuple-element(loop), index=1
}
"""

CUSTOM_CALL = r"""
HloModule custom
ENTRY main {
  x = f32[4,4] parameter(0)
  order = token[] after-all()
  call = (f32[4], s32[]) custom-call(x, x), custom_call_target="my \"target\"",
      custom_call_has_side_effect=true, backend_config="{opaque: 1}"
  other = f32[4,4] custom-call(x), custom_call_target="pure",
      operand_layout_constraints={f32[4,4]{0,1}}
  ROOT out = f32[4] get-tuple-element(call), index=0
}
"""

DYNAMIC = """
HloModule dynamic
ENTRY main {
  x = f32[<=10,4] parameter(0)
  size = s32[] get-dimension-size(x), dimensions={0}
  y = f32[10,4] parameter(1)
  ROOT cut = f32[<=10,4] set-dimension-size(y, size), dimensions={0}
}
"""

SHARDING = """
HloModule sharded, num_partitions=4
ENTRY main {
  x = f32[8,4] parameter(0), sharding={devices=[4,1]0,1,2,3}
  y = f32[8,4] parameter(1), sharding={replicated}
  ROOT sum = f32[8,4] add(x, y), sharding={replicated}, frontend_attributes={colour="red"}
}
"""

INDEXING = """
HloModule indexing
assign { old = f32[] parameter(0) ROOT new = f32[] parameter(1) }
ENTRY main {
  x = f32[10,20] parameter(0)
  at = s32[7,1] parameter(1)
  i = s32[] parameter(2)
  j = s32[] constant(3)
  cut = f32[4,5] slice(x), slice={[1:9:2], [0:5]}
  window = f32[2,20] dynamic-slice(x, i, j), dynamic_slice_sizes={2,20}
  moved = f32[10,20] dynamic-update-slice(x, window, j, j)
  rows = f32[7,20] gather(x, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
      index_vector_dim=1, slice_sizes={1,20}, indices_are_sorted=true
  put = f32[10,20] scatter(x, at, rows), update_window_dims={1}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=assign
  zero = f32[] constant(0)
  wide = f32[13,20] pad(x, zero), padding=1_-2_0x0_0_0
  ROOT out = (f32[4,5], f32[10,20], f32[10,20], f32[13,20]) tuple(cut, moved, put, wide)
}
"""

LITERALS = """
HloModule literals
ENTRY main {
  scalar = f32[] constant(-2.5)
  infinite = f32[] constant(-inf)
  flag = pred[] constant(true)
  flags = pred[3] constant({true, false, true})
  small = s32[2,2] constant({{1, 2}, {3, -4}})
  many = s32[17] constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  sixteen = s32[16] constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
  same = s8[3,2] constant({{7, 7}, {7, 7}, {7, 7}})
  big = u64[] constant(18446744073709551615)
  tiny = f8e4m3fn[] constant(0.5)
  nibble = s4[2] constant({-8, 7})
  complex = c64[] constant((1, 2))
  none = f32[0] constant({})
  ROOT out = () tuple()
}
"""

TYPES = """
HloModule types
ENTRY main {
  a = bf16[3,5] parameter(0)
  b = f8e4m3fn[3,5] parameter(1)
  c = s4[3,5] parameter(2)
  d = u64[3,5] parameter(3)
  e = c128[3,5] parameter(4)
  f = pred[3,5] parameter(5)
  to_f8 = f8e5m2[3,5] convert(a)
  to_f32 = f32[3,5] convert(a)
  ROOT out = (bf16[3,5], f8e4m3fn[3,5], s4[3,5], u64[3,5], c128[3,5], pred[3,5],
      f8e5m2[3,5], f32[3,5]) tuple(a, b, c, d, e, f, to_f8, to_f32)
}
"""

CONDITIONAL = """
HloModule branches
negate_it { a = f32[2,3] parameter(0) ROOT minus = f32[2,3] negate(a) }
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
plus { l = f32[] parameter(0) r = f32[] parameter(1) ROOT total = f32[] add(l, r) }
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
unused { q = f32[4] parameter(0) ROOT same = f32[4] abs(q) }
left { l1 = f32[] parameter(0) l2 = f32[] parameter(1) ROOT l3 = f32[] add(l1, l2) }
right { r1 = f32[] parameter(0) r2 = f32[] parameter(1) ROOT r3 = f32[] add(r1, r2) }
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
add { l = f32[] parameter(0) r = f32[] parameter(1) ROOT t = f32[] add(l, r) }
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
