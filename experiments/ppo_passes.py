"""Trains an agent to order XLA's passes by PPO, in one process and in this one file.

    python -m experiments.ppo_passes --seed 1              # a minute, then a table
    python -m experiments.ppo_passes --observation graph   # ten minutes; it sees graphs
    tensorboard --logdir runs/ppo_passes

It is made for reading, from top to bottom: settings, agent, environment, rollout, advantages,
update, evaluation, and the program that calls them. Its model is ``ppo.py`` of CleanRL, which is at
github.com/vwxyzjn/cleanrl. The program experiments.train_gnn adds what large runs need: worker
processes, imitation of searches, encoders that share work between states, runs that can be resumed.

- [P] Schulman et al. 2017, "Proximal policy optimization algorithms", arXiv:1707.06347.
- [G] Schulman et al. 2016, "High-dimensional continuous control using generalized advantage
  estimation", arXiv:1506.02438.
- [D] Huang et al. 2022, "The 37 implementation details of proximal policy optimization", ICLR Blog
  Track; the numbers are those of its 13 core details.
- [A] Andrychowicz et al. 2021, "What matters for on-policy deep actor-critic methods?",
  arXiv:2006.05990.
- [M] Huang and Ontañón 2022, "A closer look at invalid action masking in policy gradient
  algorithms", arXiv:2006.14171.
- [T] Pardo et al. 2018, "Time limits in reinforcement learning", arXiv:1712.00378.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import tyro
from torch import Tensor, nn

import hlograph
from envs import PassOrderingEnv
from hlograph.storage.atomic_write import write_atomically, write_text_atomically
from hlograph.storage.event_files import tensorboard_without_tensorflow
from hlograph.storage.provenance import provenance
from models.config import GATConfig
from models.gat import GATEncoder
from models.graph_view import GraphSchema


@dataclass(frozen=True)
class Args:
    """Settings of a run."""

    seed: int = 0
    """Seed of the network, the actions, the environments and the minibatches."""
    out: Path = Path("runs/ppo_passes")
    """Folder in which the run makes its own, for log, network and result."""
    observation: Literal["op_counts", "graph"] = "op_counts"
    """Observation of the agent: instructions by opcode, as in the paper, or the typed graph."""
    benchmarks: tuple[str, ...] = ()
    """Modules to train on; none is the train split, up to 1,200 instructions."""
    held_out: tuple[str, ...] = ()
    """Modules to evaluate on; none is every sixth of ``test-unseen``, up to 3,000 instructions."""
    passes: tuple[str, ...] = ()
    """Passes to choose from; none is those of ``xla-simplify``, which has an order of its own."""
    total_steps: int = 40_960
    """Steps of all environments together."""
    num_envs: int = 16
    """Number of environments, each of which plays an episode."""
    num_steps: int = 40
    """Steps of each environment between two updates."""
    horizon: int = 40
    """Steps after which an episode is truncated."""
    learning_rate: float = 1e-3
    """Step size of Adam at the start; it falls linearly to zero."""
    gamma: float = 0.9
    """Discount of later rewards; low, because the worth of a pass shows within a few steps."""
    gae_lambda: float = 0.95
    """Decay of advantages: 0 trusts the values, 1 the rewards that followed."""
    epochs: int = 4
    """Number of times that an update goes through its transitions."""
    minibatches: int = 4
    """Number of optimizer steps in an epoch."""
    clip: float = 0.2
    """Change of an action's probability, as a ratio, that is rewarded at most."""
    entropy_weight: float = 0.01
    """Weight of the entropy, which keeps the agent trying."""


