"""Small valid HLO modules of operations that the corpus has little of or nothing.

Instructions have short names: what matters is that every pass meets every operation.
"""

FFT = """
HloModule m
ENTRY e {
  p = c64[4,8] parameter(0)
  f = c64[4,8] fft(p), fft_type=FFT, fft_length={8}
  r = f32[4,14] fft(f), fft_type=IRFFT, fft_length={14}
  ROOT q = c64[4,8] fft(r), fft_type=RFFT, fft_length={14}
}
"""

LINEAR_ALGEBRA = """
HloModule m
ENTRY e {
  p = f32[2,5,5] parameter(0)
  b = f32[2,5,3] parameter(1)
  c = f32[2,5,5] cholesky(p), lower=true
  t = f32[2,5,3] triangular-solve(c,b), left_side=true, lower=true, unit_diagonal=false,
      transpose_a=TRANSPOSE
  u = f32[2,5,3] triangular-solve(c,b), left_side=true, lower=true, unit_diagonal=true,
      transpose_a=NO_TRANSPOSE
  ROOT o = (f32[2,5,3], f32[2,5,3]) tuple(t,u)
}
"""

RANDOM = """
HloModule m
ENTRY e {
  s = u64[2] parameter(0)
  a = f32[] constant(0)
  b = f32[] constant(1)
  r = f32[3,5] rng(a,b), distribution=rng_uniform
  n = f32[7] rng(a,b), distribution=rng_normal
  g = (u64[2], u32[3,4]) rng-bit-generator(s), algorithm=rng_philox
  h = (u64[2], u64[5]) rng-bit-generator(s), algorithm=rng_three_fry
  d = (u64[2], u8[9]) rng-bit-generator(s), algorithm=rng_default
  g1 = u32[3,4] get-tuple-element(g), index=1
  h1 = u64[5] get-tuple-element(h), index=1
  d1 = u8[9] get-tuple-element(d), index=1
  ROOT o = (f32[3,5], f32[7], u32[3,4], u64[5], u8[9]) tuple(r,n,g1,h1,d1)
}
"""

BATCH_NORM = """
HloModule m
ENTRY e {
  x = f32[4,6,3] parameter(0)
  s = f32[3] parameter(1)
  o = f32[3] parameter(2)
  m = f32[3] parameter(3)
  v = f32[3] parameter(4)
  t = (f32[4,6,3], f32[3], f32[3]) batch-norm-training(x,s,o), epsilon=0.001, feature_index=2
  i = f32[4,6,3] batch-norm-inference(x,s,o,m,v), epsilon=0.001, feature_index=2
  g = (f32[4,6,3], f32[3], f32[3]) batch-norm-grad(x,s,m,v,i), epsilon=0.001, feature_index=2
  t0 = f32[4,6,3] get-tuple-element(t), index=0
  g0 = f32[4,6,3] get-tuple-element(g), index=0
  g1 = f32[3] get-tuple-element(g), index=1
  ROOT r = (f32[4,6,3], f32[4,6,3], f32[3]) tuple(t0,g0,g1)
}
"""

SELECT_AND_SCATTER = """
HloModule m
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a,b), direction=GE }
add { a2 = f32[] parameter(0) b2 = f32[] parameter(1) ROOT c2 = f32[] add(a2,b2) }
ENTRY e {
  x = f32[2,8,8,3] parameter(0)
  y = f32[2,4,4,3] parameter(1)
  z = f32[] constant(0)
  s = f32[2,8,8,3] select-and-scatter(x,y,z), window={size=1x2x2x1 stride=1x2x2x1}, select=ge,
      scatter=add
  w = f32[2,4,4,3] reduce-window(s,z), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0},
      to_apply=add
  ROOT o = f32[2,4,4,3] multiply(w,y)
}
"""

