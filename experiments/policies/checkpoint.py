"""Checkpoints of one policy: all that its training needs to continue exactly, and their files.

They hold no state of a random generator: every iteration draws from generators that are
seeded with the run's seed and the iteration's number.
"""

import copy
import hashlib
import io
import json
import os
import pickle
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from experiments.policies.config import PolicyName, TrainConfig, from_json, to_json
from experiments.policies.kind import KINDS, PolicyKind, policy_kind
from hlograph.errors import DamagedFileError
from hlograph.isolation import Quarantine
from hlograph.storage.checked_file import read_checked, write_checked
from hlograph.storage.locations import Location
from hlograph.transforms.rules import rules
from models.action_axes import RULE_AXES, ActionAxis, ChosenActions
from models.actor_critic import ActorCritic
from models.ppo import PPO

_KIND, _VERSION, _FORMER_VERSION = "checkpoint", 4, 3
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
    actions: tuple[str, ...]
    """Names of the passes, rules or kinds of decisions that the policy knows, in the order of its
    parameters. In another version there may be others."""
    policy: dict[str, Any]
    optimizer: dict[str, Any]
    """Empty in a checkpoint of a policy alone."""
    iteration: int
    """Iterations done."""
    steps: int
    """Steps done."""
    imitated: int | None
    """Number of benchmarks on which it imitated; None if imitation is not done yet."""
    quarantine: tuple[tuple[str, str], ...]
    """Pairs of a state and a pass, or of a benchmark and a rewrite, that are no longer tried."""
    best: Best | None = None
    """Policy that ``load_policy`` returns; None for the current one, or its average."""
    shortfalls: dict[str, float] | None = None
    """Distance by training benchmark: how far the policy stays behind the best known order; None if
    that is not known, or does not matter."""
    average: dict[str, Any] | None = None
    """Average of the policy's parameters over updates (``models.ppo.PPO.average``), if any."""

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
            actions=kind.action_names,
            policy=copy.deepcopy(ppo.policy.state_dict()),
            optimizer=copy.deepcopy(ppo.optimizer.state_dict()),
            iteration=iteration,
            steps=steps,
            imitated=imitated,
            quarantine=tuple(quarantine),
            best=best,
            shortfalls=None if shortfalls is None else dict(shortfalls),
            average=copy.deepcopy(ppo.average),
        )

    def settings(self) -> TrainConfig:
        """Returns the settings of the training, without those that no longer exist.

        They name the actions; see ``continued``.

        Raises:
            ValueError: A setting has a value of another type than now, or none of the policy's
                actions exists any more.
        """
        cls = KINDS[self.kind].settings
        fields = cls.__dataclass_fields__
        return self.continued(from_json(cls, {k: v for k, v in self.config.items() if k in fields}))

    def continued(self, config: TrainConfig) -> TrainConfig:
        """Returns settings that name the actions with which the policy goes on.

        These are the ones that the settings ask for, or else all that the policy knows. Those that
        no longer exist are left out, and those that are newer than the policy are not among them.

        Args:
            config: Settings of a training.

        Raises:
            ValueError: None of the actions exists any more.
        """
        kind = KINDS[self.kind].kind_class()
        gone = set(self.actions).difference(kind.existing_actions())
        names = [name for name in config.actions or self.actions if name not in gone]
        if not names:
            raise ValueError(f"none of the policy's {kind.action_noun} exists any more")
        return config.with_actions(names)

    def fitted(self, kind: PolicyKind, policy: ActorCritic) -> "Checkpoint":
        """Returns the checkpoint with the actions of a kind alone, in its order.

        Args:
            kind: Kind of the policy.
            policy: A policy of this kind; it is not changed.

        Raises:
            ValueError: There are others among these actions, or the networks have another shape.
        """
        unknown = [name for name in kind.action_names if name not in self.actions]
        if unknown:
            raise ValueError(
                f"expected {kind.action_noun} that the policy knows, got {', '.join(unknown)}; it "
                f"knows {', '.join(self.actions)}"
            )
        return self._with_actions(kind.action_names, policy.action_axes)

    def _with_actions(self, names: tuple[str, ...], axes: Mapping[str, ActionAxis]) -> "Checkpoint":
        if names == self.actions:
            return self
        chosen = ChosenActions(axes, self.actions, names)
        try:
            policy, optimizer, best = chosen.parameters(self.policy), self.optimizer, self.best
            if optimizer:
                # The networks have no state but parameters.
                optimizer = chosen.moments(optimizer, list(self.policy))
            if best is not None:
                best = replace(best, policy=chosen.parameters(best.policy))
            average = None if self.average is None else chosen.parameters(self.average)
        except IndexError as error:
            raise self._other_shape(error) from error
        changed = replace(self, actions=names, policy=policy, optimizer=optimizer)
        return replace(changed, best=best, average=average)

    def restore(self, kind: PolicyKind, ppo: PPO) -> "Checkpoint":
        """Puts the state into a policy and its optimizer.

        Args:
            kind: Kind of the policy.
            ppo: Holds both.

        Returns:
            The checkpoint with the actions of the kind alone.

        Raises:
            ValueError: See ``fitted``.
        """
        fitted = self.fitted(kind, ppo.policy)
        fitted._load(fitted.policy, ppo.policy)
        if fitted.optimizer:
            ppo.optimizer.load_state_dict(fitted.optimizer)
        ppo.average = copy.deepcopy(fitted.average)
        return fitted

    def load_into(self, kind: PolicyKind, policy: ActorCritic) -> None:
        """Puts the parameters of the kept policy into a policy.

        Args:
            kind: Kind of the policy.
            policy: The policy.

        Raises:
            ValueError: See ``fitted``.
        """
        self._load(self.fitted(kind, policy).kept(), policy)

    def _load(self, parameters: Mapping[str, Any], policy: ActorCritic) -> None:
        try:
            policy.load_parameters(parameters)
        except RuntimeError as error:
            raise self._other_shape(error) from error

    def _other_shape(self, error: Exception) -> ValueError:
        return ValueError(
            f"the checkpoint's {self.kind} policy has another shape than the settings "
            f"ask for: {error}"
        )

    def kept(self) -> dict[str, Any]:
        """Returns the parameters of the best policy; if none was chosen, of the current one.

        Of the current one they are the average, if there is one.
        """
        if self.best is not None and self.best.policy:
            return self.best.policy
        return self.policy if self.average is None else self.average

    def digest(self) -> str:
        """Returns a digest of the parameters of the kept policy, which tells policies apart."""
        digest = hashlib.sha256()
        for name, value in sorted(self.kept().items()):
            digest.update(name.encode())
            digest.update(value.numpy(force=True).tobytes())
        return digest.hexdigest()[:16]

    def without_training(self) -> "Checkpoint":
        """Returns the kept policy, without the state that only further training needs."""
        best = None if self.best is None else replace(self.best, policy={})
        kept = replace(self, policy=self.kept(), average=None, best=best)
        return replace(kept, optimizer={}, shortfalls=None)

    def save(self, path: Path) -> None:
        """Writes the checkpoint; a reader finds the old file or the new one, never half.

        Raises:
            OSError: It cannot be written; what was there before is unchanged.
        """
        buffer = io.BytesIO()
        content = vars(self) | {"config": json.dumps(self.config)}
        content["best"] = None if self.best is None else vars(self.best)
        torch.save(content, buffer)
        write_checked(path, _KIND, _VERSION, buffer.getvalue())

    @classmethod
    def load(cls, path: Location) -> "Checkpoint":
        """Reads a checkpoint from a path or URL; nothing in the file is executed.

        Raises:
            DamagedFileError: The file is cut off or altered, or no checkpoint of this version or
                the one before.
            OSError: It cannot be read.
        """
        data = read_checked(path, _KIND, _VERSION, _FORMER_VERSION)
        try:
            content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
            content["config"] = json.loads(content["config"])
            content["best"] = None if content["best"] is None else Best(**content["best"])
            return cls._of_version_3(content) if "learner" in content else cls(**content)
        except _NOT_A_CHECKPOINT as error:
            raise DamagedFileError(f"{path} holds something else than a checkpoint: {error}") from (
                error
            )

    @classmethod
    def _of_version_3(cls, content: dict[str, Any]) -> "Checkpoint":
        """Returns the checkpoint that a file of version 3 holds.

        Raises:
            ValueError: It was made with rules of other numbers.
        """
        kind, names = content.pop("learner"), content.pop("passes")
        if kind not in ("rewrites", "fusion"):
            return cls(**content, kind=kind, actions=names)
        # There was a row for each rule of the registry, up to the last that the policy might use.
        rows = len(content["policy"]["encoder.rule.weight"])
        used = [rule for rule in rules if not (rule.for_time or rule.kernel) or rule.name in names]
        if rows != 1 + used[-1].index:
            raise ValueError(
                f"expected {1 + used[-1].index} rows of rules, got {rows}: it was made with other "
                "rules, and version 3 does not name them. Use the hlograph that wrote it"
            )
        stored = cls(**content, kind=kind, actions=rules.names[:rows])
        return stored._with_actions(names, RULE_AXES)


