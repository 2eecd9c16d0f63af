"""Recorded demonstrations are what an environment shows on the same order."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hlograph
from envs import PassOrderingEnv
from experiments.policies.config import GNNTrainConfig
from experiments.policies.kind import PolicyInput
from experiments.policies.pass_ordering import encode
from experiments.train.demonstrations import Demonstrate
from experiments.train.recorded_steps import RecordedSteps
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.isolation import FlightRecorder

ORDER = ("call-inliner", "tuple-simplifier", "algsimp", "reshape-mover", "dce", "cse")


@pytest.fixture(scope="module")
def small() -> corpus.Benchmark:
    few = corpus.load("diverse", split="train", max_op_count=200)
    return max(few, key=lambda b: (b.op_count - (b.op_count_xla_simplify or 0), b.name))


@pytest.fixture
def worker(tmp_path) -> RolloutWorker:
    config = GNNTrainConfig(out=tmp_path, reward="op-count-drop")
    return RolloutWorker(config, FlightRecorder())


@pytest.mark.parametrize("name", ["gnn", "op_counts"])
@pytest.mark.parametrize("known", [hlograph.passes.names, ("cse", "reshape-mover", *ORDER[4::-2])])
def test_first_views_are_the_environments(small, worker, name, known):
    worker = RolloutWorker(replace(worker.config, passes=known), FlightRecorder())
    recorded = Demonstrate(kind=name, orders={small.name: ORDER}, seed=0, visits=3).do(worker)
    kind = "graph" if name == "gnn" else "op_counts"
    env = PassOrderingEnv(small.name, observation=kind, costs=False, actions=known)
    observation, info = env.reset()
    seen, actions, drops = [encode(observation, info)], [], []
    for name in ORDER:
        if name not in known:
            continue
        allowed = info["action_mask"][known.index(name)]
        observation, reward, _, _, info = env.step(known.index(name))
        # A pass without effect is shown if it acts on opcodes that the module has.
        if info["changed"] or (allowed and hlograph.passes[name].acts_on):
            actions.append(known.index(name))
            drops.append(reward)
            seen.append(encode(observation, info))
    actions.append(len(known))
    # Orders are recorded from their ends.
    assert recorded.keys == [state.key for state in reversed(seen)]
    taught = recorded.demonstrations()
    assert len(taught) == 3 * len(seen)
    assert taught.action.tolist() == [a for a in reversed(actions) for _ in range(3)]
    sizes = [float(state.context[-1]) for state in reversed(seen)]
    assert taught.context[::3, -1].tolist() == pytest.approx(sizes)
    assert taught.mask[::3].tolist() == [state.mask.tolist() for state in reversed(seen)]
    gamma = 0.97 if kind == "graph" else 0.9
    returned, expected = 0.0, [0.0]
    for drop in reversed(drops):
        returned = 0.1 * drop + gamma * returned
        expected.append(returned)
    assert taught.returns[::3].tolist() == pytest.approx(expected, rel=1e-5)


def test_what_is_imitated_is_not_masked(small, worker):
    order = ("call-inliner", "tuple-simplifier", "reshape-mover", "dce", "tuple-simplifier", "cse")
    changed = [small.load().run(name) for name in order]
    assert not all(changed)  # some of them are imitated though they change nothing
    taught = (
        Demonstrate(kind="op_counts", orders={small.name: order}, seed=1, visits=6, tries=91)
        .do(worker)
        .demonstrations()
    )
    assert bool(taught.mask.gather(1, taught.action.unsqueeze(1)).all())


def test_an_action_that_is_masked_is_refused(worker):
    kind = worker.kind("op_counts")
    state = PolicyInput("a", np.zeros(1), np.zeros(3, np.float32), np.array([True, False, True]))
    recorded = RecordedSteps(kind.make_policy().encoder.store())
    with pytest.raises(ValueError, match=r"can be taken, got masked ones: \[1\]"):
        recorded.add([state], 1, 0.0, 0)
    assert not recorded.keys


def test_what_is_masked_changes_nothing(small, worker):
    recorded = Demonstrate(
        kind="op_counts", orders={small.name: ORDER}, seed=1, visits=6, tries=30
    ).do(worker)
    taught = recorded.demonstrations()
    assert not bool(taught.mask.all())
    assert bool(taught.mask.gather(1, taught.action.unsqueeze(1)).all())
    module = small.load()
    changed = [module.run(name) for name in ORDER]
    states = {recorded.keys[0]: module}
    assert any(changed)
    for key, mask in zip(
        [recorded.keys[n] for n in recorded.numbers], taught.mask.tolist(), strict=True
    ):
        if key in states:
            masked = [hlograph.passes[n] for n, allowed in enumerate(mask[:-1]) if not allowed]
            assert not any(states[key].clone().run(entry) for entry in masked)


def test_parts_are_joined(small, worker):
    other = sorted(corpus.load("diverse", split="train", max_op_count=60), key=lambda b: b.name)[0]
    orders = {small.name: ORDER, other.name: ORDER[:2]}
    whole = Demonstrate(kind="op_counts", orders=orders, seed=0).do(worker)
    joined = Demonstrate(kind="op_counts", orders={small.name: ORDER}, seed=0).do(worker)
    joined.extend(Demonstrate(kind="op_counts", orders={other.name: ORDER[:2]}, seed=0).do(worker))
    one, two = whole.demonstrations(), joined.demonstrations()
    for name in ("state", "episode", "context", "mask", "action", "returns"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name
    counts = [d.states.stacked(range(len(d.states))) for d in (one, two)]
    assert np.array_equal(*counts)
