"""Programs and modules that the tests of profiling use."""

import jax
import jax.numpy as jnp
import numpy as np

LOOP_TRIPS = 7

_METADATA = r'metadata={op_name="jit(f)/body, calls=%x/\"add\"" stack_frame_id=3}'
_CONFIG = 'backend_config={"known_trip_count":{"n":"10"}}'

LOOP = """HloModule loop, is_scheduled=true

%fused (a: f32[8,16], b: f32[8,16]) -> f32[8,16] {
  %a = f32[8,16]{1,0} parameter(0)
  %b = f32[8,16]{1,0} parameter(1)
  ROOT %add.1 = f32[8,16]{1,0} add(%a, %b)
}

%body (state: (s32[], f32[8,16])) -> (s32[], f32[8,16]) {
  %state = (s32[], f32[8,16]{1,0}) parameter(0)
  %n = s32[] get-tuple-element(%state), index=0
  %x = f32[8,16]{1,0} get-tuple-element(%state), index=1
  %twice = f32[8,16]{1,0} fusion(%x, %x), kind=kLoop, calls=%fused, METADATA
  %next = s32[] copy(%n)
  ROOT %both = (s32[], f32[8,16]{1,0}) tuple(%next, %twice)
}

%condition (state.1: (s32[], f32[8,16])) -> pred[] {
  %state.1 = (s32[], f32[8,16]{1,0}) parameter(0)
  %m = s32[] get-tuple-element(%state.1), index=0
  %ten = s32[] constant(10)
  ROOT %less = pred[] compare(%m, %ten), direction=LT
}

ENTRY %main (y: f32[8,16]) -> f32[8,16] {
  %y = f32[8,16]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %table = s32[2,2]{1,0} constant({
    { 1, 2 },
    { 3, 4 }
  })
  %start = (s32[], f32[8,16]{1,0}) tuple(%zero, %y)
  %loop = (s32[], /*index=1*/f32[8,16]{1,0}) while(%start), condition=%condition, body=%body, CONFIG
  %result = f32[8,16]{1,0} get-tuple-element(%loop), index=1
  ROOT %last = f32[8,16]{1,0} negate(%result)
}
""".replace("METADATA", _METADATA).replace("CONFIG", _CONFIG)


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def multiply(a, b):
    return a @ b


def convolve(x, kernel):
    dims = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dims)


def scan(x, w):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, length=LOOP_TRIPS)


def halve(x):
    """Has a number of trips that depends on the data: 10 for 1000."""
    return jax.lax.while_loop(lambda c: c[0].max() > 1, lambda c: (c[0] * 0.5, c[1] + 1), (x, 0))


def branch(x):
    return jax.lax.cond(x[0, 0] > 0, lambda: jnp.sort(x, 1), lambda: jnp.cumsum(x, 1))