TOPK = """
HloModule m
gt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a,b), direction=GT, type=TOTALORDER
}
ENTRY e {
  x = f32[4,20] parameter(0)
  t = (f32[4,5], s32[4,5]) topk(x), k=5, largest=true
  i = s32[4,20] iota(), iota_dimension=1
  s = (f32[4,20], s32[4,20]) sort(x,i), dimensions={1}, is_stable=true, to_apply=gt
  s0 = f32[4,20] get-tuple-element(s), index=0
  sb = s32[4,20] get-tuple-element(s), index=1
  k0 = f32[4,3] slice(s0), slice={[0:4],[0:3]}
  k1 = s32[4,3] slice(sb), slice={[0:4],[0:3]}
  t0 = f32[4,5] get-tuple-element(t), index=0
  ROOT o = (f32[4,3], s32[4,3], f32[4,5]) tuple(k0,k1,t0)
}
"""

COLLECTIVES = """
HloModule m, num_partitions=4
add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT c = bf16[] add(a,b) }
ENTRY e {
  x = bf16[8,4] parameter(0)
  r = bf16[8,4] all-reduce(x), channel_id=1, use_global_device_ids=true,
      replica_groups={{0,1,2,3}}, to_apply=add
  q = bf16[8,4] all-reduce(r), channel_id=2, use_global_device_ids=true,
      replica_groups={{0,1,2,3}}, to_apply=add
  g = bf16[32,4] all-gather(q), channel_id=3, dimensions={0}, use_global_device_ids=true,
      replica_groups={{0,1,2,3}}
  s = bf16[8,4] reduce-scatter(g), channel_id=4, dimensions={0}, use_global_device_ids=true,
      replica_groups={{0,1,2,3}}, to_apply=add
  t = bf16[8,4] all-to-all(s), channel_id=5, dimensions={0}, replica_groups={{0,1,2,3}}
  p = bf16[8,4] collective-permute(t), channel_id=6, source_target_pairs={{0,1},{1,2}}
  i = u32[] partition-id()
  ROOT o = (bf16[8,4], u32[]) tuple(p,i)
}
"""

TYPES = """
HloModule m
ENTRY e {
  a = f8e4m3fn[4,4] parameter(0)
  b = f8e5m2[4,4] parameter(1)
  c = s4[4,4] parameter(2)
  h = f16[4,4] parameter(3)
  bf = bf16[4,4] parameter(4)
  z = c64[4,4] parameter(5)
  d = f32[4,4] dot(a,b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  i = s32[4,4] dot(c,c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f16[4,4] dot(h,h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = bf16[4,4] dot(bf,bf), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = c64[4,4] dot(z,z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  l = bf16[4,4] logistic(f)
  y = f32[4,4] real(g)
  im = f32[4,4] imag(g)
  u = u32[4,4] bitcast-convert(d)
  v = u8[4,4,4] bitcast-convert(d)
  w = bf16[4,4,2] bitcast-convert(y)
  ROOT o = (f32[4,4], s32[4,4], f16[4,4], bf16[4,4], f32[4,4], f32[4,4], u32[4,4],
      u8[4,4,4], bf16[4,4,2]) tuple(d, i, e, l, y, im, u, v, w)
}
"""

EMPTY_ARRAYS = """
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a,b) }
ENTRY e {
  x = f32[0,4] parameter(0)
  y = f32[4,0] parameter(1)
  z = f32[] constant(1)
  d = f32[4,4] dot(y,x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[4] reduce(x,z), dimensions={0}, to_apply=add
  c = f32[3,4] pad(x,z), padding=1_2x0_0
  ROOT o = (f32[4,4], f32[4], f32[3,4]) tuple(d,r,c)
}
"""

DYNAMIC = """
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a,b) }
ENTRY e {
  x = f32[8,4] parameter(0)
  n = s32[] parameter(1)
  z = f32[] constant(0)
  y = f32[<=8,4] set-dimension-size(x,n), dimensions={0}
  w = f32[<=8,4] exponential(y)
  r = f32[4] reduce(w,z), dimensions={0}, to_apply=add
  d = f32[<=8,<=8] dot(w,w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  s = s32[] get-dimension-size(w), dimensions={0}
  ROOT o = (f32[4], s32[]) tuple(r,s)
}
"""

