"""Checkpoints of one policy: all that its training needs to continue exactly.

They hold no state of a random generator: every iteration draws from generators that are
seeded with the run's seed and the iteration's number.
"""

import copy
import io
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from experiments.policies.config import PolicyName, TrainConfig, config_class
from experiments.policies.config_json import from_json, to_json
from experiments.policies.kind import PolicyKind
from experiments.policies.kinds import KINDS, policy_kind
from hlograph.errors import DamagedFileError
from hlograph.isolation import Quarantine
from hlograph.storage.checked_file import read_checked, write_checked
from hlograph.storage.locations import Location
from models.actor_critic import ActorCritic
from models.ppo import PPO

_KIND, _VERSION = "checkpoint", 3
_STORED = {"kind": "learner", "choices": "passes"}
"""Names in the file of fields that have another name here."""
# Errors of torch.load on another file, and of a file with other content.
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
    """``PolicyKind.score`` of its results there."""
    steps: int
    """Steps that it had learned from."""
    policy: dict[str, Any]
    """Its parameters; empty if they are the checkpoint's ``policy``."""


@dataclass(frozen=True)
class Checkpoint:
    """State of a training between two iterations."""

    kind: PolicyName
    config: dict[str, Any]
    """The run's settings, as JSON."""
    choices: tuple[str, ...]
    """Names of the passes in the order of the actions, or of the rules."""
    policy: dict[str, Any]
    optimizer: dict[str, Any]
    """Empty in a checkpoint of a policy alone."""
    iteration: int
    """Iterations done."""
    steps: int
    """Steps done."""
    imitated: int | None
    """Number of searched orders that the policy imitated; None if imitation is not done yet."""
    quarantine: tuple[tuple[str, str], ...]
    """Pairs of a state and a pass, or of a benchmark and a rewrite, that are no longer tried."""
    best: Best | None = None
    """Policy that ``load_policy`` returns; None for the current one."""
    shortfalls: dict[str, float] | None = None
    """By training benchmark, how far the policy stays behind the best known order; None if that
    is not known, or does not matter."""

    @classmethod
    def take(
        cls,
        kind: PolicyKind,
        ppo: PPO,
        iteration: int,
        steps: int,
        imitated: int | None,
        quarantine: Quarantine,
        best: Best | None,
        shortfalls: Mapping[str, float] | None = None,
    ) -> "Checkpoint":
        """Returns a copy of the state, which later updates of the policy do not change."""
        return cls(
            kind=kind.name,
            config=to_json(kind.config),
            choices=kind.choices,
            policy=copy.deepcopy(ppo.policy.state_dict()),
            optimizer=copy.deepcopy(ppo.optimizer.state_dict()),
            iteration=iteration,
            steps=steps,
            imitated=imitated,
            quarantine=tuple(quarantine),
            best=best,
            shortfalls=None if shortfalls is None else dict(shortfalls),
        )

    def settings(self) -> TrainConfig:
        """Returns the settings of the training, without those that no longer exist.

        Choices that have been added since are not among them.

        Raises:
            ValueError: A setting has a value of another type than now.
        """
        cls = config_class(self.kind)
        known = cls.__dataclass_fields__
        config = from_json(cls, {k: v for k, v in self.config.items() if k in known})
        return config.with_choices(self.choices)

    def restore(self, kind: PolicyKind, ppo: PPO) -> None:
        """Puts the state into a policy and its optimizer.

        Args:
            kind: Kind of the policy.
            ppo: Holds both.

        Raises:
            ValueError: The networks have another shape, or the passes or rules are not the same.
        """
        self.load_into(kind, ppo.policy, self.policy)
        if self.optimizer:
            ppo.optimizer.load_state_dict(self.optimizer)

    def load_into(self, kind: PolicyKind, policy: ActorCritic, parameters: dict[str, Any]) -> None:
        """Puts parameters of this checkpoint into a policy.

        Args:
            kind: Kind of the policy.
            policy: The policy.
            parameters: ``self.policy`` or ``self.kept()``.

        Raises:
            ValueError: The networks have another shape, or the passes or rules are not the same.
        """
        if self.choices != kind.choices:
            changed = sorted(set(self.choices) ^ set(kind.choices)) or ["their order"]
            raise ValueError(
                f"the checkpoint was made with other {kind.choice_noun}; different: "
                f"{', '.join(changed)}"
            )
        try:
            policy.load_state_dict(parameters)
        except RuntimeError as error:
            raise ValueError(
                f"the checkpoint's {self.kind} policy has another shape than the settings "
                f"ask for: {error}"
            ) from error

    def kept(self) -> dict[str, Any]:
        """Returns the parameters of the best policy, or of the current one if none was chosen."""
        return self.best.policy if self.best is not None and self.best.policy else self.policy

    def without_training(self) -> "Checkpoint":
        """Returns the kept policy, without the state that only further training needs."""
        best = None if self.best is None else replace(self.best, policy={})
        return replace(self, policy=self.kept(), optimizer={}, best=best, shortfalls=None)

    def save(self, path: Path) -> None:
        """Writes the checkpoint; a reader finds the old file or the new one, never half.

        Raises:
            OSError: It cannot be written; what was there before is unchanged.
        """
        buffer = io.BytesIO()
        content = vars(self) | {"config": json.dumps(self.config)}
        content["best"] = None if self.best is None else vars(self.best)
        torch.save({_STORED.get(name, name): value for name, value in content.items()}, buffer)
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
            for name, stored in _STORED.items():
                content[name] = content.pop(stored)
            best = None if content["best"] is None else Best(**content["best"])
            return cls(**content | {"config": json.loads(content["config"]), "best": best})
        except _NOT_A_CHECKPOINT as error:
            raise DamagedFileError(f"{path} holds something else than a checkpoint: {error}") from (
                error
            )


def policy_of(checkpoint: Checkpoint) -> tuple[PolicyKind, ActorCritic]:
    """Returns the kept policy of a checkpoint, with the settings of its training, on the CPU.

    Raises:
        ValueError: The networks have another shape, or the passes are not the same.
    """
    kind = policy_kind(checkpoint.kind, replace(checkpoint.settings(), device="cpu"))
    policy = kind.new_policy()
    checkpoint.load_into(kind, policy, checkpoint.kept())
    return kind, policy


def load_policy(path: Location) -> tuple[PolicyKind, ActorCritic]:
    """Returns the kept policy of the checkpoint at a path or URL; see ``policy_of``."""
    return policy_of(Checkpoint.load(path))


def training_cost(checkpoint: Checkpoint) -> str:
    """Returns a sentence on the steps that a policy was trained on.

    The budgets of its results do not include them, nor the pass calls of the searches whose
    orders it imitated.
    """
    kept = checkpoint.steps if checkpoint.best is None else checkpoint.best.steps
    kind = KINDS[checkpoint.kind]
    imitated = f"imitating {checkpoint.imitated or 0:,} searched {kind.imitates}, "
    return (
        f"{kind.label}, seed {checkpoint.config['seed']}: trained on {checkpoint.steps:,} "
        f"{kind.step_noun}, kept after {kept:,}, {imitated if kind.imitates else ''}"
        f"on modules of at most {checkpoint.config['train_op_limit']:,} instructions."
    )
