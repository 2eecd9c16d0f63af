"""Checkpoints of one learner: all that its training needs to go on exactly.

There is no state of a random generator in them: every iteration draws from generators
that are seeded with the run's seed and the iteration's number.
"""

import copy
import io
import json
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from experiments.policies.config import TrainConfig
from experiments.policies.config_json import from_json, to_json
from experiments.policies.learner import CONFIGS, Learner, LearnerName, learner_of, new_policy
from hlograph.errors import DamagedFileError
from hlograph.isolation import Quarantine
from hlograph.storage.checked_file import read_checked, write_checked
from hlograph.storage.locations import Location
from models.actor_critic import ActorCritic
from models.ppo import PPO

_KIND, _VERSION = "checkpoint", 3
# What torch.load raises on something else, and what its content then lacks.
_NOT_A_CHECKPOINT = (
    pickle.UnpicklingError,
    EOFError,
    RuntimeError,
    TypeError,
    KeyError,
    ValueError,
)


@dataclass(frozen=True)
class Best:
    """The policy that did best on the validation benchmarks."""

    score: float
    """Geometric mean of its count ratios to the references there, or of run time before / after,
    of a policy rewarded for that."""
    steps: int
    """Pass calls that it had learned from."""
    policy: dict[str, Any]
    """Empty where the checkpoint's policy is the one."""


@dataclass(frozen=True)
class Checkpoint:
    """State of a learner between two iterations."""

    learner: LearnerName
    config: dict[str, Any]
    """The run's settings, as JSON."""
    passes: tuple[str, ...]
    """Names of the passes in the order of the actions, or of the rules."""
    policy: dict[str, Any]
    optimizer: dict[str, Any]
    """Empty in a checkpoint of a policy alone."""
    iteration: int
    """Iterations done."""
    steps: int
    """Pass calls done."""
    imitated: int | None
    """Orders of searches that the policy imitated first; None, that was still to come."""
    quarantine: tuple[tuple[str, str], ...]
    """States and passes, or benchmarks and rewrites, that are no longer tried."""
    best: Best | None = None
    """What ``load_policy`` gives; None, the policy as it is now."""

    @classmethod
    def take(
        cls,
        learner: Learner,
        config: TrainConfig,
        ppo: PPO,
        iteration: int,
        steps: int,
        imitated: int | None,
        quarantine: Quarantine,
        best: Best | None,
    ) -> "Checkpoint":
        """A copy of the state: what happens to the policy later does not reach it."""
        return cls(
            learner=learner.name,
            config=to_json(config),
            passes=learner.steps,
            policy=copy.deepcopy(ppo.policy.state_dict()),
            optimizer=copy.deepcopy(ppo.optimizer.state_dict()),
            iteration=iteration,
            steps=steps,
            imitated=imitated,
            quarantine=tuple(quarantine),
            best=best,
        )

    def settings(self) -> TrainConfig:
        """What it was trained with; settings that are no more are left out.

        Raises:
            ValueError: One of them is not what it was.
        """
        cls = CONFIGS[self.learner]
        known = cls.__dataclass_fields__
        return from_json(cls, {k: v for k, v in self.config.items() if k in known})

    def restore(self, learner: Learner, ppo: PPO) -> None:
        """Puts the state into a policy and its optimizer.

        Args:
            learner: What the policy is of.
            ppo: Holds both.

        Raises:
            ValueError: The networks have another shape, or the passes or rules are not the same.
        """
        if self.passes != learner.steps:
            changed = sorted(set(self.passes) ^ set(learner.steps)) or ["their order"]
            what = "rules" if learner.name == "rewrites" else "passes"
            raise ValueError(
                f"the checkpoint was made with other {what}; different: {', '.join(changed)}"
            )
        try:
            ppo.policy.load_state_dict(self.policy)
        except RuntimeError as error:
            raise ValueError(
                f"the checkpoint's {self.learner} policy has another shape than the settings "
                f"ask for: {error}"
            ) from error
        if self.optimizer:
            ppo.optimizer.load_state_dict(self.optimizer)

    def kept(self) -> dict[str, Any]:
        """Parameters of the policy that is kept: that which did best, if any was chosen."""
        return self.best.policy if self.best is not None and self.best.policy else self.policy

    def without_training(self) -> "Checkpoint":
        """The policy that is kept, without what only its further training needs."""
        best = None if self.best is None else replace(self.best, policy={})
        return replace(self, policy=self.kept(), optimizer={}, best=best)

    def save(self, path: Path) -> None:
        """Writes the checkpoint; a reader finds the old file or the new one, never half.

        Raises:
            OSError: It cannot be written; what was there before is unchanged.
        """
        buffer = io.BytesIO()
        best = None if self.best is None else vars(self.best)
        torch.save(vars(self) | {"config": json.dumps(self.config), "best": best}, buffer)
        write_checked(path, _KIND, _VERSION, buffer.getvalue())

    @classmethod
    def load(cls, path: Location) -> "Checkpoint":
        """Reads a checkpoint from a path or URL; nothing in the file is executed.

        Raises:
            DamagedFileError: The file is cut off or altered, or no checkpoint of this version.
            OSError: It cannot be read.
        """
        data = read_checked(path, _KIND, _VERSION)
        try:
            content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
            best = None if content["best"] is None else Best(**content["best"])
            return cls(**content | {"config": json.loads(content["config"]), "best": best})
        except _NOT_A_CHECKPOINT as error:
            raise DamagedFileError(f"{path} holds something else than a checkpoint: {error}") from (
                error
            )


def policy_of(checkpoint: Checkpoint) -> tuple[Learner, ActorCritic]:
    """The policy that a checkpoint has kept, with the settings of its training, on the CPU.

    Raises:
        ValueError: The networks have another shape, or the passes are not the same.
    """
    config = replace(checkpoint.settings(), device="cpu")
    learner = learner_of(checkpoint.learner, config)
    ppo = PPO(new_policy(learner, config), learner.ppo)
    replace(checkpoint, policy=checkpoint.kept(), optimizer={}).restore(learner, ppo)
    return learner, ppo.policy


def load_policy(path: Location) -> tuple[Learner, ActorCritic]:
    """As ``policy_of``, of the checkpoint at a path or URL."""
    return policy_of(Checkpoint.load(path))