GROUPED_CONVOLUTIONS = """
HloModule m
ENTRY e {
  x = f32[2,9,9,6] parameter(0)
  k = f32[3,3,3,8] parameter(1)
  c = f32[2,9,9,8] convolution(x,k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f,
      feature_group_count=2
  kb = f32[9,9,6,4] parameter(2)
  x4 = f32[4,9,9,6] parameter(3)
  kk = f32[3,3,6,4] slice(kb), slice={[0:3],[0:3],[0:6],[0:4]}
  b = f32[1,9,9,4] convolution(x4,kk), window={size=3x3 pad=1_1x1_1},
      dim_labels=b01f_01io->b01f, batch_group_count=4
  t = f32[3,3,8,3] transpose(k), dimensions={0,1,3,2}
  g = f32[2,5,5,3] convolution(c,t), window={size=3x3 stride=2x2 pad=1_1x1_1 rhs_reversal=1x1},
      dim_labels=b01f_01io->b01f
  l = f32[2,19,19,3] convolution(c,t), window={size=3x3 pad=2_2x2_2 lhs_dilate=2x2},
      dim_labels=b01f_01io->b01f
  ROOT o = (f32[1,9,9,4], f32[2,5,5,3], f32[2,19,19,3]) tuple(b,g,l)
}
"""

CONDITIONALS = """
HloModule m
a { p = f32[4] parameter(0) ROOT q = f32[4] negate(p) }
b { p2 = f32[4] parameter(0) ROOT q2 = f32[4] exponential(p2) }
c { p3 = f32[4] parameter(0) ROOT q3 = f32[4] abs(p3) }
mp {
  m1 = f32[] parameter(0)
  m2 = f32[] parameter(1)
  pr = pred[] compare(m1,m2), direction=LT
  ROOT ms = f32[] select(pr,m1,m2)
}
ENTRY e {
  i = s32[] parameter(0)
  x = f32[4] parameter(1)
  y = f32[4] conditional(i,x,x,x), branch_computations={a,b,c}
  k = s32[] constant(7)
  w = f32[4] conditional(k,x,y,x), branch_computations={a,b,c}
  ROOT z = f32[4] map(y,w), dimensions={0}, to_apply=mp
}
"""

BATCHED_DOTS = """
HloModule m
ENTRY e {
  a = f32[1,3,4,5] parameter(0)
  b = f32[3,1,5,6] parameter(1)
  d = f32[1,3,4,6] dot(a,b), lhs_batch_dims={0,1}, rhs_batch_dims={1,0},
      lhs_contracting_dims={3}, rhs_contracting_dims={2}
  v = f32[5] parameter(2)
  mv = f32[1,3,4] dot(a,v), lhs_contracting_dims={3}, rhs_contracting_dims={0}
  o = f32[5,5] dot(v,v), lhs_contracting_dims={}, rhs_contracting_dims={}
  s = f32[1,3,2,6] slice(d), slice={[0:1],[0:3],[1:3],[0:6]}
  ROOT r = (f32[1,3,2,6], f32[1,3,4], f32[5,5]) tuple(s,mv,o)
}
"""

BARRIER = """
HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  t = (f32[4],f32[4]) tuple(a,a)
  b = (f32[4],f32[4]) opt-barrier(t)
  c = f32[4] get-tuple-element(b), index=0
  d = f32[4] get-tuple-element(b), index=1
  ROOT r = f32[4] add(c,d)
}
"""

STOCHASTIC_CONVERT = """
HloModule m
ENTRY e {
  a = f32[65] parameter(0)
  u = u32[65] parameter(1)
  ROOT r = bf16[65] stochastic-convert(a,u)
}
"""

