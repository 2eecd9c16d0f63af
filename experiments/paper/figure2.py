"""Figure 2 of the paper: agents on GPT-2's training graphs, train and test disjoint.

DQN, A2C, TRPO and PPO see op counts, PPO with a GNN sees the graph; each learns from the same
number of pass calls, and is measured greedily on families that it never saw.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.agent_settings import AGENTS, MASKED, AgentName, AgentSettings
from experiments.paper.settings import FULL, PAPER, Settings
from experiments.policies.config import CorpusSet

if TYPE_CHECKING:
    from experiments.outcomes.study import Study, Trial
    from experiments.paper.benchmarks import Benchmarks
    from experiments.policies.learner import LearnerName

OURS: "Mapping[LearnerName, str]" = {"op_counts": "PPO (op counts)", "gnn": "PPO (GNN)"}
"""This project's own learners, and what tables call them."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of figure 2."""

    corpus_set: CorpusSet | None = "gpt2-train"
    """Set of the corpus: the split train to learn from, test-unseen to be measured by."""
    total_steps: int = 7_680
    """Pass calls that each agent is trained on, rounded up to whole iterations of all agents."""
    test_op_limit: int = 3_000
    """Held-out benchmarks with more instructions are left out."""
    agents: tuple[AgentName, ...] = AGENTS
    """Agents of stable-baselines3 and sb3-contrib."""
    agent: AgentSettings = field(default_factory=AgentSettings)
    """What is set of them."""


PRESETS = {"quick": Config(), "full": Config(**FULL), "paper": Config(**PAPER)}

_NOTES = (
    "Every agent learned from the same number of pass calls, and its last policy was measured; "
    "agents were played greedily, in new environments, in which a call of a pass without effect "
    "counts.",
    "Greedily: policies that give actions probabilities, this project's and A2C, TRPO and the PPOs "
    "of the libraries alike, stop where stopping is more likely than not, and else take the "
    "likeliest pass; with the mask, the probabilities are those among what it leaves. DQN, which "
    "has values and no probabilities, takes the action of the highest value.",
    "The agents of stable-baselines3 and sb3-contrib see op counts and learn without an action "
    "mask (PPO with masks has it). Greedy and without memory, one that chooses a pass without "
    "effect repeats it until the horizon: so each was also played with the mask, as "
    f'"{MASKED}". This project\'s policies also see the mask and the size relative to the start.',
    "Their hyper-parameters are the libraries' defaults but for those of `agent` in the settings; "
    "discount, reward scale and GAE's lambda, and all of PPO's, are those of `op_counts_ppo`, but "
    "for the entropy bonus: theirs has the weight of the beginning all the time, where this "
    "project's goes to `final_entropy` times that.",
)


def run(config: Config, folder: Path) -> "Study":
    """Trains all agents with all seeds, and checks what they make of the held-out benchmarks.

    Args:
        config: Settings.
        folder: Where checkpoints and events go.

    Raises:
        HloError: A library is not installed, or a benchmark cannot be read.
        OSError: A file cannot be written.
    """
    from experiments.paper.agents import require_libraries
    from experiments.paper.benchmarks import benchmarks_of, study_of_trainings
    from experiments.paper.ours import Variant, train_variants

    if config.agents:
        require_libraries()
    benchmarks = benchmarks_of(config, folder)
    trials = _third_party(config, folder, benchmarks) if config.agents else []
    settings = config.training(0, folder)
    variants = [Variant(name, kind, settings, folder / kind) for kind, name in OURS.items()]
    trials += train_variants(variants, config.seeds, benchmarks, folder)
    calls = f"Each agent learned from {config.steps:,} pass calls and imitated nothing."
    return study_of_trainings("figure2", config, benchmarks, trials, (calls, *_NOTES))


def _third_party(config: Config, folder: Path, benchmarks: "Benchmarks") -> "list[Trial]":
    """Trials of the libraries' agents, one agent in each worker at a time."""
    from experiments.outcomes.evaluation import count_ratios
    from experiments.outcomes.study import Trial
    from experiments.paper.agents import TrainAgent
    from experiments.workers.crew import Crew, pool_of

    tasks = [
        TrainAgent(
            name=name,
            settings=config.agent,
            seed=seed,
            benchmarks=benchmarks.train,
            validation=list(benchmarks.validation),
            held_out=list(benchmarks.test),
            path=folder / "agents" / f"{name}-seed{seed}.json",
        )
        for name in config.agents
        for seed in config.seeds
    ]
    print(f"training {len(tasks)} agents of stable-baselines3 and sb3-contrib")
    # Workers do not go by the seed: agents are trained by tasks, which have it.
    shared = config.training(0, folder)
    with pool_of(shared) as pool:
        crew = Crew(shared, pool, folder)
        found = crew.run(tasks, "an agent's training")
        learned = [
            (label, task.seed, one)
            for task, agents in zip(tasks, found, strict=True)
            for label, one in agents.items()
        ]
        checks = [crew.check(one.outcomes) for *_, one in learned]
    return [
        Trial(
            label,
            seed,
            benchmarks.group,
            one.outcomes,
            found,
            training=[
                (steps, count_ratios(played, benchmarks.validation)) for steps, played in one.curve
            ]
            if benchmarks.validation
            else (),
        )
        for (label, seed, one), found in zip(learned, checks, strict=True)
    ]
