"""Sorts on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from tests.proofs.boundaries.boundary import Boundary, either, of, shaped


def _top_k(count: int, arguments: str) -> Callable[[], str]:
    return of(partial(lax.top_k, k=count), arguments)


def _wide(function: Callable[..., Any], dtype: str, *sizes: int) -> Callable[[], str]:
    return lambda: lowered(function, array(*sizes, dtype=dtype))


def _ordered(stable: bool) -> Callable[[], str]:
    return of(lambda x: lax.sort((x, x * 2), num_keys=1, is_stable=stable), "3x8")


SORTS = (
    Boundary(
        "sort-as-network",
        "at most 32 elements along the dimension",
        shaped(partial(jnp.sort, axis=0), "nx16"),
    ),
    Boundary("sort-by-packed-keys", "a stable sort", either(_ordered(True), _ordered(False))),
    Boundary(
        "sort-by-packed-keys",
        "along the last dimension",
        either(of(partial(jnp.argsort, axis=1), "8x8"), of(partial(jnp.argsort, axis=0), "8x8")),
    ),
    Boundary(
        "sort-by-packed-keys",
        "by keys of at most 32 bits",
        lambda n: lowered(jnp.argsort, array(3, 8, dtype="int32" if n <= 32 else "int64")),
    ),
    Boundary(
        "sort-by-packed-keys",
        "of at most 2^30 elements",
        either(of(jnp.argsort, f"1x{2**30}"), of(jnp.argsort, f"1x{2**30 + 1}")),
    ),
    Boundary(
        "sort-by-permutation-as-scatter",
        "by the positions that another sort gives",
        either(
            of(lambda x: jnp.argsort(jnp.argsort(x)), "3x8"),
            of(lambda x: jnp.argsort(jnp.argsort(x) + x.astype(jnp.int32)), "3x8"),
        ),
    ),
    Boundary(
        "argmax-as-first-maximum",
        "no unsigned ones",
        either(
            of(partial(jnp.argmax, axis=1), "s32:3x8"), of(partial(jnp.argmax, axis=1), "u32:3x8")
        ),
    ),
    Boundary(
        "argmax-as-first-maximum",
        "less than 2^30 in a row",
        either(
            of(partial(jnp.argmax, axis=1), f"2x{2**30 - 1}"),
            of(partial(jnp.argmax, axis=1), f"2x{2**30}"),
        ),
    ),
    Boundary(
        "sort-prefix-as-top-k",
        "a slice of at most half",
        either(of(lambda x: jnp.sort(x)[:, :4], "3x8"), of(lambda x: jnp.sort(x)[:, :5], "3x8")),
    ),
    Boundary(
        "sort-prefix-as-top-k",
        "by keys of at most 32 bits",
        lambda n: lowered(
            lambda x: jnp.sort(x)[:, :3], array(3, 8, dtype="int32" if n <= 32 else "int64")
        ),
    ),
    Boundary(
        "top-k-by-float-keys",
        "integers of at most 32 bits",
        lambda n: lowered(
            partial(lax.top_k, k=3), array(3, 8, dtype="int32" if n <= 32 else "int64")
        ),
    ),
    Boundary("top-k-by-float-keys", "integers", either(_top_k(3, "s32:3x8"), _top_k(3, "3x8"))),
    Boundary(
        "top-k-by-packed-keys",
        "elements of at most 32 bits",
        lambda n: lowered(
            partial(lax.top_k, k=3), array(3, 8, dtype="int32" if n <= 32 else "int64")
        ),
    ),
    Boundary(
        "top-k-by-packed-keys",
        "at most 2^30 in a row",
        either(_top_k(2**27 + 1, f"s32:1x{2**30}"), _top_k(2**27 + 1, f"s32:1x{2**30 + 1}")),
    ),
    Boundary(
        "top-k-of-groups",
        "at least as many groups as elements that are selected",
        either(_top_k(8, "3x4096"), _top_k(8, "3x56")),
    ),
    Boundary(
        "sort-by-integer-keys",
        "floating-point numbers",
        either(of(jnp.sort, "3x8"), of(jnp.sort, "s32:3x8")),
    ),
    Boundary(
        "sort-as-network",
        "integers or floating-point numbers as for sort-by-integer-keys",
        either(
            of(lambda x: jnp.sort(x, 0), "16x16"),
            of(lambda x: lax.sort((x, -x), dimension=0, num_keys=2)[0], "16x16"),
        ),
    ),
)
