"""The PPO of one file learns on a small module, repeats itself by its seed, and keeps to masks."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import hlograph
from experiments import ppo_passes
from experiments.ppo_passes import (
    Agent,
    Args,
    Experience,
    advantages_of,
    batch,
    collect,
    make_env,
    simplifying_passes,
    train,
    update,
)
from hlograph.storage.event_files import scalars
from models.gat import GATEncoder

MODULE = "stax/conv-max/forward-b4"
SMALL = Args(
    benchmarks=(MODULE,),
    held_out=(MODULE,),
    total_steps=512,
    num_envs=4,
    num_steps=16,
    horizon=12,
    learning_rate=3e-3,
)
NUM_ACTIONS = len(simplifying_passes()) + 1


def rollout_of(args: Args, agent: Agent) -> Experience:
    envs = [make_env([MODULE], args) for _ in range(args.num_envs)]
    starts = [env.reset(seed=number) for number, env in enumerate(envs)]
    states = [(observation, info["action_mask"]) for observation, info in starts]
    return collect(agent, envs, states, args, torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def agent() -> Agent:
    torch.manual_seed(0)
    return Agent(NUM_ACTIONS, sees_graphs=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, dict]]:
    folders = [tmp_path_factory.mktemp("run") for _ in range(2)]
    return [(folder, train(replace(SMALL, out=folder))) for folder in folders]


def test_the_program_is_one_short_file_without_the_other_trainers():
    source = Path(ppo_passes.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 350
    assert "from experiments" not in source


def test_it_learns_on_a_small_module(runs):
    folder, result = runs[0]
    rewards = [value for _, value in scalars(folder / "op_counts-seed0")["reward"]]
    assert len(rewards) == 8
    assert sum(rewards[-2:]) > sum(rewards[:2])
    (row,) = result["benchmarks"]
    assert row["op_counts"]["agent"] < row["op_counts"]["start"]


def test_the_same_seed_gives_the_same_agent(runs):
    (first, result), (second, again) = runs
    agents = [torch.load(folder / "op_counts-seed0" / "agent.pt") for folder in (first, second)]
    assert all(torch.equal(agents[0][name], agents[1][name]) for name in agents[0])
    assert result["benchmarks"] == again["benchmarks"]


def test_the_result_says_how_to_make_it_again(runs):
    folder, result = runs[0]
    saved = json.loads((folder / "op_counts-seed0" / "result.json").read_text())
    assert saved["settings"]["seed"] == 0
    assert "torch" in saved["provenance"]["versions"]
    assert saved["count_ratio"] == pytest.approx(result["count_ratio"])
    (row,) = saved["benchmarks"]
    module = hlograph.corpus.benchmark(MODULE).load()
    for name in row["passes"]:
        module.run(name)
    assert module.op_count == row["op_counts"]["agent"]
    counts = row["op_counts"]
    assert saved["count_ratio"] == pytest.approx(counts["xla-simplify"] / counts["agent"])


def test_masked_actions_are_never_taken(agent):
    rollout = rollout_of(SMALL, agent)
    assert not rollout.masks.all()
    assert rollout.masks.gather(2, rollout.actions[..., None]).all()
    log_probs, _ = agent(rollout.observations, rollout.masks.flatten(0, 1))
    assert (log_probs.exp()[~rollout.masks.flatten(0, 1)] == 0).all()
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(len(log_probs)))


def test_a_truncated_episode_is_worth_what_might_have_followed(agent):
    # With a horizon of one step every episode ends with it: truncated, unless the agent stopped.
    rollout = rollout_of(replace(SMALL, horizon=1, num_steps=1, num_envs=8), agent)
    assert rollout.ends.all()
    for number, action in enumerate(rollout.actions[0]):
        env = make_env([MODULE], SMALL)
        env.reset(seed=number)
        observation, reward, _, _, info = env.step(int(action))
        _, value = agent(*batch([(observation, info["action_mask"])]))
        stopped = int(action) == NUM_ACTIONS - 1
        expected = reward / 10 + (0.0 if stopped else SMALL.gamma * value.item())
        assert float(rollout.rewards[0, number]) == pytest.approx(expected, abs=1e-5)


def test_advantages_are_the_discounted_errors_up_to_the_end_of_an_episode():
    rewards, values = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[0.5], [0.25], [4.0]])
    nothing = torch.zeros(3, 1)
    rollout = Experience(
        observations=[],
        masks=nothing,
        actions=nothing,
        log_probs=nothing,
        values=values,
        rewards=rewards,
        ends=torch.tensor([[0.0], [1.0], [0.0]]),
        next_values=torch.tensor([2.0]),
        shares=[],
    )
    args = Args(gamma=0.5, gae_lambda=0.5)
    errors = [1 + 0.5 * 0.25 - 0.5, 2 - 0.25, 3 + 0.5 * 2 - 4]
    expected = [errors[0] + 0.25 * errors[1], errors[1], errors[2]]
    assert advantages_of(rollout, args).flatten().tolist() == pytest.approx(expected)


def test_it_can_see_graphs():
    args = replace(SMALL, observation="graph", num_envs=2, num_steps=2, minibatches=2, epochs=1)
    agent = Agent(NUM_ACTIONS, sees_graphs=True)
    assert isinstance(agent.encoder, GATEncoder)
    before = agent.encoder.opcode.weight.detach().clone()
    optimizer = torch.optim.Adam(agent.parameters(), 1e-2)
    figures = update(agent, optimizer, rollout_of(args, agent), args, torch.Generator())
    assert all(map(math.isfinite, figures.values()))
    assert not torch.equal(agent.encoder.opcode.weight, before)
