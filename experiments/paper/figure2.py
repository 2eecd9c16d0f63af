"""Figure 2 of the paper: agents on GPT-2's training graphs, train and test disjoint.

DQN, A2C, TRPO and PPO see op counts, PPO with a GNN sees the graph. Each learns from the same
number of pass calls and is played greedily on families that it never saw.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper.agent_settings import AGENTS, MASKED, AgentName, AgentSettings
from experiments.paper.settings import FULL, PAPER, Settings

if TYPE_CHECKING:
    from experiments.evaluate.study import Study, Trial
    from experiments.paper.training_study import Benchmarks
    from experiments.policies.config import PolicyName

OURS: "Mapping[PolicyName, str]" = {"op_counts": "PPO (op counts)", "gnn": "PPO (GNN)"}
"""This project's own policies, and their names in tables."""


@dataclass(frozen=True)
class Figure2Config(Settings):
    """Settings of figure 2."""

    agents: tuple[AgentName, ...] = AGENTS
    """Agents of stable-baselines3 and sb3-contrib."""
    agent: AgentSettings = field(default_factory=AgentSettings)
    """Hyper-parameters of the agents."""


_DEFAULTS: dict[str, Any] = {
    "corpus_set": "gpt2-train",
    "total_steps": 7_680,
    "test_op_limit": 3_000,
}
PRESETS = {
    "quick": Figure2Config(**_DEFAULTS),
    "full": Figure2Config(**_DEFAULTS | FULL),
    "paper": Figure2Config(**_DEFAULTS | PAPER),
}

_NOTES = (
    "Every agent learned from the same number of pass calls, and its last policy was measured. "
    "Agents were played greedily, in new environments, in which a call of a pass without effect "
    "counts.",
    "Greedy play: policies that give actions probabilities (this project's, A2C, TRPO and the PPOs "
    "of the libraries) stop where stopping is more likely than not, and otherwise take the most "
    "likely pass. With the mask, the probabilities are those among the allowed passes. DQN, which "
    "has values and no probabilities, takes the action of the highest value.",
    "The agents of stable-baselines3 and sb3-contrib see op counts and learn without an action "
    "mask (PPO with masks has it). A greedy agent without memory that chooses a pass without "
    "effect repeats it until the horizon, so each was also played with the mask, as "
    f'"{MASKED}". This project\'s policies also see the mask and the size relative to the start.',
    "Their hyper-parameters are the libraries' defaults, except for those of `agent` in the "
    "settings. Discount, reward scale and GAE's lambda, and all settings of PPO, are those of "
    "`op_counts_ppo`, except for the entropy bonus: theirs keeps its first weight, where this "
    "project's falls to `final_entropy` times that.",
)


def run(config: Figure2Config, folder: Path) -> "Study":
    """Trains all agents with all seeds; see ``Experiment.run``."""
    from experiments.paper.agent_tasks import require_libraries
    from experiments.paper.training_study import Variant, training_study

    if config.agents:
        require_libraries()
    settings = config.training(0, folder)
    variants = [Variant(name, kind, settings, folder / kind) for kind, name in OURS.items()]
    calls = f"Each agent learned from {config.steps:,} pass calls and imitated nothing."
    return training_study(
        "figure2",
        config,
        variants,
        folder,
        (calls, *_NOTES),
        lambda benchmarks: _third_party(config, folder, benchmarks),
    )


def _third_party(config: Figure2Config, folder: Path, benchmarks: "Benchmarks") -> "list[Trial]":
    """Trains the libraries' agents, one agent in each worker at a time."""
    from experiments.evaluate.evaluation import count_ratios
    from experiments.evaluate.study import Trial
    from experiments.paper.agent_tasks import TrainAgent
    from experiments.paper.agents import AgentTraining, Learned
    from experiments.workers.pools import pool_of
    from experiments.workers.task_runner import TaskRunner

    validation, held_out = list(benchmarks.validation), list(benchmarks.test)
    tasks = [
        TrainAgent(
            training=AgentTraining(
                name, config.agent, seed, benchmarks.train, validation, held_out
            ),
            path=folder / "agents" / f"{name}-seed{seed}.json",
        )
        for name in config.agents
        for seed in config.seeds
    ]
    if not tasks:
        return []
    print(f"training {len(tasks)} agents of stable-baselines3 and sb3-contrib")
    # The workers' own seed is not used: agents are trained by tasks, which have seeds.
    shared = config.training(0, folder)
    with pool_of(shared) as pool:
        runner = TaskRunner(shared, pool, folder)
        found: list[dict[str, Learned]] = runner.run(tasks, "an agent's training")
        trials = []
        for task, agents in zip(tasks, found, strict=True):
            for label, learned in agents.items():
                curve = [
                    (steps, count_ratios(played, benchmarks.validation))
                    for steps, played in learned.curve
                    if played
                ]
                checks = runner.check(learned.outcomes)
                trials.append(
                    Trial(
                        label,
                        task.training.seed,
                        benchmarks.group,
                        learned.outcomes,
                        checks,
                        training=curve,
                    )
                )
    return trials