def policy_of(checkpoint: Checkpoint) -> tuple[PolicyKind, ActorCritic]:
    """Returns the kept policy of a checkpoint, with the settings of its training, on the CPU.

    Raises:
        ValueError: The networks have another shape, or none of the actions exists any more.
    """
    kind = policy_kind(checkpoint.kind, replace(checkpoint.settings(), device="cpu"))
    policy = kind.new_policy()
    checkpoint.load_into(kind, policy)
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
    kind, label = KINDS[checkpoint.kind].kind_class(), KINDS[checkpoint.kind].label
    imitated = f"imitating {checkpoint.imitated or 0:,} {kind.imitates}, "
    return (
        f"{label}, seed {checkpoint.config['seed']}: trained on {checkpoint.steps:,} "
        f"{kind.step_noun}, kept after {kept:,}, {imitated if kind.imitates else ''}"
        f"on modules of at most {checkpoint.config['train_op_limit']:,} instructions."
    )


CHECKPOINT = "checkpoint.pt"
PREVIOUS = "checkpoint.previous.pt"
DAMAGED = "checkpoint.damaged.pt"


class CheckpointFiles:
    """Saves and finds checkpoints in a folder.

    Args:
        folder: Folder of the policy's training.
    """

    def __init__(self, folder: Path) -> None:
        self._newest, self._previous = folder / CHECKPOINT, folder / PREVIOUS
        self._damaged = folder / DAMAGED

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint; the one before stays beside it.

        At every moment there is a complete file under the newest's name.

        Raises:
            OSError: It cannot be written; what was there before is unchanged.
        """
        if self._newest.exists():
            link = self._previous.with_name(f".{PREVIOUS}.{uuid.uuid4().hex}.tmp")
            os.link(self._newest, link)
            link.replace(self._previous)
        checkpoint.save(self._newest)

    def load(self) -> Checkpoint | None:
        """Reads the newest checkpoint that is whole; None where there is none at all.

        A damaged one is set aside, so that the next save does not put it in the place of the
        good one.

        Raises:
            DamagedFileError: The newest is damaged, and there is no good one before it.
        """
        if not self._newest.exists():
            return Checkpoint.load(self._previous) if self._previous.exists() else None
        try:
            return Checkpoint.load(self._newest)
        except DamagedFileError as error:
            try:
                checkpoint = Checkpoint.load(self._previous)
            except (DamagedFileError, OSError):
                raise error from None
            self._newest.replace(self._damaged)
            tqdm.write(f"{error}; going on from {self._previous}, {checkpoint.steps} steps")
            return checkpoint
