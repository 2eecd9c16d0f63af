"""Small modules that the parsers are fuzzed with: every construct of the grammar, few of each.

They need not make sense; the corpus has the modules that do.
"""

from __future__ import annotations

_COLLECTIVES = r"""
HloModule collectives, replica_count=4, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  gathered = f32[32,4]{1,0} all-gather(x), channel_id=1, replica_groups={{0,1,2,3}},
      dimensions={0}, use_global_device_ids=true
  reduced = f32[8,4]{1,0} all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add
  scattered = f32[2,4]{1,0} reduce-scatter(x), channel_id=2, replica_groups=[2,4]<=[4,2]T(1,0),
      use_global_device_ids=true, dimensions={0}, to_apply=add
  exchanged = f32[8,4]{1,0} all-to-all(x), replica_groups={{0,1},{2,3}}, dimensions={0}
  moved = f32[8,4]{1,0} collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3}},
      channel_id=3
  spread = f32[8,4]{1,0} collective-broadcast(x), replica_groups={{0,1}}
  replica = u32[] replica-id()
  partition = u32[] partition-id()
  start = f32[8,4]{1,0} all-reduce-start(x), replica_groups={}, to_apply=add
  done = f32[8,4]{1,0} all-reduce-done(start)
  gstart = (f32[8,4]{1,0}, f32[32,4]{1,0}) all-gather-start(x), replica_groups={{0,1,2,3}},
      dimensions={0}
  gdone = f32[32,4]{1,0} all-gather-done(gstart)
  pstart = (f32[8,4]{1,0}, f32[8,4]{1,0}, u32[], u32[]) collective-permute-start(x),
      source_target_pairs={{0,1}}
  pdone = f32[8,4]{1,0} collective-permute-done(pstart)
  ROOT out = (f32[32,4], f32[8,4], f32[2,4]) tuple(gathered, reduced, scattered)
}
"""

_ASYNC = r"""
HloModule asynchronous, entry_computation_layout={(f32[10]{0})->f32[20]{0}},
    input_output_alias={ {}: (0, {}, may-alias) }

called {
  p = f32[10]{0} parameter(0)
  ROOT c = f32[20]{0} custom-call(p), custom_call_target="foo"
}, execution_thread="parallel"

ENTRY main {
  x = f32[10]{0} parameter(0)
  start = ((f32[10]{0}), f32[20]{0}, s32[]) async-start(x), async_execution_thread="parallel",
      calls=called
  update = ((f32[10]{0}), f32[20]{0}, s32[]) async-update(start)
  ROOT done = f32[20]{0} async-done(update)
}
"""

_TRANSFERS = r"""
HloModule transfers, is_scheduled=true

ENTRY main {
  tok = token[] after-all()
  x = f32[4]{0} parameter(0)
  send = (f32[4]{0}, u32[], token[]) send(x, tok), channel_id=1, is_host_transfer=true
  sent = token[] send-done(send), channel_id=1, is_host_transfer=true
  recv = (f32[4]{0}, u32[], token[]) recv(tok), channel_id=2,
      frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  received = (f32[4]{0}, token[]) recv-done(recv), channel_id=2
  in = ((f32[4]{0}, s32[]), token[]) infeed(tok), infeed_config="abc"
  out = token[] outfeed(x, tok), outfeed_shape=f32[4]{0}, outfeed_config="x"
  copied = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(x)
  done = f32[4]{0} copy-done(copied)
  dep = f32[4]{0} add-dependency(done, out)
  barrier = f32[4]{0} opt-barrier(dep)
  ROOT copy = f32[4]{0} copy(barrier)
}
"""

_NUMERICS = r"""
HloModule numerics

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT lt = pred[] compare(a, b), direction=LT, type=TOTALORDER
}

ENTRY main {
  x = f32[4,4]{1,0} parameter(0)
  keys = f32[8]{0} parameter(1)
  values = s32[8]{0} iota(), iota_dimension=0
  sorted = (f32[8]{0}, s32[8]{0}) sort(keys, values), dimensions={0}, is_stable=true,
      to_apply=less
  l = f32[4,4]{1,0} cholesky(x), lower=true
  solved = f32[4,4]{1,0} triangular-solve(l, x), left_side=true, lower=true,
      transpose_a=NO_TRANSPOSE
  spectrum = c64[4,3]{1,0} fft(x), fft_type=RFFT, fft_length={4}
  top = (f32[2]{0}, s32[2]{0}) topk(keys), k=2, largest=true
  zero = f32[] constant(0)
  one = f32[] constant(1)
  noise = f32[8]{0} rng(zero, one), distribution=rng_uniform
  state = u64[2]{0} constant({1, 2})
  bits = (u64[2]{0}, u32[8]{0}) rng-bit-generator(state), algorithm=rng_three_fry
  advance = u64[2]{0} rng-get-and-update-state(), delta=4096
  lower = f32[8]{0} reduce-precision(keys), exponent_bits=5, mantissa_bits=10
  half = bf16[8]{0} convert(keys)
  cast = s32[8]{0} bitcast-convert(keys)
  flat = f32[16]{0} bitcast(x)
  clamped = f32[8]{0} clamp(zero, keys, one)
  c = c64[8]{0} complex(keys, keys)
  r = f32[8]{0} real(c)
  back = f32[8]{0} reverse(r), dimensions={0}
  rounds = u32[8]{0} bitcast-convert(keys)
  stoch = bf16[8]{0} stochastic-convert(keys, rounds)
  e = f32[8]{0} exponential(keys), result_accuracy={tolerance={atol=1,rtol=0,ulps=50}}
  ROOT out = (f32[8]{0}, c64[4,3]{1,0}) tuple(back, spectrum)
}
"""

