"""Networks that learned from the bank, what each lacks, and what they say of their own doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.comparison import GAINS, baselines, errors, table
from experiments.kernel_bank.learned import BankLearning, Predicted
from experiments.kernel_bank.settings import CompareConfig
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel

_ENSEMBLE = "ensemble of networks"
_PARTS = 4


def compared(learned: KernelTimes, held_out: KernelTimes, config: CompareConfig) -> str:
    """Returns the tables of all models as Markdown.

    Args:
        learned: Kernels to learn from.
        held_out: Kernels to compare on.
        config: Settings.
    """
    measured, predictions = held_out.measured, baselines(held_out)
    if not config.seeds:
        return table(measured, predictions)
    learning = BankLearning(learned, held_out)
    predictions["gradient-boosted trees"] = learning.boosted_trees(0)
    networks = dict(_networks(learning, config))
    members = [networks[f"network, seed {seed}"] for seed in config.seeds]
    predictions |= networks | {_ENSEMBLE: ensemble(members)}
    if config.ablations:
        predictions |= _ablations(learning, config)
    parts = [table(measured, predictions)]
    if len(members) > 1:
        parts.append(_doubt_table(measured, members))
    return "\n\n".join(parts)


def _networks(learning: BankLearning, config: CompareConfig) -> Iterator[tuple[str, Predicted]]:
    for seed in config.seeds:
        network = learning.trained(config.training, config.model, seed)
        yield f"network, seed {seed}", learning.seconds(network)
        yield f"network, seed {seed}, {GAINS}", learning.gains(network)


def _ablations(learning: BankLearning, config: CompareConfig) -> Mapping[str, Predicted]:
    """Returns the mean predictions of networks that lack something, by what it is."""
    unchanged = [n for n, kernel in enumerate(learning.learned.measured) if not kernel.change]
    shape = config.model
    nodes = replace(shape.gat, layers=0)
    opcodes = replace(nodes, attributes=False, neighbour_features=False)
    lacking = {
        "without edges": (replace(shape, gat=nodes), None),
        "op counts, same trunk": (replace(shape, gat=opcodes), None),
        "without scaled kernels": (shape, unchanged),
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
