"""Policies for few instructions as methods that propose plans."""

import jax
import jax.numpy as jnp
import pytest

from experiments import play
from hlograph.errors import HloError
from hlograph.plans import Program
from hlograph.plans.transforming import apply_steps
from tests.hlograph.optimization.outcomes import asked


def _sums(x: jax.Array) -> jax.Array:
    return sum((x * 1.0 + 0.0) @ x.T for _ in range(3))


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.of(jax.jit(_sums).lower(jnp.ones((8, 8))))


def test_a_policy_proposes_one_plan_that_leaves_fewer_instructions(program):
    method = play.sweeps(program, "close")
    plan = asked(method)
    assert plan is not None
    assert plan.method == "policy: sweeps"
    assert plan.fingerprint == program.fingerprint
    module = program.module()
    before = module.clone()
    apply_steps(module, plan.steps)
    assert module.op_count < before.op_count
    assert module.equivalent_to(before)
    assert asked(method) is None


def test_a_policy_that_is_not_there_is_named(program):
    with pytest.raises(HloError, match="no-such-policy"):
        asked(play.policy("no-such-policy", program, "close"))