VARIADIC_REDUCTIONS = """
HloModule m
f {
  a = f32[] parameter(0)
  ai = s32[] parameter(1)
  b = f32[] parameter(2)
  bi = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE
  v = f32[] select(g, a, b)
  i = s32[] select(g, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
ENTRY e {
  x = f32[100,40] parameter(0)
  io = s32[100,40] iota(), iota_dimension=1
  z = f32[] constant(-inf)
  zi = s32[] constant(0)
  r = (f32[100], s32[100]) reduce(x, io, z, zi), dimensions={1}, to_apply=f
  w = (f32[100,40], s32[100,40]) reduce-window(x, io, z, zi), window={size=1x40 pad=0_0x39_0},
      to_apply=f
  w0 = f32[100,40] get-tuple-element(w), index=0
  r0 = s32[100] get-tuple-element(r), index=1
  ROOT o = (f32[100,40], s32[100]) tuple(w0, r0)
}
"""

SCATTERS = """
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
two {
  a1 = f32[] parameter(0)
  b1 = s32[] parameter(1)
  a2 = f32[] parameter(2)
  b2 = s32[] parameter(3)
  sp = f32[] add(a1, a2)
  q1 = s32[] maximum(b1, b2)
  ROOT t = (f32[], s32[]) tuple(sp, q1)
}
ENTRY e {
  x = f32[10,6,4] parameter(0)
  y = s32[10,6,4] parameter(1)
  i = s32[3,2] parameter(2)
  u = f32[3,2,4] parameter(3)
  v = s32[3,2,4] parameter(4)
  s = f32[10,6,4] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add
  m = (f32[10,6,4], s32[10,6,4]) scatter(s, y, i, u, v), update_window_dims={1,2},
      inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1,
      indices_are_sorted=true, unique_indices=true, to_apply=two
  m0 = f32[10,6,4] get-tuple-element(m), index=0
  j = s32[1] constant({3})
  up = f32[6,4] parameter(5)
  k = f32[10,6,4] scatter(m0, j, up), update_window_dims={0,1}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add
  g = f32[3,2,4] gather(k, i), offset_dims={1,2}, collapsed_slice_dims={0},
      start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2,4}
  gi = f32[6,4] gather(k, j), offset_dims={0,1}, collapsed_slice_dims={0}, start_index_map={0},
      index_vector_dim=0, slice_sizes={1,6,4}
  z = s32[0,2] parameter(6)
  gz = f32[0,2,4] gather(k, z), offset_dims={1,2}, collapsed_slice_dims={0},
      start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2,4}
  ROOT o = (f32[3,2,4], f32[6,4], f32[10,6,4], f32[0,2,4]) tuple(g, gi, k, gz)
}
"""

BATCHED_GATHER = """
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[5,7,8] parameter(0)
  i = s32[5,7,3,1] parameter(1)
  g = f32[5,7,3] gather(x, i), offset_dims={}, collapsed_slice_dims={2}, start_index_map={2},
      operand_batching_dims={0,1}, start_indices_batching_dims={0,1}, index_vector_dim=3,
      slice_sizes={1,1,1}
  s = f32[5,7,8] scatter(x, i, g), update_window_dims={}, inserted_window_dims={2},
      scatter_dims_to_operand_dims={2}, input_batching_dims={0,1},
      scatter_indices_batching_dims={0,1}, index_vector_dim=3, to_apply=add
  ROOT o = (f32[5,7,3], f32[5,7,8]) tuple(g, s)
}
"""

ASYNCHRONOUS = """
HloModule m, replica_count=4
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[8,4] parameter(0)
  s = f32[8,4] all-reduce-start(x), replica_groups={}, to_apply=add
  d = f32[8,4] all-reduce-done(s)
  cs = (f32[8,4], f32[8,4]) collective-permute-start(d), source_target_pairs={{0,1},{1,0}}
  cd = f32[8,4] collective-permute-done(cs)
  ag = f32[32,4] all-gather(cd), dimensions={0}, replica_groups={{0,1,2,3}}
  tu = (f32[8,4], f32[32,4]) all-reduce(cd, ag), replica_groups={{0,1},{2,3}}, to_apply=add
  t0 = f32[8,4] get-tuple-element(tu), index=0
  aa = (f32[8,4], f32[8,4]) all-to-all(t0, cd), replica_groups={{0,1},{2,3}}
  a0 = f32[8,4] get-tuple-element(aa), index=1
  rid = u32[] replica-id()
  ROOT o = (f32[8,4], u32[]) tuple(a0, rid)
}
"""

