"""Rules that put native kernels in the place of instructions."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import Programs, Refused, program
from benchmarks.speed_rules.topics import sorting

WIDE = (*sorting.FLOATS, jnp.int32, jnp.uint32, jnp.int16, jnp.uint16)
"""Types that kernels sort."""
_TOP_K = (sorting.integer_top_k, sorting.large_top_k, sorting.grouped_top_k)

PROGRAMS: Programs = {}
KERNELS: Programs = {
    "kernel-sort": lambda rng: sorting.sorts(rng, minor=True, types=WIDE),
    "kernel-sort-pairs": lambda rng: sorting.pairs(rng, minor=True, types=WIDE),
    "kernel-top-k": lambda rng: rng.choice(_TOP_K)(rng, WIDE),
}
"""As ``PROGRAMS``, of rules of kernels, which jaxlib alone can run."""

REFUSED: Refused = {
    "kernel-sort": {
        "numbers of eight bits to sort": program(jnp.sort, "u8:3x8"),
        "kernel of what goes along": program(jnp.argsort, "3x8"),
        "first dimension to sort along": program(partial(jnp.sort, axis=0), "8x3"),
        "two keys to sort by": program(lambda x: lax.sort((x, x * 2, x - 1), num_keys=2)[1], "3x8"),
    },
    "kernel-sort-pairs": {
        "one array to sort": program(jnp.sort, "3x8"),
        "equal elements in any order": program(
            lambda x: lax.sort((x, x * 2), num_keys=1, is_stable=False), "8"
        ),
        "zeros of both signs told apart by equality": sorting.by_total_order(jnp.argsort, "3x8"),
        "numbers of eight bits as keys": program(jnp.argsort, "u8:3x8"),
    },
    "kernel-top-k": {
        "sort of all elements": program(jnp.argsort, "3x8"),
        "numbers of eight bits to select": program(partial(lax.top_k, k=2), "u8:3x8"),
    },
}
