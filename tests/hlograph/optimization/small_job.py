"""A small function, and the search for its plan."""

import jax
import jax.numpy as jnp
import numpy as np

from hlograph.measuring.trial import Job
from hlograph.plans import Program

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
HERE = "tests.hlograph.optimization.proposals"


def small_function(x):
    return jnp.tanh(x @ x)


def small_job(function=small_function, numerics="close"):
    return Job(Program.of(jax.jit(function).lower(X)), [X], numerics)