INPUT_AND_OUTPUT = """
HloModule m
ENTRY e {
  t = token[] after-all()
  i = (f32[4], token[]) infeed(t), infeed_config="x"
  v = f32[4] get-tuple-element(i), index=0
  t1 = token[] get-tuple-element(i), index=1
  w = f32[4] add(v, v)
  ot = token[] outfeed(w, t1), outfeed_shape=f32[4]{0}
  d = f32[4] add-dependency(w, ot)
  ROOT o = (f32[4], token[]) tuple(d, ot)
}
"""

DYNAMIC_RESHAPE = """
HloModule m
ENTRY e {
  x = f32[<=8,4] parameter(0)
  n = s32[] get-dimension-size(x), dimensions={0}
  four = s32[] constant(4)
  m2 = s32[] multiply(n, four)
  r = f32[<=32] dynamic-reshape(x, m2)
  p = f32[<=32] tanh(r)
  idx = s32[<=5] parameter(1)
  ROOT o = (f32[<=32], s32[<=5]) tuple(p, idx)
}
"""

DYNAMIC_LOOP = """
HloModule m
body {
  s = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[<=8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[<=8] add(x, x)
  ROOT t = (s32[], f32[<=8]) tuple(j, y)
}
cond {
  sq = (s32[], f32[<=8]) parameter(0)
  i2 = s32[] get-tuple-element(sq), index=0
  l = s32[] constant(3)
  ROOT c = pred[] compare(i2, l), direction=LT
}
ENTRY e {
  p = f32[8] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=8] set-dimension-size(p, n), dimensions={0}
  z = s32[] constant(0)
  t0 = (s32[], f32[<=8]) tuple(z, d)
  w = (s32[], f32[<=8]) while(t0), condition=cond, body=body
  x2 = f32[<=8] get-tuple-element(w), index=1
  q = s32[] get-dimension-size(x2), dimensions={0}
  pad = f32[] constant(0)
  pd = f32[<=18] pad(x2, pad), padding=5_5
  ROOT o = (f32[<=8], s32[], f32[<=18]) tuple(x2, q, pd)
}
"""

DYNAMIC_CONCATENATE = """
HloModule m
gt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }
ENTRY e {
  x = f32[<=8,4] parameter(0)
  y = f32[3,4] parameter(1)
  c = f32[<=11,4] concatenate(x, y), dimensions={0}
  s = f32[<=11,4] sort(c), dimensions={0}, to_apply=gt
  t = f32[4,<=11] transpose(s), dimensions={1,0}
  rv = f32[4,<=11] reverse(t), dimensions={1}
  ROOT o = (f32[4,<=11]) tuple(rv)
}
"""

ELEMENTWISE = """
HloModule m
ENTRY e {
  a = f64[3,3] parameter(0)
  b = f64[3,3] parameter(1)
  c = c128[3,3] complex(a, b)
  ab = f64[3,3] abs(c)
  d = c128[3,3] dot(c, c), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  ch = c128[3,3] cholesky(d), lower=true
  ts = c128[3,3] triangular-solve(ch, d), left_side=false, lower=true, unit_diagonal=false,
      transpose_a=ADJOINT
  lg = f64[3,3] logistic(ab)
  cb = f64[3,3] cbrt(lg)
  pw = f64[3,3] power(cb, b)
  at = f64[3,3] atan2(pw, a)
  rm = f64[3,3] remainder(at, b)
  rp = f64[3,3] reduce-precision(rm), exponent_bits=8, mantissa_bits=7
  rn = f64[3,3] round-nearest-even(rp)
  er = f64[3,3] erf(rn)
  cl = f64[3,3] clamp(a, er, b)
  cv = s8[3,3] convert(cl)
  pc = s8[3,3] popcnt(cv)
  cz = s8[3,3] count-leading-zeros(pc)
  sg = s8[3,3] sign(cz)
  fin = pred[3,3] is-finite(er)
  ROOT o = (s8[3,3], pred[3,3], c128[3,3]) tuple(sg, fin, ts)
}
"""