class Agent(nn.Module):
    """Policy and values: an encoder of what is seen, and two heads on it."""

    def __init__(self, num_actions: int, sees_graphs: bool, width: int = 128) -> None:
        super().__init__()
        if sees_graphs:
            self.encoder = GATEncoder(GraphSchema.of_hlograph(), GATConfig())
            seen = self.encoder.width
        else:
            first, seen = _linear(len(hlograph.OPCODES), width), width
            self.encoder = nn.Sequential(first, nn.LayerNorm(width), nn.GELU())
        self.body = nn.Sequential(_linear(seen, width), nn.Tanh())
        # [A] section 3.2: a small last layer makes the first policy nearly uniform.
        self.policy_head = _linear(width, num_actions, gain=0.01)
        self.value_head = _linear(width, 1, gain=1.0)

    def forward(self, observations: Sequence[Any], masks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns what the agent would do in B states, and what it expects of them.

        Args:
            observations: B observations of the environment.
            masks: bool ``[B, num_actions]``; False for an action that changes nothing.

        Returns:
            Log-probabilities of the actions, float32 ``[B, num_actions]``, and values ``[B]``.
        """
        if isinstance(self.encoder, GATEncoder):
            seen = self.encoder.encode_items([observed["graph"] for observed in observations])
        else:
            # Counts span four orders of magnitude, their logarithms one.
            seen = self.encoder(torch.from_numpy(np.stack(observations)).log1p())
        hidden = self.body(seen)
        # [M]: a masked action has probability 0, and its logit gets no gradient.
        logits = self.policy_head(hidden).masked_fill(~masks, -1e9)
        return logits.log_softmax(dim=1), self.value_head(hidden).squeeze(1)


def _linear(inputs: int, outputs: int, gain: float = math.sqrt(2)) -> nn.Linear:
    """Returns a layer with orthogonal weights and zero biases ([D] detail 2)."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def make_env(benchmarks: Sequence[str], args: Args) -> PassOrderingEnv:
    """Returns ``hlograph/PassOrdering-v0`` on benchmarks, as ``gymnasium.make`` unwraps it.

    The rewards of an episode sum to 100 ln(instructions at the start / at the end), less 0.02 for
    each pass. So what earns most also has the best geometric mean, which the evaluation reports.
    """
    return PassOrderingEnv(
        benchmarks,
        observation=args.observation,
        actions=args.passes or simplifying_passes(),
        reward="log-drop",
        horizon=args.horizon,
        costs=False,
        share_observations=True,
    )


def simplifying_passes() -> tuple[str, ...]:
    """Returns the names of the passes of ``xla-simplify``, each once."""
    steps = hlograph.pipelines["xla-simplify"].run(lambda step: False)
    return tuple(dict.fromkeys(step.name for step in steps))


State = tuple[Any, np.ndarray]  # before a step: an observation, and the mask of actions


class Experience(NamedTuple):
    """T steps of N environments; tensors are float32 ``[T, N]`` unless stated otherwise."""

    observations: list[Any]  # T * N
    masks: Tensor  # bool [T, N, num_actions]
    actions: Tensor  # int64
    log_probs: Tensor  # of the actions
    values: Tensor
    rewards: Tensor
    ends: Tensor  # 1 where an episode ended, else 0
    next_values: Tensor  # [N], of the states after the last step
    shares: list[float]  # instructions left / at the start, of episodes that ended


def batch(states: Sequence[State]) -> tuple[list[Any], Tensor]:
    """Returns observations and masks, bool ``[B, num_actions]``, of B states."""
    observations, masks = zip(*states, strict=True)
    return list(observations), torch.from_numpy(np.stack(masks)).bool()


@torch.no_grad()
def collect(
    agent: Agent,
    envs: Sequence[PassOrderingEnv],
    states: list[State],
    args: Args,
    generator: torch.Generator,
) -> Experience:
    """Plays all environments for some steps from their states, which it brings up to date."""
    observations, steps, shares = [], [], []
    for _ in range(args.num_steps):
        seen, masks = batch(states)
        all_log_probs, values = agent(seen, masks)
        actions = torch.multinomial(all_log_probs.exp(), 1, generator=generator)
        log_probs = all_log_probs.gather(1, actions).squeeze(1)
        rewards, ends = torch.zeros(2, len(envs))
        for i, env in enumerate(envs):
            observation, reward, terminated, truncated, info = env.step(int(actions[i]))
            rewards[i] = reward / 10  # from percents to order one
            if truncated:
                # [T]: the horizon ends the episode, not what was still to be gained. Only the
                # agent that stops gives that up.
                rewards[i] += args.gamma * agent(*batch([(observation, info["action_mask"])]))[1][0]
            if terminated or truncated:
                ends[i] = 1.0
                shares.append(info["op_count"] / info["start_op_count"])
                observation, info = env.reset()
            states[i] = (observation, info["action_mask"])
        observations += seen
        steps.append((masks, actions.squeeze(1), log_probs, values, rewards, ends))
    columns = map(torch.stack, zip(*steps, strict=True))
    return Experience(observations, *columns, next_values=agent(*batch(states))[1], shares=shares)


def advantages_of(rollout: Experience, args: Args) -> Tensor:
    """Returns how much better actions were than expected, ``[T, N]`` ([G] equation 16).

    It is the sum of the errors of the values from a step on to the end of its episode, each
    weighted by ``gamma * gae_lambda`` for every step between.
    """
    advantages = torch.zeros_like(rollout.rewards)
    later, next_values = torch.zeros_like(rollout.next_values), rollout.next_values
    for t in reversed(range(len(advantages))):
        discount = args.gamma * (1 - rollout.ends[t])
        errors = rollout.rewards[t] + discount * next_values - rollout.values[t]
        advantages[t] = later = errors + discount * args.gae_lambda * later
        next_values = rollout.values[t]
    return advantages


def update(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    rollout: Experience,
    args: Args,
    generator: torch.Generator,
) -> dict[str, float]:
    """Improves the agent by one rollout; returns figures of the last minibatch."""
    advantages = advantages_of(rollout, args).flatten()
    returns = advantages + rollout.values.flatten()
    masks, actions = rollout.masks.flatten(0, 1), rollout.actions.flatten()
    figures = {}
    for _ in range(args.epochs):
        # [D] detail 6: in each epoch every transition once, in minibatches drawn by chance.
        for rows in torch.randperm(len(actions), generator=generator).chunk(args.minibatches):
            all_log_probs, values = agent([rollout.observations[i] for i in rows], masks[rows])
            log_probs = all_log_probs.gather(1, actions[rows, None]).squeeze(1)
            ratio = (log_probs - rollout.log_probs.flatten()[rows]).exp()
            # [D] detail 7: advantages are normalized in each minibatch.
            advantage = advantages[rows]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            # [P] equation 7: where the policy has moved far enough, to move on earns nothing.
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            # [A] section 3.4 finds that clipping the values, [D] detail 9, hurts.
            value_loss = (values - returns[rows]).square().mean() / 2
            # A masked action adds nothing: its probability is 0, its logarithm finite.
            entropy = -(all_log_probs.exp() * all_log_probs).sum(dim=1).mean()
            # [D] detail 10: one loss, with a bonus for entropy.
            loss = policy_loss + 0.5 * value_loss - args.entropy_weight * entropy
            optimizer.zero_grad()
            loss.backward()
            # [D] detail 11: the norm of the gradient of all parameters is clipped.
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            figures = {
                "policy_loss": policy_loss.item(),
                "value_loss": value_loss.item(),
                "entropy": entropy.item(),
                # [D] detail 12: the estimator k3 of joschu.net/blog/kl-approx.html.
                "approximate_kl": (ratio - 1 - ratio.log()).mean().item(),
            }
    return figures


@torch.no_grad()
def evaluate(agent: Agent, benchmark: str, args: Args) -> dict[str, Any]:
    """Plays an episode greedily; returns op counts after it and after ``xla-simplify``.

    Raises:
        VerificationError: XLA's verifier refuses the module that the episode leads to.
    """
    env = make_env([benchmark], args)
    observation, info = env.reset(seed=0)
    start, done = env.module.clone(), False
    while not done:
        log_probs = agent(*batch([(observation, info["action_mask"])]))[0][0]
        # Stopping is one decision, and which pass to run another: that it is likelier than each of
        # ninety passes says little. (train_gnn, which also imitates, stops above 0.8.)
        stops = log_probs[-1] > math.log(0.5)
        action = len(log_probs) - 1 if stops else int(log_probs[:-1].argmax())
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    # An order may be cut off where it leaves fewest instructions. The library alone runs it again.
    counts = [start.op_count, *env.trajectory.op_counts]
    passes = list(env.trajectory.passes[: counts.index(min(counts))])
    module, reference = start.clone(), start.clone()
    for name in passes:
        module.run(name)
    module.verify()
    reference.run("xla-simplify")
    modules = {"start": start, "agent": module, "xla-simplify": reference}
    op_counts = {name: counted.op_count for name, counted in modules.items()}
    return {"benchmark": benchmark, "op_counts": op_counts, "passes": passes}


def train(args: Args) -> dict[str, Any]:
    """Trains and evaluates an agent; returns what ``result.json`` in its folder then has."""
    folder = args.out / f"{args.observation}-seed{args.seed}"
    tensorboard_without_tensorflow()
    from torch.utils.tensorboard import SummaryWriter

    # One thread: the sums, and with them the run, do not depend on the number of cores.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    names = args.benchmarks or hlograph.corpus.load(split="train", max_op_count=1200).names
    held_out = hlograph.corpus.load(split="test-unseen", max_op_count=3000).names[::6]
    envs = [make_env(names, args) for _ in range(args.num_envs)]
    starts = [env.reset(seed=args.seed * args.num_envs + i) for i, env in enumerate(envs)]
    states = [(observation, info["action_mask"]) for observation, info in starts]
    agent = Agent(len(envs[0].passes) + 1, args.observation == "graph")
    # [D] detail 3: Adam's epsilon is 1e-5.
    optimizer = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    per_update = args.num_envs * args.num_steps
    with SummaryWriter(str(folder)) as writer:
        for step in range(0, args.total_steps, per_update):
            # [D] detail 4: the learning rate falls linearly.
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - step / args.total_steps)
            rollout = collect(agent, envs, states, args, generator)
            figures = update(agent, optimizer, rollout, args, generator)
            figures["reward"] = rollout.rewards.mean().item()
            figures["instructions_left"] = float(np.mean(rollout.shares or math.nan))
            for name, value in figures.items():
                writer.add_scalar(name, value, step + per_update)
            print(f"{step + per_update:7,}", *(f"{n} {v:.3f}" for n, v in figures.items()))
    rows = [evaluate(agent, name, args) for name in args.held_out or held_out]
    logs = [math.log(r["op_counts"]["xla-simplify"] / r["op_counts"]["agent"]) for r in rows]
    # The geometric mean of xla-simplify / agent: above 1 the agent leaves fewer instructions.
    result = {"count_ratio": math.exp(sum(logs) / len(logs)), "benchmarks": rows}
    result |= {"settings": asdict(args), "provenance": provenance()}
    write_atomically(folder / "agent.pt", lambda path: torch.save(agent.state_dict(), path))
    write_text_atomically(folder / "result.json", json.dumps(result, indent=2, default=str))
    return result


if __name__ == "__main__":
    finished = train(tyro.cli(Args, prog="python -m experiments.ppo_passes", description=__doc__))
    for row in finished["benchmarks"]:
        print(f"{row['benchmark']:60}", *row["op_counts"].items())
    print(f"count ratio to xla-simplify: {finished['count_ratio']:.3f}")
