"""The flag or rule that makes up for a loss."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.comparing.recovering import RecoverySearch
from hlograph.comparing.side import Interpreter
from hlograph.comparing.timing import QUICK, turns_of
from hlograph.plans import Plan, Program

X = np.random.default_rng(0).standard_normal((8, 5000), np.float32)


def first_in_order(x: jax.Array) -> jax.Array:
    """Sorts whole rows, of which ten elements are taken: a rule makes much less of it."""
    return jnp.sort(x, axis=1)[:, :10]


@pytest.fixture(scope="module")
def side() -> Iterator[Interpreter]:
    with Interpreter("this") as started:
        yield started


def search(side: Interpreter, fast: Program, slow: Program, budget: float) -> RecoverySearch:
    side.compile("fast", fast, [X])
    side.compile("slow", slow, [X])
    fast_seconds, slow_seconds = np.median(
        turns_of([(side, "fast"), (side, "slow")], QUICK).seconds, axis=0
    )
    loss = slow_seconds / fast_seconds
    return RecoverySearch((side, "fast"), (side, "slow"), slow, [X], loss, budget)


def test_a_rule_that_brings_the_loss_back_is_named(side: Interpreter) -> None:
    slow = Program.of(jax.jit(first_in_order).lower(X))
    fast = Program.of(jax.jit(lambda x: -jax.lax.top_k(-x, 10)[0]).lower(X))
    recovery = search(side, fast, slow, 120).best()
    assert recovery is not None
    assert recovery.words.startswith("the rule")
    assert recovery.share > 0.5
    assert any("top-k" in step or "sort" in step for step in recovery.plan.steps)
    assert recovery.to_json()["steps"] == list(recovery.plan.steps)


def test_nothing_brings_back_what_no_flag_and_no_rule_is_about(side: Interpreter) -> None:
    slow = Program.of(jax.jit(lambda x: jnp.cumsum(jnp.sin(x), 1)[:, :10]).lower(X))
    fast = Program.of(jax.jit(lambda x: x[:, :10]).lower(X))
    tried = search(side, fast, slow, 0)
    assert tried.best() is None
    assert tried.tried == 0


def test_flags_are_tried_one_by_one(side: Interpreter) -> None:
    flags = side.flags(["while", "dot"])
    assert all(len(each) == 1 for each in flags)
    assert {"xla_cpu_small_while_loop_byte_threshold": 0} in flags
    assert all(Plan(flags=each) for each in flags)