NESTED_CONTROL_FLOW = """
HloModule m
inner {
  x = f32[4] parameter(0)
  c = f32[] constant(2)
  b = f32[4] broadcast(c), dimensions={}
  ROOT y = f32[4] multiply(x, b)
}
br0 {
  a0 = (f32[4], s32[]) parameter(0)
  a01 = f32[4] get-tuple-element(a0), index=0
  k0 = f32[4] call(a01), to_apply=inner
  n0 = s32[] get-tuple-element(a0), index=1
  ROOT t0 = (f32[4], s32[]) tuple(k0, n0)
}
br1 {
  a1 = (f32[4], s32[]) parameter(0)
  a11 = f32[4] get-tuple-element(a1), index=0
  k1 = f32[4] call(a11), to_apply=inner
  n1 = s32[] get-tuple-element(a1), index=1
  one = s32[] constant(1)
  m1 = s32[] add(n1, one)
  ROOT t1 = (f32[4], s32[]) tuple(k1, m1)
}
body {
  s = (f32[4], s32[], s32[], f32[4]) parameter(0)
  v = f32[4] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  w = f32[4] get-tuple-element(s), index=3
  two = s32[] constant(2)
  ev = s32[] remainder(i, two)
  z = s32[] constant(0)
  p = pred[] compare(ev, z), direction=EQ
  at = (f32[4], s32[]) tuple(v, n)
  cd = (f32[4], s32[]) conditional(p, at, at), true_computation=br0, false_computation=br1
  nv = f32[4] get-tuple-element(cd), index=0
  nn = s32[] get-tuple-element(cd), index=1
  inv = f32[4] exponential(w)
  sv = f32[4] add(nv, inv)
  o1 = s32[] constant(1)
  ni = s32[] add(i, o1)
  ROOT t = (f32[4], s32[], s32[], f32[4]) tuple(sv, ni, nn, w)
}
cond {
  sq = (f32[4], s32[], s32[], f32[4]) parameter(0)
  i2 = s32[] get-tuple-element(sq), index=1
  l = s32[] constant(4)
  ROOT c2 = pred[] compare(i2, l), direction=LT
}
ENTRY e {
  p0 = f32[4] parameter(0)
  zero = s32[] constant(0)
  t2 = (f32[4], s32[], s32[], f32[4]) tuple(p0, zero, zero, p0)
  ob = (f32[4], s32[], s32[], f32[4]) opt-barrier(t2)
  ROOT wl = (f32[4], s32[], s32[], f32[4]) while(ob), condition=cond, body=body
}
"""

SHARDED = """
HloModule m, num_partitions=8
ENTRY e {
  x = f32[16,16] parameter(0), sharding={devices=[8,1]<=[8]}
  s = f32[16,16] custom-call(x), custom_call_target="Sharding", sharding={devices=[1,8]<=[8]}
  f = f32[16,2] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  t = f32[2,16] transpose(f), dimensions={1,0}
  d = f32[2,2] dot(t, f), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[16,16] custom-call(f), custom_call_target="SPMDShardToFullShape",
      sharding={devices=[1,8]<=[8]}
  ROOT o = (f32[16,16], f32[2,2]) tuple(g, d)
}
"""

SIZE_ONE = """
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[1,1,6,1] parameter(0)
  z = f32[] constant(0)
  r = f32[1,6] reduce(x, z), dimensions={0,3}, to_apply=add
  w = f32[1,1,6,1] reduce-window(x, z), window={size=1x1x6x1 pad=0_0x0_0x5_0x0_0}, to_apply=add
  k = f32[1,1,1,1] parameter(1)
  cv = f32[1,1,6,1] convolution(w, k), window={size=1x1}, dim_labels=b01f_01io->b01f
  rs = f32[6] reshape(cv)
  i = s32[] parameter(2)
  ds = f32[1,1,1,1] dynamic-slice(x, i, i, i, i), dynamic_slice_sizes={1,1,1,1}
  du = f32[1,1,6,1] dynamic-update-slice(x, ds, i, i, i, i)
  i3 = s32[4] parameter(3)
  ROOT o = (f32[1,6], f32[6], f32[1,1,6,1]) tuple(r, rs, du)
}
"""

