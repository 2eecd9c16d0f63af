"""Costs reach rewards and the value head if a run asks for them."""

from dataclasses import replace

import pytest
import torch

from envs import Shaped
from envs.rewards import LogDrop
from experiments.policies.kind import policy_kind
from experiments.policies.pass_ordering import COST_WIDTH, context_width
from experiments.policies.player import Episodes
from experiments.workers.worker import RolloutWorker
from hlograph import passes
from hlograph.isolation import FlightRecorder, Quarantine
from tests.experiments.tiny_run import tiny_config


def test_shaping_has_the_discount_of_who_learns():
    config = tiny_config(reward="shaped")
    config = replace(config, gat_ppo=replace(config.gat_ppo, gamma=0.7))
    gammas = []
    for name in ("gnn", "op_counts"):
        reward = policy_kind(name, config).reward
        assert isinstance(reward, Shaped)
        gammas.append(reward.gamma)
    assert gammas == [0.7, config.op_counts_ppo.gamma]
    assert policy_kind("gnn", tiny_config(reward="op-count")).reward == "op-count"


def test_calls_cost_what_the_settings_say():
    config = tiny_config(reward="log-drop", call_cost=0.3)
    assert policy_kind("gnn", config).reward == LogDrop(call_cost=0.3)


@pytest.mark.parametrize("value_costs", [False, True])
def test_contexts_have_the_width_that_policies_expect(value_costs, tmp_path):
    config = tiny_config(value_costs=value_costs, reward="shaped", out=tmp_path)
    kind = policy_kind("op_counts", config)
    worker = RolloutWorker(config, FlightRecorder())
    (name, *_) = config.benchmarks
    policy = kind.new_policy()
    episodes = Episodes(kind, policy, worker.env_maker(kind, [name], Quarantine()))
    episodes.begin({0: name})
    after = episodes.step(lambda *_: [passes["algsimp"].index]).after[0]
    assert len(after.state.context) == context_width(len(kind.outputs)) + COST_WIDTH * value_costs
    assert ("flops" in after.info) == value_costs
    if value_costs:
        costs = torch.tensor(after.info["cost_changes"])
        assert torch.equal(torch.from_numpy(after.state.context[-COST_WIDTH:]), costs)
    encoded = policy.encoder.encode_items([after.state.item])
    context, mask = (torch.from_numpy(x)[None] for x in (after.state.context, after.state.mask))
    log_probs, value = policy(encoded, context, mask)
    assert log_probs.shape == (1, len(kind.outputs))
    assert value.isfinite().all()
