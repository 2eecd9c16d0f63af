"""Comparison of models that learned from the bank: predictions, tables, and a page of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from experiments.cost_model.trees import TreeLearning
from experiments.evaluate.picture import Picture
from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.metrics import GAINS, RATES, baselines, errors, table
from experiments.kernel_bank.networks import BankLearning, Predicted, bank_data, gains_of_words
from experiments.kernel_bank.settings import CompareConfig
from experiments.kernel_bank.worst import kinds_table, misses, misses_picture, misses_table
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel

_TREES, _ENSEMBLE = "gradient-boosted trees", "ensemble of networks"
_UNSCALED = "without scaled kernels"
_PARTS = 4

_SHOWN = 20
_BY_KIND = (RATES, _TREES, _ENSEMBLE)
_PAGE = """\
# Predictions of kernels

What models predict of {kernels:,} kernels of families that they have not seen, and where they are
wrong ([cost-model.md](cost-model.md#a-bank-of-kernels)). This command makes the page:

```sh
{command}
```

Kendall's tau, clear pairs and slowdowns are of the order of a kernel's variants: means over
families, with intervals over them. Seconds are those of all variants. *Decisions alone* see the
default and what is decided, not what jaxlib made of it.

{tables}

## By kind of kernel

The factor by which seconds are off, for half of the variants and for nine of ten of them.

{kinds}

## The worst

The {shown} kernels whose defaults are predicted worst by the trees, one of each
kernel that they were drawn from. A picture shows the largest computation of each, operands in
grey; its title has the ratio of predicted to measured seconds.

![{alt}]({file})

{misses}
"""


class Compared(NamedTuple):
    """Models that were compared on kernels that were held out.

    Attributes:
        times: The kernels.
        predictions: Predictions for their variants, by the name of the model.
        members: Those of the networks of all seeds.
    """

    times: KernelTimes
    predictions: Mapping[str, Predicted]
    members: Sequence[Predicted]

    def tables(self) -> str:
        """Returns the table of models, and one of the doubt of several networks, as Markdown."""
        parts = [table(self.times.measured, self.predictions)]
        if len(self.members) > 1:
            parts.append(_doubt_table(self.times.measured, self.members))
        return "\n\n".join(parts)

    def page(self, command: str) -> tuple[str, Picture]:
        """Returns a page about the models as Markdown, and its picture.

        Args:
            command: Command that made it.
        """
        found = misses(self.times, self.predictions[_TREES])[:_SHOWN]
        picture = misses_picture(found)
        by_kind = [name for name in _BY_KIND if name in self.predictions]
        return _PAGE.format(
            command=command,
            tables=self.tables(),
            kernels=len(self.times.measured),
            kinds=kinds_table(self.times, {name: self.predictions[name] for name in by_kind}),
            shown=len(found),
            alt=picture.alt,
            file=f"{picture.name}.svg",
            misses=misses_table(self.times, found),
        ), picture


def compared(learned: KernelTimes, held_out: KernelTimes, config: CompareConfig) -> Compared:
    """Returns the predictions of all models for kernels that were held out.

    Args:
        learned: Kernels to learn from.
        held_out: Kernels to compare on.
        config: Settings.
    """
    data = bank_data(learned, held_out)
    trees = TreeLearning(data, config.trees)
    predictions = {
        **baselines(held_out),
        _TREES: trees.predicted_seconds(trees.seconds(), data.held_out),
        f"{_TREES}, {GAINS}": trees.predicted_gains(trees.gains(), data.held_out),
        f"mean of each word, {GAINS}": gains_of_words(data),
    }
    unchanged = [n for n, kernel in enumerate(learned.measured) if not kernel.change]
    if config.ablations:
        of_unchanged = trees.redrawn(0, unchanged).seconds()
        predictions[f"{_TREES}, {_UNSCALED}"] = trees.predicted_seconds(of_unchanged, data.held_out)
    if not config.seeds:
        return Compared(held_out, predictions, ())
    learning = BankLearning(data)
    networks = dict(_networks(learning, config))
    members = [networks[f"network, seed {seed}"] for seed in config.seeds]
    predictions |= networks | {_ENSEMBLE: ensemble(members)}
    if config.ablations:
        predictions |= _ablations(learning, unchanged, config)
    return Compared(held_out, predictions, members)


def _networks(learning: BankLearning, config: CompareConfig) -> Iterator[tuple[str, Predicted]]:
    for seed in config.seeds:
        network = learning.trained(config.training, config.model, seed)
        yield f"network, seed {seed}", learning.seconds(network)
        yield f"network, seed {seed}, {GAINS}", learning.gains(network)


def _ablations(
    learning: BankLearning, unchanged: Sequence[int], config: CompareConfig
) -> Mapping[str, Predicted]:
    """Returns the mean predictions of networks that lack something, by what it is."""
    shape = config.model
    nodes = replace(shape.gat, layers=0)
    opcodes = replace(nodes, attributes=False, neighbour_features=False)
    lacking = {
        f"{_ENSEMBLE}, without edges": (replace(shape, gat=nodes), None),
        f"{_ENSEMBLE}, op counts for the graph": (replace(shape, gat=opcodes), None),
        f"{_ENSEMBLE}, {_UNSCALED}": (shape, unchanged),
    }
    return {
        name: ensemble(
            [
                learning.seconds(learning.trained(config.training, gat, seed, part))
                for seed in config.seeds
            ]
        )
        for name, (gat, part) in lacking.items()
    }


def ensemble(members: Sequence[Predicted]) -> Predicted:
    """Returns the geometric means of several predictions."""
    return [np.exp(np.mean(np.log(each), axis=0)) for each in zip(*members, strict=True)]


def doubts(members: Sequence[Predicted]) -> Predicted:
    """Returns the standard deviation of the logarithms of several predictions."""
    return [np.std(np.log(each), axis=0) for each in zip(*members, strict=True)]


def _doubt_table(measured: Sequence[MeasuredKernel], members: Sequence[Predicted]) -> str:
    """Returns by which factor seconds are off where the members agree, and where they do not."""
    doubt = np.concatenate(doubts(members))
    off = np.abs(np.concatenate(errors(measured, ensemble(members))))
    parts = np.array_split(np.argsort(doubt), _PARTS)
    rows = [
        (
            f"{np.exp(doubt[part].min()):.2f} to {np.exp(doubt[part].max()):.2f}",
            f"{len(part):,}",
            f"{np.exp(np.median(off[part])):.2f}",
            f"{np.exp(np.percentile(off[part], 90)):.2f}",
        )
        for part in parts
        if len(part)
    ]
    heads = ("members differ by a factor of", "variants", "off by, at 50 %", "off by, at 90 %")
    return markdown_table(heads, rows)