_WINDOWS = r"""
HloModule windows

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = pred[] compare(a, b), direction=GE
}

pair {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT t = (f32[], f32[]) tuple(a, b)
}

ENTRY main {
  x = f32[2,8,8,3]{3,2,1,0} parameter(0)
  low = f32[] constant(-inf)
  pooled = f32[2,4,4,3]{3,2,1,0} reduce-window(x, low), window={size=1x2x2x1 stride=1x2x2x1},
      to_apply=max
  spread = f32[2,8,8,3]{3,2,1,0} select-and-scatter(x, pooled, low),
      window={size=1x2x2x1 stride=1x2x2x1}, select=ge, scatter=max
  scale = f32[3]{0} parameter(1)
  norm = (f32[2,8,8,3]{3,2,1,0}, f32[3]{0}, f32[3]{0}) batch-norm-training(x, scale, scale),
      epsilon=0.001, feature_index=3
  inference = f32[2,8,8,3]{3,2,1,0} batch-norm-inference(x, scale, scale, scale, scale),
      epsilon=0.001, feature_index=3
  grad = (f32[2,8,8,3]{3,2,1,0}, f32[3]{0}, f32[3]{0}) batch-norm-grad(x, scale, scale, scale,
      x), epsilon=0.001, feature_index=3
  kernel = f32[3,3,3,5]{3,2,1,0} parameter(2)
  conv = f32[2,8,8,5]{3,2,1,0} convolution(x, kernel),
      window={size=3x3 pad=1_1x1_1 rhs_dilate=1x1}, dim_labels=b01f_01io->b01f,
      operand_precision={highest,default}
  squared = f32[2,8,8,3]{3,2,1,0} map(x, x), dimensions={0,1,2,3}, to_apply=max
  many = (f32[2,8,8]{2,1,0}, f32[2,8,8]{2,1,0}) reduce(x, x, low, low), dimensions={3},
      to_apply=pair
  ROOT out = f32[2,8,8,5]{3,2,1,0} negate(conv)
}
"""

_DOTS = r"""
HloModule dots, frontend_attributes={fp="1"}

ENTRY main {
  a = f32[2,3,4]{2,1,0} parameter(0), sharding={devices=[2,1,1,2]<=[4] last_tile_dim_replicate},
      metadata={op_name="a" op_type="p" source_file="x.py" source_line=3}
  b = f32[2,4,5]{2,1,0} parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0)}
  c = f32[2,3,5]{2,1,0} dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,highest},
      algorithm=dot_bf16_bf16_f32
  d = f32[2,3,5]{1,2,0:T(8,128)(2,1)S(5)} copy(c), backend_config={"a":{"b":[1,2]}}
  sizes = s32[4]{0} parameter(2)
  wide = f32[11,4]{1,0} parameter(3)
  group = f32[4,4,5]{2,1,0} parameter(4)
  ragged = f32[11,5]{1,0} ragged-dot(wide, group, sizes), lhs_contracting_dims={1},
      rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  joined = f32[4,3,5]{2,1,0} concatenate(c, d), dimensions={0}
  p = pred[2,3,5]{2,1,0} constant({...})
  chosen = f32[2,3,5]{2,1,0} select(p, c, d)
  tile = s8[64]{0:T(128)(4,1)E(8)} parameter(5)
  ROOT out = f32[4,3,5]{2,1,0} abs(joined)
}
"""

