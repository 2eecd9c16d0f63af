"""Tests of the comparison of a process that keeps freed memory with one that does not."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from hlograph.errors import HloError
from hlograph.execution.process_memory import can_keep_freed_memory
from hlograph.measuring import kept_memory
from hlograph.measuring.kept_memory import StoredArray, compared, may_pay
from hlograph.measuring.trial import Effort, Job
from hlograph.plans import Plan, Program

pytestmark = pytest.mark.skipif(
    not can_keep_freed_memory(), reason="the C library is not glibc, which can be told"
)
_EFFORT = Effort(pairs=5, block_seconds=0.001, max_seconds=5, thorough=True)
_NARROW = Plan(flags={"xla_cpu_prefer_vector_width": 128})


def _job(size):
    x = np.linspace(0, 1, size, dtype=np.float32)
    return Job(Program.of(jax.jit(lambda x: (x + 1, x * 2, jnp.sqrt(x))).lower(x)), [x])


def test_page_faults_are_gone_where_freed_memory_is_kept():
    # Three results of 40 MB. Of less than 32 MiB, glibc may keep blocks by itself: it learns from
    # what the process has freed before, and the workers' server may have freed as much.
    comparison = compared(_job(10_000_000), _NARROW, _EFFORT)
    assert comparison is not None
    kept = comparison.kept
    assert kept.faults_before > 1000
    assert kept.faults < 0.7 * kept.faults_before
    assert kept.low <= kept.ratio <= kept.high
    assert kept.pairs >= _EFFORT.least
    assert comparison.plan_ratio > 0
    assert f"{kept.faults_before:,} page faults in a call" in str(kept)


@pytest.mark.parametrize(("alone", "long"), [(True, 60.0), (False, 0.0)])
def test_a_plan_alone_and_runs_that_take_long(alone, long, monkeypatch):
    monkeypatch.setattr(kept_memory, "LONG_RUN", long)
    comparison = compared(_job(10_000_000), _NARROW, _EFFORT, alone=alone)
    assert comparison is not None
    assert (comparison.plan_ratio == 1) is alone
    assert comparison.kept.faults_before > 1000
    assert comparison.kept.pairs == (2 if long == 0 else _EFFORT.pairs)


def test_a_program_without_page_faults_is_not_measured():
    assert compared(_job(8), Plan(), _EFFORT) is None


def test_a_process_that_cannot_compile_the_plan():
    with pytest.raises(HloError):
        compared(_job(8), Plan(steps=("no-such-pass",)), _EFFORT)


def test_faults_pay_if_they_may_take_a_share_of_a_call():
    assert may_pay(1000, 1e-3)
    assert not may_pay(1000, 1.0)
    assert not may_pay(10, 1e-6)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int16).reshape(2, 3).T,
        np.float32(3).reshape(()),
        np.zeros((0, 4)),
        np.array([True, False]),
        np.ones(3, ml_dtypes.bfloat16),
        np.array([1 + 2j]),
    ],
)
def test_arrays_in_files(array, tmp_path):
    read = StoredArray.of(array, tmp_path / "array").read()
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert np.array_equal(read, array)
