"""Tests invariants of the update, and learning in small worlds whose best policy is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.actor_critic import ActorCritic, sample
from models.config import GATConfig, HeadsConfig, OpCountConfig, PPOConfig
from models.gat import GATEncoder
from models.gradients import NonFiniteGradientError
from models.op_count_mlp import OpCountEncoder
from models.ppo import PPO
from models.rollout import Rollout, StateTable

SMALL_GAT = GATConfig(layers=2, heads=2, head_width=8, edge_width=8, counted_kinds=8)
ACTIONS = 4


def _op_count_policy(seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    encoder = OpCountEncoder(6, OpCountConfig(width=32))
    return ActorCritic(encoder, context_width=1, num_actions=ACTIONS, config=HeadsConfig(32))


def _graph_policy(schema, seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    return ActorCritic(GATEncoder(schema, SMALL_GAT), 1, ACTIONS, HeadsConfig(32))


def _play(
    policy: ActorCritic,
    items: Sequence[Any],
    reward_of: Callable[[int, int], float],
    seed: int,
    steps: int = 64,
) -> Rollout:
    """Episodes of one step each: a random state, an action, a reward, the end."""
    generator = torch.Generator().manual_seed(seed)
    state = torch.randint(len(items), (steps,), generator=generator)
    context = torch.ones(steps, 1)
    mask = torch.rand(steps, ACTIONS, generator=generator) < 0.8
    mask[:, 0] = True
    table = StateTable(policy)
    numbers = table.numbers(state.tolist(), [items[s] for s in state.tolist()])
    with torch.no_grad():
        log_probs, value = policy(table.vectors(numbers), context, mask)
    action = sample(log_probs, generator)
    reward = [reward_of(s, a) for s, a in zip(state.tolist(), action.tolist(), strict=True)]
    shape = (steps // 8, 8)
    return Rollout(
        states=table.states,
        keys=table.keys,
        state=torch.tensor(numbers).view(shape),
        context=context.view(*shape, 1),
        mask=mask.view(*shape, ACTIONS),
        action=action.view(shape),
        log_prob=log_probs.gather(1, action.unsqueeze(1)).view(shape),
        value=value.view(shape),
        next_value=torch.zeros(shape),
        reward=torch.tensor(reward).view(shape),
        terminated=torch.ones(shape, dtype=torch.bool),
        truncated=torch.zeros(shape, dtype=torch.bool),
    )


def _greedy(policy: ActorCritic, items: Sequence[Any]) -> list[int]:
    with torch.no_grad():
        mask = torch.ones(len(items), ACTIONS, dtype=torch.bool)
        log_probs, _ = policy(policy.encoder.encode_items(items), torch.ones(len(items), 1), mask)
    return log_probs.argmax(1).tolist()


def _learn(
    policy: ActorCritic, items: Sequence[Any], answers: Sequence[int], iterations: int
) -> None:
    config = PPOConfig(learning_rate=3e-3, reward_scale=1.0, target_kl=None)
    ppo = PPO(policy, config)
    for i in range(iterations):
        rollout = _play(policy, items, lambda s, a: float(a == answers[s]), seed=i)
        ppo.update(rollout, i / iterations, torch.Generator().manual_seed(i))


def _count_items(num: int = 12) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 30, (num, 6)).astype(np.float32))


def test_op_count_policy_learns_which_opcode_is_most_frequent():
    items = _count_items()
    answers = [int(np.argmax(item[:ACTIONS])) for item in items]
    policy = _op_count_policy()
    _learn(policy, items, answers, iterations=60)
    assert _greedy(policy, items) == answers


def test_graph_policy_learns_which_opcode_is_in_the_graph(schema, opcode_graph):
    items = [opcode_graph([5, 1 + k % 4] + [5] * (k // 4), [(0, 1)]) for k in range(12)]
    answers = [k % 4 for k in range(12)]
    policy = _graph_policy(schema)
    _learn(policy, items, answers, iterations=15)
    assert _greedy(policy, items) == answers


def test_graph_policy_learns_what_op_counts_cannot_tell(schema, opcode_graph):
    # The same opcodes in all graphs; the answer is the opcode of the root's first operand.
    items, answers = [], []
    for first in range(4):
        operands = [1 + first, *(o for o in range(1, 5) if o != 1 + first)]
        items.append(opcode_graph([*operands, 5], [(i, 4) for i in range(4)]))
        answers.append(first)
    policy = _graph_policy(schema)
    _learn(policy, items, answers, iterations=40)
    assert _greedy(policy, items) == answers


@pytest.mark.parametrize("kind", ["graph", "op_counts"])
def test_ratio_is_one_before_the_first_step(kind, schema, random_graph):
    if kind == "graph":
        policy = _graph_policy(schema)
        items: list[Any] = [random_graph(20 + i, 50, seed=i) for i in range(9)]
    else:
        policy, items = _op_count_policy(), _count_items()
    rollout = _play(policy, items, lambda s, a: float(a), seed=0)
    config = PPOConfig(node_budget=64)
    stats = PPO(policy, config).update(rollout, 0.0, torch.Generator().manual_seed(0))
    assert stats.first_ratio_error < 1e-5
    assert stats.optimizer_steps > 1
    assert stats.approximate_kl > 0


def test_what_is_learned_does_not_depend_on_the_node_budget(schema, random_graph):
    items = [random_graph(20 + i, 50, seed=i) for i in range(9)]
    learned = []
    for budget in (30, 100, 10_000):
        policy = _graph_policy(schema)
        rollout = _play(policy, items, lambda s, a: float(s == a), seed=0)
        config = PPOConfig(node_budget=budget, epochs=1, minibatches=1)
        stats = PPO(policy, config).update(rollout, 0.0, torch.Generator().manual_seed(0))
        learned.append((stats.policy_loss, stats.value_loss, stats.gradient_norm))
    np.testing.assert_allclose(learned[1:], learned[:1] * 2, rtol=1e-4, atol=1e-6)


def test_what_is_learned_does_not_depend_on_the_threads(schema, random_graph):
    items = [random_graph(20 + i, 50, seed=i) for i in range(9)]
    learned = []
    for threads in (1, 3):
        policy = _graph_policy(schema)
        rollout = _play(policy, items, lambda s, a: float(s == a), seed=0)
        PPO(policy, PPOConfig(minibatch_parts=3), threads).update(
            rollout, 0.0, torch.Generator().manual_seed(0)
        )
        learned.append(torch.cat([p.detach().flatten() for p in policy.parameters()]))
    assert torch.equal(*learned)


@pytest.mark.parametrize("kind", ["graph", "op_counts"])
def test_same_seed_same_parameters(kind, schema, random_graph):
    def train(seed: int) -> torch.Tensor:
        if kind == "graph":
            policy = _graph_policy(schema)
            items: list[Any] = [random_graph(20 + i, 50, seed=i) for i in range(9)]
        else:
            policy, items = _op_count_policy(), _count_items()
        ppo = PPO(policy, PPOConfig())
        for i in range(3):
            rollout = _play(policy, items, lambda s, a: float(s == a), seed=seed + i)
            ppo.update(rollout, 0.0, torch.Generator().manual_seed(seed + i))
        return torch.cat([p.detach().flatten() for p in policy.parameters()])

    assert torch.equal(train(1), train(1))
    assert not torch.equal(train(1), train(2))


def test_update_stops_when_the_policy_has_moved_far_enough():
    policy, items = _op_count_policy(), _count_items()
    rollout = _play(policy, items, lambda s, a: float(a), seed=0)
    config = PPOConfig(learning_rate=0.05, epochs=50, target_kl=0.01)
    stats = PPO(policy, config).update(rollout, 0.0, torch.Generator().manual_seed(0))
    assert stats.approximate_kl > 0.015
    assert 0 < stats.optimizer_steps < 50 * config.minibatches


def test_learning_rate_falls_linearly():
    policy, items = _op_count_policy(), _count_items()
    rollout = _play(policy, items, lambda s, a: 0.0, seed=0)
    ppo = PPO(policy, PPOConfig(learning_rate=1.0e-3, final_learning_rate=0.2))
    rates = [
        ppo.update(rollout, progress, torch.Generator()).learning_rate
        for progress in (0.0, 0.5, 1.0)
    ]
    assert rates == pytest.approx([1.0e-3, 0.6e-3, 0.2e-3])


def test_the_average_weighs_later_updates_more():
    items = _count_items()
    policy = _op_count_policy()
    ppo = PPO(policy, PPOConfig(averaging=0.75))
    assert ppo.average is None
    first = ppo.averaged()
    assert first is not policy
    states = []
    for iteration in range(3):
        rollout = _play(policy, items, lambda state, action: float(action == state % 4), iteration)
        ppo.update(rollout, 0.0, torch.Generator().manual_seed(iteration))
        states.append({name: value.clone() for name, value in policy.state_dict().items()})
    assert ppo.average is not None
    for name, mean in ppo.averaged().state_dict().items():
        one, two, three = (state[name] for state in states)
        expected = 0.75 * (0.75 * one + 0.25 * two) + 0.25 * three
        torch.testing.assert_close(mean, expected)
        assert torch.equal(mean, ppo.average[name])
        assert torch.equal(policy.state_dict()[name], three)


def test_without_averaging_there_is_only_the_policy():
    policy = _op_count_policy()
    ppo = PPO(policy, PPOConfig())
    rollout = _play(policy, _count_items(), lambda state, action: 0.0, 0)
    ppo.update(rollout, 0.0, torch.Generator().manual_seed(0))
    assert ppo.average is None
    for name, value in ppo.averaged().state_dict().items():
        assert torch.equal(value, policy.state_dict()[name])
    with pytest.raises(ValueError, match="averaging of 0 to below 1, got 1"):
        PPOConfig(averaging=1.0)


def test_clipped_values_move_no_further_than_the_clip():
    items = _count_items()
    free, clipped = _op_count_policy(), _op_count_policy()
    config = PPOConfig(learning_rate=1e-2, epochs=20, target_kl=None, reward_scale=10.0)
    moved = []
    for policy, value_clip in ((free, None), (clipped, 0.05)):
        rollout = _play(policy, items, lambda s, a: 1.0, seed=0)
        ppo = PPO(policy, replace(config, value_clip=value_clip))
        ppo.update(rollout, 0.0, torch.Generator().manual_seed(0))
        with torch.no_grad():
            encoded = policy.encode(rollout.states, rollout.state.flatten())
            context, mask = rollout.context.flatten(0, 1), rollout.mask.flatten(0, 1)
            _, value = policy(encoded, context, mask)
        moved.append(float((value - rollout.value.flatten()).abs().mean()))
    assert moved[1] < 0.5 * moved[0]


def test_minibatches_without_a_finite_gradient_take_no_step():
    policy, items = _op_count_policy(), _count_items()
    rollout = _play(policy, items, lambda s, a: float(a), seed=0)
    rollout.context[rollout.state == 3] = torch.nan
    config = PPOConfig(target_kl=None)
    stats = PPO(policy, config).update(rollout, 0.0, torch.Generator().manual_seed(0))
    # The state is in one minibatch of each epoch.
    assert stats.skipped_minibatches == config.epochs
    assert stats.optimizer_steps == config.epochs * (config.minibatches - 1)
    assert all(np.isfinite(value) for value in vars(stats).values())
    assert all(parameter.isfinite().all() for parameter in policy.parameters())


def test_an_update_without_any_finite_gradient_is_an_error():
    policy, items = _op_count_policy(), _count_items()
    before = [parameter.clone() for parameter in policy.parameters()]
    rollout = _play(policy, items, lambda s, a: float("nan"), seed=0)
    with pytest.raises(NonFiniteGradientError, match="all 8 minibatches"):
        PPO(policy, PPOConfig()).update(rollout, 0.0, torch.Generator().manual_seed(0))
    assert all(map(torch.equal, before, policy.parameters()))
