"""Times of variants in turns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.kernel_bank.timing import CacheSweep, Compiled, largest_cache, run_in_turns
from hlograph.execution.runs import Run
from hlograph.profiling.optimized_module import OptimizedModule


def compiled(function, *shape):
    executable = jax.jit(function).lower(jnp.ones(shape)).compile().runtime_executable()
    run = Run(executable, [np.ones(shape, np.float32)])
    run.seconds()
    return Compiled(run, OptimizedModule.of(executable))


def test_more_work_takes_longer():
    variants = [compiled(jnp.tanh, 64), compiled(jnp.sort, 400_000)]
    run = run_in_turns(variants, CacheSweep())
    brief, long = run.times()
    assert max(brief.warm) < min(long.warm)
    assert len(brief.warm) == len(long.warm) == 3
    assert len(brief.cold) == 1
    assert 0 <= run.load <= 1
    ((text, calls, seconds),) = brief.kernels
    assert "tanh" in text
    assert calls == 1
    assert seconds == pytest.approx(np.median(brief.warm), rel=9)


def test_brief_kernels_have_more_turns():
    (times,) = run_in_turns([compiled(jnp.tanh, 64)], CacheSweep()).times()
    assert len(times.warm) == 5
    assert len(times.cold) == 3
    assert min(times.cold) > min(times.warm)


def test_the_sweep_is_larger_than_the_caches():
    assert largest_cache() >= 1 << 18