INTEGERS = """
HloModule m
ENTRY e {
  a = u8[5] parameter(0)
  b = s64[5] parameter(1)
  c = s4[5] parameter(2)
  d = u4[5] parameter(3)
  p = pred[5] parameter(4)
  an = u8[5] not(a)
  bn = s64[5] not(b)
  sh = s64[5] shift-right-arithmetic(b, bn)
  dv = s64[5] divide(sh, b)
  z = s64[] constant(0)
  bz = s64[5] broadcast(z), dimensions={}
  dz = s64[5] divide(dv, bz)
  rz = s64[5] remainder(dv, bz)
  one = s64[] constant(1)
  dd = s64[] divide(one, z)
  bd = s64[5] broadcast(dd), dimensions={}
  mn = s64[5] constant({-9223372036854775808, 1, 2, 3, 4})
  m1 = s64[5] constant({-1, -1, 0, -1, -1})
  ov = s64[5] divide(mn, m1)
  orr = s64[5] remainder(mn, m1)
  pw = s64[5] power(mn, m1)
  cc = s32[5] convert(c)
  dc = u32[5] convert(d)
  x = pred[5] xor(p, p)
  ROOT o = (u8[5], s64[5], s64[5], s32[5], u32[5], pred[5], s64[5], s64[5], s64[5],
      s64[5]) tuple(an, dz, rz, cc, dc, x, bd, ov, orr, pw)
}
"""

RARELY_CHANGED = """
HloModule for_passes_that_have_little_to_do
greater {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  li = s32[] parameter(2)
  ri = s32[] parameter(3)
  ROOT more = pred[] compare(l, r), direction=GT
}
plus { pa = f32[] parameter(0) ROOT pb = f32[] add(pa, pa) }
minus { ma = f32[] parameter(0) ROOT mb = f32[] negate(ma) }
choose {
  ca = f32[] parameter(0)
  cb = f32[] parameter(1)
  less = pred[] compare(ca, cb), direction=LT
  ROOT chosen = f32[] conditional(less, ca, cb), true_computation=plus, false_computation=minus
}
ENTRY main {
  x = f32[6,4] parameter(0)
  bits = u32[6,4] parameter(1)
  index = s32[2] parameter(2)
  square = f32[4,4] parameter(3)
  small = s32[4,4] parameter(4)
  rounded = s32[6,4] stochastic-convert(x, bits)
  turned = f32[4,3,6] broadcast(x), dimensions={2,0}
  iota = s32[6,4] iota(), iota_dimension=0
  sort = (f32[6,4], s32[6,4]) sort(x, iota), dimensions={0}, to_apply=greater
  sorted = f32[6,4] get-tuple-element(sort), index=0
  mapped = f32[6,4] map(sorted, x), dimensions={0,1}, to_apply=choose
  cut = f32[2,2] dynamic-slice(mapped, index), dynamic_slice_sizes={2,2}
  qr = (f32[4,4], f32[4]) custom-call(square), custom_call_target="Qr"
  q = f32[4,4] get-tuple-element(qr), index=0
  eigh = (f32[4,4], f32[4]) custom-call(square), custom_call_target="Eigh",
      backend_config="1,1,100,1e-6"
  values = f32[4] get-tuple-element(eigh), index=1
  product = s16[4,4] dot(small, small), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT all = (s32[6,4], f32[4,3,6], f32[2,2], f32[4,4], f32[4], s16[4,4])
      tuple(rounded, turned, cut, q, values, product)
}
"""

ALL = {
    name: text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and text.lstrip().startswith("HloModule")
}
"""All of the above, by name."""
