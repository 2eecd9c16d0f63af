"""Gradient-boosted trees (LightGBM) that learn the seconds of kernels, and gains of decisions.

LightGBM is from Ke et al. 2017, "LightGBM: a highly efficient gradient boosting decision tree".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.cost_model.decided import DecidedExamples, decided_examples
from experiments.cost_model.examples import Data, ProgramExamples
from experiments.cost_model.settings import TreesConfig
from experiments.cost_model.training import Batch
from hlograph.errors import HloError, MissingExtraError
from hlograph.profiling.kernel_seconds import OUTSIDE_SECONDS
from hlograph.profiling.kernel_trees import (
    NO_TREES,
    KernelTrees,
    KernelTreeWeights,
    Trees,
    TreeSum,
    feature_names,
    features_of,
    log_rated,
    of_gains,
    of_seconds,
)
from hlograph.storage.machine import machine

Floats = NDArray[np.float64]

_SETTINGS = {
    "min_data_in_leaf": 10,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "deterministic": True,
    "verbosity": -1,
}
# Most decisions bring nothing and few bring much, so trees predict the median of gains.
_SECONDS_LOSS, _GAINS_LOSS = "huber", "regression_l1"
# Within programs, kernels that take longer weigh more. One of no time should not be wrong by orders
# of magnitude either.
_LEAST_WEIGHT = 0.01
_AT_ONCE = 1024
# Weight of a decision about all of a program, where that of one about a kernel alone is 1.
_WITHIN = 3.0


class TreeLearning:
    """Trees that learn from examples.

    Args:
        data: The examples.
        config: Settings of the trees.
        seed: Seed of what they draw.

    Raises:
        MissingExtraError: LightGBM is not installed.
    """

    def __init__(self, data: Data, config: TreesConfig, seed: int = 0) -> None:
        MissingExtraError.check("paper", "lightgbm")
        self.data, self._config, self._seed = data, config, seed
        starts = range(0, len(data.kernels), _AT_ONCE)
        parts = [features_of(data.kernels[first : first + _AT_ONCE]) for first in starts]
        self._features = np.concatenate(parts)

    def redrawn(self, seed: int, part: Sequence[int] | None = None) -> TreeLearning:
        """Returns trees that learn from the same examples, or a part, with another seed.

        Args:
            seed: Seed of what they draw.
            part: Numbers of the examples to learn from; None takes all.
        """
        other = copy(self)
        other._seed = seed
        if part is not None:
            training = [self.data.training[number] for number in part]
            other.data = replace(self.data, training=training)
        return other

    def seconds(self) -> Trees:
        """Grows trees for the factor by which the seconds of kernels by rates are off.

        Raises:
            HloError: There are no examples to learn from.
        """
        if not self.data.training:
            raise HloError("expected kernels to learn from, got none")
        parts = []
        for examples in filter(None, (self.data.whole, self.data.alone)):
            batch = Batch.of(examples)
            log_seconds = batch.rows.log_seconds.double().numpy()
            timed = np.isfinite(log_seconds)
            rows, prior = self._of_seconds(batch)
            weights = np.ones(len(rows))
            if batch.alone is None:
                weights = np.sqrt(batch.rows.weight.double().numpy()) + _LEAST_WEIGHT
            parts.append((rows[timed], (log_seconds - prior)[timed], weights[timed]))
        return self._grown(_SECONDS_LOSS, *map(np.concatenate, zip(*parts, strict=True)))

    def gains(self, within: DecidedExamples | None = None) -> Trees:
        """Grows trees for the gains of decisions about kernels, which see the default alone.

        Args:
            within: Decisions about whole programs to learn from, too.
        """
        batch = Batch.of(self.data.alone)
        decided = batch.decided.numpy()
        log_ratios = batch.log_ratios.double().numpy()[decided]
        parts = [(self._of_gains(batch)[decided], log_ratios, np.ones(len(log_ratios)))]
        if within is not None:
            parts.append((within.rows, within.log_gains, _WITHIN * within.weights))
        return self._grown(_GAINS_LOSS, *map(np.concatenate, zip(*parts, strict=True)))

    def weights(self) -> KernelTreeWeights:
        """Grows all trees."""
        weights = KernelTreeWeights(
            feature_names(),
            self.data.columns.flags,
            self.data.columns.decisions,
            OUTSIDE_SECONDS,
            machine(),
            self.seconds(),
            NO_TREES,
        )
        decided = self.data.decided
        within = decided_examples(decided, KernelTrees(weights)) if decided else None
        return replace(weights, gains=self.gains(within))

    def predicted_seconds(self, trees: Trees, examples: Sequence[ProgramExamples]) -> list[Floats]:
        """Returns the predicted seconds of the plans, or variants, of each example."""
        batch = Batch.of(examples)
        rows, prior = self._of_seconds(batch)
        log_seconds = prior + TreeSum(trees, rows.shape[1])(rows)
        plans = batch.plans
        summands = np.exp(log_seconds[plans.row.numpy()] + plans.log_calls.double().numpy())
        seconds = np.bincount(plans.plan.numpy(), summands, plans.num_plans)
        outside = 0.0 if batch.alone else OUTSIDE_SECONDS
        return by_program(np.asarray(outside + seconds, np.float64), examples)

    def predicted_alone(self, grown: Iterable[Trees], texts: Sequence[str]) -> list[Floats]:
        """Returns the seconds of other kernels alone, without flags, that each of trees predicts.

        Args:
            grown: The trees, such as those of several seeds.
            texts: HLO texts (``hlograph.profiling.kernel_modules``).
        """
        features = features_of(texts)
        no_flags = np.zeros((len(texts), len(self.data.columns.flags)), np.float32)
        rows = of_seconds(features, no_flags, alone=True)
        prior = log_rated(features)
        return [np.exp(prior + TreeSum(trees, rows.shape[1])(rows)) for trees in grown]

    def predicted_gains(self, trees: Trees, examples: Sequence[ProgramExamples]) -> list[Floats]:
        """Returns the predicted seconds of the variants of each example in those of the default."""
        batch = Batch.of(examples)
        rows = self._of_gains(batch)
        log_gains = np.where(batch.decided.numpy(), TreeSum(trees, rows.shape[1])(rows), 0.0)
        return by_program(np.exp(-log_gains), examples)

    def _of_seconds(self, batch: Batch) -> tuple[Floats, Floats]:
        """Returns what trees see of the rows of a batch, and their log seconds by rates."""
        features = self._features[batch.plans.kernel.numpy()]
        flags = self.data.flags[batch.plans.flags].numpy()
        return of_seconds(features, flags, batch.alone is not None), log_rated(features)

    def _of_gains(self, batch: Batch) -> Floats:
        """Returns what trees see of the plans of a batch: the default, and the decisions."""
        assert batch.alone is not None
        features = self._features[batch.plans.kernel.numpy()]
        plan, row = batch.plans.plan.numpy(), batch.plans.row.numpy()
        log_seconds = log_rated(features)[row] + batch.plans.log_calls.double().numpy()
        longest = np.zeros(batch.plans.num_plans, np.int64)
        order = np.argsort(log_seconds, kind="stable")
        longest[plan[order]] = row[order]  # the last one of a plan stays
        total = np.log(np.bincount(plan, np.exp(log_seconds), len(longest)))
        kernels = np.bincount(plan, minlength=len(longest)).astype(np.float64)
        first = batch.first.numpy()
        decisions = self.data.decisions[batch.alone.decisions].numpy()
        return of_gains(features[longest[first]], total[first], kernels[first], decisions)

    def _grown(self, objective: str, rows: Floats, target: Floats, weights: Floats) -> Trees:
        import lightgbm

        config = self._config
        settings = {
            **_SETTINGS,
            "objective": objective,
            "learning_rate": config.learning_rate,
            "num_leaves": config.leaves,
            "seed": self._seed,
            "num_threads": torch.get_num_threads(),
        }
        dataset = lightgbm.Dataset(rows, target, weight=weights)
        return trees_of(lightgbm.train(settings, dataset, config.rounds))


def trees_of(booster: Any) -> Trees:
    """Returns the trees of a booster of LightGBM, over features without missing values."""
    branches: list[tuple[int, float]] = []
    children: list[list[int]] = []
    leaves: list[float] = []

    def add(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            leaves.append(node["leaf_value"])
            return ~(len(leaves) - 1)
        place = len(branches)
        branches.append((node["split_feature"], node["threshold"]))
        children.append([0, 0])
        children[place] = [add(node["left_child"]), add(node["right_child"])]
        return place

    roots = [add(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    features, thresholds = zip(*branches, strict=True) if branches else ((), ())
    return Trees(
        np.array(features, np.int32),
        np.array(thresholds, np.float64),
        np.array(children, np.int32).reshape(-1, 2),
        np.array(leaves, np.float64),
        np.array(roots, np.int32),
    )


def by_program(values: Floats, examples: Iterable[ProgramExamples]) -> list[Floats]:
    """Returns the numbers of the plans of each example."""
    counts = [program.batch.num_plans for program in examples]
    return np.split(values, np.cumsum(counts)[:-1])
