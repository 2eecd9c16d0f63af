"""Tests that measurements measure what their names say; no test looks at a duration."""

import numpy as np
import pytest

import hlograph
from benchmarks.rewrites import Rewritten, seconds_of_steps
from benchmarks.steps import compiles_of, random_episode, run_alone
from benchmarks.subjects import NEAR, chain, names_near, subject
from hlograph import corpus
from hlograph.errors import HloError, PassError
from hlograph.module import Module
from tests.envs.conftest import DYNAMIC


@pytest.mark.parametrize("size", [3, 10, 1_000])
def test_synthetic_modules_have_the_size_asked_for_and_dead_code_nowhere(size):
    module = Module.from_text(chain(size))
    assert module.op_count == size
    module.verify()
    assert not module.run("dce")


def test_a_module_of_the_corpus_stands_for_a_size_if_one_is_near():
    near, far = subject(1_000), subject(1_000_000)
    assert near.benchmark is not None
    assert 1_000 / NEAR <= near.benchmark.op_count <= 1_000 * NEAR
    assert near.module.op_count == near.benchmark.op_count
    assert far.benchmark is None


def test_sets_of_modules_are_training_modules_of_that_size():
    names = names_near(300, 4)
    assert len(set(names)) == 4
    train = set(corpus.load(split="train").names)
    assert set(names) <= train
    assert all(300 / NEAR <= corpus.benchmark(name).op_count <= 300 * NEAR for name in names)
    with pytest.raises(HloError, match="fewer"):
        names_near(10**7, 1)


def test_an_episode_leaves_the_module_as_it_was():
    module = subject(100).module
    before = module.fingerprint()
    found = random_episode(module, "op_counts", seed=1)
    assert found.env > 0 < found.alone
    assert module.fingerprint(cached=False) == before


def test_a_pass_that_xla_refuses_ends_no_measurement():
    module = Module.from_text(DYNAMIC)
    with pytest.raises(PassError):
        module.clone().run("dynamic_padder")
    run_alone(module, hlograph.passes.names.index("dynamic_padder"))
    module.verify()


def test_rewritten_copies_come_in_the_same_order_and_leave_the_module_as_it_was():
    module = subject(100).module
    before = module.fingerprint()
    one, other = (Rewritten(module, seed=3) for _ in range(2))
    states = [one.next().fingerprint() for _ in range(4)]
    assert states == [other.next().fingerprint() for _ in range(4)]
    assert before not in states
    assert len(set(states)) > 1
    assert module.fingerprint(cached=False) == before


def test_steps_of_rewrites_are_timed_with_the_environment_and_without_it():
    with_env, alone = seconds_of_steps(subject(100).module, seed=0)
    assert with_env > 0 < alone


def test_the_compile_stops_and_leaves_no_hook_behind():
    import jax

    with compiles_of(Module.from_text(chain(10))) as compile_once:
        compile_once()
        compile_once()
    assert jax.jit(lambda x: x + 1).lower(np.ones(3, np.float32)).compile()(
        np.ones(3, np.float32)
    ).tolist() == [2.0, 2.0, 2.0]
