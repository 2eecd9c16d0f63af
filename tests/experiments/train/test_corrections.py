"""A policy is shown what it should have done in the states that it leads to."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hlograph
from envs import PassOrderingEnv
from experiments.policies.config import STOP_ABOVE, GNNTrainConfig
from experiments.policies.kind import policy_kind
from experiments.policies.pass_ordering import encode
from experiments.search.budget import Budget
from experiments.search.guide import TrainedPolicy
from experiments.search.orders import continuation, needed
from experiments.search.space import PassSpace
from experiments.train.corrections import Correct
from experiments.workers.task_runner import parameters_of
from experiments.workers.worker import RolloutWorker
from hlograph import corpus
from hlograph.isolation import FlightRecorder
from models.config import CloningConfig, GATConfig

KNOWN = ("dce", "algsimp", "reshape-mover", "call-inliner")
"""Passes of a policy that does not know all of the order, and has other numbers for them."""
ORDER = ("call-inliner", "algsimp", "dce", "cse", "algsimp", "dce")
CONFIG = GNNTrainConfig(
    gat=GATConfig(layers=1, heads=2, head_width=8, edge_width=4, counted_kinds=4),
    horizon=12,
    play_horizon=12,
)


@pytest.fixture(scope="module")
def small() -> corpus.Benchmark:
    few = corpus.load("diverse", split="train", max_op_count=200)
    return max(few, key=lambda b: (b.op_count - (b.op_count_xla_simplify or 0), b.name))


@pytest.fixture(scope="module", params=[(), KNOWN], ids=["all", "few"])
def trained(request) -> TrainedPolicy:
    config = replace(CONFIG, passes=request.param)
    network = policy_kind("op_counts", config).new_policy()
    return TrainedPolicy("op_counts", config, parameters_of(network))


@pytest.fixture
def corrected(small, trained):
    worker = RolloutWorker(CONFIG, FlightRecorder())
    return Correct(trained, {small.name: ORDER}).do(worker)


def played(small, trained):
    """Plays the policy greedily in the environment; returns what it saw, without the last state."""
    kind, policy = trained.build()
    env = PassOrderingEnv(
        small.name,
        observation=kind.observation,
        horizon=CONFIG.play_horizon,
        costs=False,
        actions=kind.action_names,
    )
    observation, info = env.reset(seed=0)
    states, done = [], False
    while not done:
        state = encode(observation, info)
        states.append(state)
        store = policy.encoder.store()
        store.add([state.item])
        with torch.no_grad():
            vector = policy.encoder(store, torch.tensor([0]))
            log_probs, _ = policy(
                vector, torch.from_numpy(state.context)[None], torch.from_numpy(state.mask)[None]
            )
        action = int(log_probs[0, :-1].argmax())
        if log_probs[0, -1] > np.log(STOP_ABOVE):
            action = len(kind.action_names)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    return states


def test_the_states_are_those_of_an_episode(small, trained, corrected):
    states = played(small, trained)
    rows = corrected.demonstrations()
    assert len(rows) == len(states)
    assert {state.key for state in states} == set(corrected.keys)
    # Rows of one state stand together, in the order of the visits.
    by_key = {key: [s for s in states if s.key == key] for key in corrected.keys}
    expected = [state for key in corrected.keys for state in by_key[key]]
    assert rows.mask.tolist() == [state.mask.tolist() for state in expected]
    contexts = np.stack([state.context for state in expected])
    assert np.allclose(rows.context.numpy(), contexts)


def test_the_shown_pass_is_allowed_and_helps(small, trained, corrected):
    rows = corrected.demonstrations()
    assert bool(rows.mask.gather(1, rows.action.unsqueeze(1)).all())
    shown = dict(
        zip((corrected.keys[n] for n in corrected.numbers), corrected.actions, strict=True)
    )
    root = small.load()
    first = shown[root.fingerprint()]
    kind, _ = trained.build()
    assert kind.outputs[first] != "stop"
    assert root.run(kind.action_names[first])


def test_returns_are_what_the_needed_passes_earn(small, trained, corrected):
    space = PassSpace(small.load(), small.name, Budget(calls=10_000))
    kind, _ = trained.build()
    order = [hlograph.passes.index(name) for name in ORDER if name in kind.action_names]
    left = needed(space, space.root, continuation(space, space.root, order)).passes
    env = PassOrderingEnv(small.name, observation="op_counts", reward=kind.reward)
    env.reset()
    earned = [env.step(action)[1] for action in (*left, len(hlograph.passes))]
    expected = sum(0.1 * reward * 0.9**step for step, reward in enumerate(earned))
    root = corrected.keys.index(space.root.fingerprint)
    assert corrected.returns[corrected.numbers.index(root)] == pytest.approx(expected, rel=1e-5)


def test_each_kind_of_policy_has_its_own_number_of_corrections():
    cloning = CloningConfig(corrections=3, epochs=7)
    config = GNNTrainConfig(cloning=cloning, op_counts_corrections=2)
    assert policy_kind("gnn", config).cloning == cloning
    assert policy_kind("op_counts", config).cloning == replace(cloning, corrections=2)