_COMPACT = r"""
HloModule compact

%fused (u: f32[8], v: f32[8]) -> f32[8] {
  %u = f32[8]{0} parameter(0)
  %v = f32[8]{0} parameter(1)
  ROOT %sum = f32[8]{0} add(f32[8]{0} %u, f32[8]{0} %v)
}

%branch0 (b: f32[8]) -> f32[8] {
  ROOT %b = f32[8]{0} parameter(0)
}

%branch1 (b.1: f32[8]) -> f32[8] {
  %b.1 = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(f32[8]{0} %b.1)
}

ENTRY %main (x: f32[8], i: s32[]) -> f32[8] {
  %x = f32[8]{0} parameter(0), parameter_replication={true}
  %i = s32[] parameter(1), frontend_attributes={a="b",c={"d"=1}}
  %f = f32[8]{0} fusion(%x, %x), kind=kInput, calls=%fused, output_to_operand_aliasing={{}: (0,
      {})}
  %s = f32[8]{0} conditional(%i, %f, %x), branch_computations={%branch0, %branch1},
      statistics={visualizing_index=0,a=1}
  %g = f32[8]{0} call(%s), to_apply=%branch1, control-predecessors={%f}
  %d = f32[8]{0} domain(%g), domain={kind="sharding", entry={maximal device=0},
      exit={maximal device=1}}
  %custom = f32[8]{0} custom-call(%d), custom_call_target="t", window={size=1},
      dim_labels=b0f_0io->b0f, api_version=API_VERSION_STATUS_RETURNING,
      schedule=SCHEDULE_LATEST, called_computations={%branch0}, literal=f32[2]{0} {1, 2}
  ROOT %r = f32[8]{0} add(multiply(%custom, %x), %g), origin={{"g"}}
}
"""

_SINGLE = r"""
add = f32[2,3]{1,0} add(f32[2,3] x, f32[2,3] y)
"""

WHILE = r"""
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

DYNAMIC = r"""
HloModule dynamic

ENTRY main {
  x = f32[<=10,4] parameter(0)
  size = s32[] get-dimension-size(x), dimensions={0}
  y = f32[10,4] parameter(1)
  ROOT cut = f32[<=10,4] set-dimension-size(y, size), dimensions={0}
}
"""

SHARDING = r"""
HloModule sharded, num_partitions=4

ENTRY main {
  x = f32[8,4] parameter(0), sharding={devices=[4,1]0,1,2,3}
  y = f32[8,4] parameter(1), sharding={replicated}
  ROOT sum = f32[8,4] add(x, y), sharding={replicated}, frontend_attributes={colour="red"}
}
"""

INDEXING = r"""
HloModule indexing

assign {
  old = f32[] parameter(0)
  ROOT new = f32[] parameter(1)
}

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

LITERALS = r"""
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

TYPES = r"""
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

HLO = tuple(
    text.encode()
    for text in (
        _COLLECTIVES,
        _ASYNC,
        _TRANSFERS,
        _NUMERICS,
        _WINDOWS,
        _DOTS,
        _COMPACT,
        _SINGLE,
        WHILE,
        CUSTOM_CALL,
        DYNAMIC,
        SHARDING,
        INDEXING,
        LITERALS,
        TYPES,
    )
)
"""HLO texts, each one a module that parses."""

_GRADIENT = r"""
module @f1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>,
      %arg1: tensor<4x2xf32>) -> (tensor<3x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT,
        DEFAULT] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %2 = stablehlo.compare GT, %0, %1, FLOAT : (tensor<3x2xf32>,
        tensor<3x2xf32>) -> tensor<3x2xi1>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %5 = stablehlo.select %2, %3, %4 : tensor<3x2xi1>, tensor<3x2xf32>
    %6 = stablehlo.dot_general %5, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT,
        DEFAULT] : (tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<3x4xf32>
    return %6 : tensor<3x4xf32>
  }
}
"""

_LOOP = r"""
module @f2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<3xf32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %3 = stablehlo.multiply %iterArg_0, %2 : tensor<3xf32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<3xf32>
    }
    return %0#1 : tensor<3xf32>
  }
}
"""

_CONVOLUTION = r"""
module @f4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x2x8x8xf32>,
      %arg1: tensor<3x2x3x3xf32>) -> (tensor<1x3x8x8xf32> {jax.result_info = "result[0]"},
      tensor<1x2x4x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0,
        1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1],
        rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>,
        #stablehlo<precision DEFAULT>]} : (tensor<1x2x8x8xf32>,
        tensor<3x2x3x3xf32>) -> tensor<1x3x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{base_dilations = array<i64: 1, 1, 1, 1>,
        padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>,
        window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
    return %0, %2 : tensor<1x3x8x8xf32>, tensor<1x2x4x4xf32>
  }
}
"""

STABLEHLO = tuple(text.encode() for text in (_GRADIENT, _LOOP, _CONVOLUTION))
"""StableHLO texts that jaxlib converts."""
