"""Checkpoints of one learner: all that its training needs to go on exactly.

There is no state of a random generator in them: every iteration draws from generators
that are seeded with the run's seed and the iteration's number.
"""

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import hlograph
from experiments.config import GNNTrainConfig, OpCountTrainConfig
from experiments.config_json import from_json, to_json
from experiments.learner import Learner, LearnerName, learner_of, new_policy
from hlograph.atomic_write import write_atomically
from models.actor_critic import ActorCritic
from models.ppo import PPO

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """State of a learner between two iterations."""

    learner: LearnerName
    config: dict[str, Any]
    """The run's settings, as JSON."""
    passes: tuple[str, ...]
    """Names of the passes in the order of the actions."""
    policy: dict[str, Any]
    optimizer: dict[str, Any]
    iteration: int
    """Iterations done."""
    steps: int
    """Pass calls done."""

    @classmethod
    def take(
        cls, learner: Learner, config: OpCountTrainConfig, ppo: PPO, iteration: int, steps: int
    ) -> "Checkpoint":
        """A copy of the state: what happens to the policy later does not reach it."""
        return cls(
            learner=learner.name,
            config=to_json(config),
            passes=hlograph.passes.names,
            policy=copy.deepcopy(ppo.policy.state_dict()),
            optimizer=copy.deepcopy(ppo.optimizer.state_dict()),
            iteration=iteration,
            steps=steps,
        )

    def restore(self, ppo: PPO) -> None:
        """Puts the state into a policy and its optimizer.

        Raises:
            ValueError: The networks have another shape, or the passes are not the same.
        """
        present = hlograph.passes.names
        if self.passes != present:
            changed = sorted(set(self.passes) ^ set(present)) or ["their order"]
            raise ValueError(
                f"the checkpoint was made with other passes; different: {', '.join(changed)}"
            )
        try:
            ppo.policy.load_state_dict(self.policy)
        except RuntimeError as error:
            raise ValueError(
                f"the checkpoint's {self.learner} policy has another shape than the settings "
                f"ask for: {error}"
            ) from error
        ppo.optimizer.load_state_dict(self.optimizer)

    def save(self, path: Path) -> None:
        """Writes the checkpoint; a reader finds the old file or the new one, never half."""
        content = vars(self) | {"format": FORMAT, "config": json.dumps(self.config)}
        write_atomically(path, lambda target: torch.save(content, target))

    @classmethod
    def load(cls, path: Path) -> "Checkpoint":
        """Reads a checkpoint; nothing in the file is executed.

        Raises:
            ValueError: The file is no checkpoint of this format.
        """
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is no checkpoint of format {FORMAT}")
        return cls(**content | {"config": json.loads(content["config"])})


def load_policy(path: Path) -> tuple[Learner, ActorCritic]:
    """The policy of a checkpoint, with the settings that it was trained with, on the CPU."""
    checkpoint = Checkpoint.load(path)
    cls = GNNTrainConfig if checkpoint.learner == "gnn" else OpCountTrainConfig
    known = cls.__dataclass_fields__
    config = from_json(cls, {k: v for k, v in checkpoint.config.items() if k in known})
    learner = learner_of(checkpoint.learner, config)
    ppo = PPO(new_policy(learner, config), learner.ppo)
    checkpoint.restore(ppo)
    return learner, ppo.policy
