"""A changed program begins with what made the last version of its name faster."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.measuring.trial import Job
from hlograph.optimization import Store
from hlograph.optimization.cache import EARLIER_VERSION, plans_of_earlier_version
from hlograph.plans import Plan, Program
from hlograph.plans.transforming import apply_steps

FLAG = {"xla_cpu_prefer_vector_width": 512}


def smallest(x):
    return jnp.sort(jnp.sin(x))[:, :5]


def named_smallest():
    """Returns another function of the same name, with a change."""

    def smallest(images):
        return jnp.sort(jnp.cos(images) + 1)[:, :7] * 2

    return smallest


def job_of(function, *shape):
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return Job(Program.of(jax.jit(function).lower(x)), [x])


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def planned(store):
    """A job whose recipe is in the store."""
    job = job_of(smallest, 8, 256)
    module = job.program.module()
    module.run("call-inliner")
    (rewrite,) = module.rewrites(["sort-prefix-as-top-k"])
    steps = ("call-inliner", rewrite.place)
    store.put_recipe(job, Plan(job.program.name, job.program.fingerprint, steps, flags=FLAG))
    return job


@pytest.mark.parametrize("function", [smallest, named_smallest()])
@pytest.mark.parametrize("shape", [(8, 256), (16, 300)])
def test_a_version_begins_with_the_recipe_of_the_last_one(store, planned, function, shape):
    job = job_of(function, *shape)
    (plan,) = plans_of_earlier_version(store, job)
    assert plan.method == EARLIER_VERSION
    assert plan.flags == FLAG
    module = job.program.module()
    apply_steps(module, plan.steps)
    assert " topk(" in module.to_text() or "TopK" in module.to_text()


def test_other_names_have_no_recipe(store, planned):
    assert not list(plans_of_earlier_version(store, job_of(lambda x: jnp.sort(x)[:, :5], 8, 256)))


def test_a_recipe_that_does_nothing_is_no_plan(store, planned):
    store.put_recipe(planned, Plan(steps=("rule-that-is-gone(add.1)",)))
    assert not list(plans_of_earlier_version(store, planned))


def test_a_damaged_recipe_is_left_out(store, planned):
    (file,) = (store.location).glob("*.recipe.json")
    file.write_text("{")
    assert not list(plans_of_earlier_version(store, planned))
