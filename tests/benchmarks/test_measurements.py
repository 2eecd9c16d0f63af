"""Tests that measurements measure what their names say; no test looks at a duration."""

import numpy as np
import pytest
import torch

import hlograph
from benchmarks.byte_counter import ByteCounter
from benchmarks.jaxlib_compile import compiles_of
from benchmarks.random_play import RandomPlay, RandomPlayer
from benchmarks.rewrites import Rewritten, seconds_of_steps
from benchmarks.roofline import Peaks
from benchmarks.steps import random_episode, run_alone
from benchmarks.subjects import NEAR, chain, names_near, subject
from hlograph import corpus
from hlograph.errors import HloError, PassError
from hlograph.module import Module

REFUSED = """HloModule dynamic

ENTRY main {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = s32[] parameter(2)
  m = s32[] parameter(3)
  da = f32[<=8] set-dimension-size(a, n), dimensions={0}
  db = f32[<=8] set-dimension-size(b, m), dimensions={0}
  ROOT s = f32[<=8] add(da, db)
}
"""


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
    module = Module.from_text(REFUSED)
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


def test_a_player_goes_on_until_its_time_is_over():
    name = min(corpus.load(split="train"), key=lambda b: b.op_count).name
    player = RandomPlayer()
    play = RandomPlay([name], "op_counts", False, 0.0, seed=0)
    player.warm_up(play)
    assert player(play) == 1
    assert player(RandomPlay([name], "op_counts", True, 0.05, seed=0)) > 1


def test_bytes_are_counted_where_something_moves():
    a, b = torch.ones(10, 20), torch.ones(20, 30)
    with ByteCounter() as product:
        torch.mm(a, b)
    assert product.total == 4 * (10 * 20 + 20 * 30 + 10 * 30)
    with ByteCounter() as view:
        a.T.reshape(20, 10)[2:].view(18, 10)
    assert view.total == 0
    with ByteCounter() as in_place:
        a.add_(1.0)
    assert in_place.total == 4 * 2 * 10 * 20
    ones = torch.sparse_coo_tensor(
        torch.tensor([[0, 3], [1, 2]]), torch.ones(2), (5, 20), check_invariants=True
    )
    with ByteCounter() as sparse:
        torch.sparse.mm(ones, b)
    assert sparse.total >= 2 * (2 * 8 + 4) + 4 * (20 * 30 + 5 * 30)


def test_the_roofline_is_the_stricter_of_two_limits():
    peaks = Peaks(bandwidth=100.0, arithmetic=1_000.0)
    assert peaks.share(bytes_moved=200.0, flops=1.0, seconds=4.0) == 0.5
    assert peaks.share(bytes_moved=1.0, flops=2_000.0, seconds=8.0) == 0.25
