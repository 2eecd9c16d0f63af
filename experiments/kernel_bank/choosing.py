"""Choice of the kernels to measure next: where trees disagree, of kinds that they get wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from statistics import fmean

import numpy as np

from experiments.cost_model.ranking import interval_of_mean
from experiments.cost_model.trees import TreeLearning
from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.comparison import doubts, ensemble
from experiments.kernel_bank.metrics import errors, of_families
from experiments.kernel_bank.networks import Predicted, bank_data
from experiments.kernel_bank.origins import Origin, opcodes_of
from experiments.kernel_bank.settings import ChooseConfig, CurveConfig
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel
from hlograph.corpus.plan_times import PlanTimes
from hlograph.errors import HloError
from hlograph.profiling.kernel_trees import Trees

_ROUNDS = 4


class OpcodeErrors:
    """Errors of predictions for kernels with each opcode, on kernels that were held out.

    Args:
        times: The kernels, of which the default's texts count.
        predicted: Predictions for them.
    """

    def __init__(self, times: KernelTimes, predicted: Predicted) -> None:
        of_opcode: dict[str, list[float]] = defaultdict(list)
        off = [fmean(np.abs(each)) for each in errors(times.measured, predicted)]
        for kernel, error in zip(times.measured, off, strict=True):
            for opcode in opcodes_of(default_text(times.kernels, kernel)):
                of_opcode[opcode].append(error)
        self._usual = fmean(off)
        # As if each opcode had a kernel that is wrong as usual: a few kernels say little.
        self._of_opcode = {opcode: fmean([*of, self._usual]) for opcode, of in of_opcode.items()}

    def __call__(self, text: str) -> float:
        """Returns the expected logarithm of the factor by which seconds are off, for a kernel."""
        opcodes = opcodes_of(text)
        return fmean([self._of_opcode.get(o, self._usual) for o in opcodes] or [self._usual])


def default_text(kernels: Sequence[str], kernel: MeasuredKernel) -> str:
    """Returns the texts of what jaxlib made of a kernel by default."""
    return "\n".join(kernels[made.number] for made in kernel.variants[0].kernels)


def chosen(
    learned: KernelTimes, held_out: KernelTimes, origins: Iterable[Origin], config: ChooseConfig
) -> list[Origin]:
    """Returns kernels to draw from next, those that teach most first.

    Args:
        learned: Kernels to learn from.
        held_out: Kernels to find errors on, of the validation split.
        origins: Kernels to choose from; only those for training are chosen.
        config: Settings.

    Raises:
        HloError: The settings have a single seed.
    """
    _check_seeds(config.seeds)
    learning = TreeLearning(bank_data(learned, held_out), config.trees)
    grown = [learning.redrawn(seed).seconds() for seed in config.seeds]
    examples = learning.data.held_out
    predicted = [learning.predicted_seconds(trees, examples) for trees in grown]
    wrong = OpcodeErrors(held_out, ensemble(predicted))
    candidates = [origin for origin in origins if origin.split == "train"]
    texts = [origin.text for origin in candidates]
    doubt = np.std(np.log(learning.predicted_alone(grown, texts)), axis=0)
    worth = doubt * np.array([wrong(text) for text in texts])
    return [candidates[number] for number in np.argsort(-worth)[: config.kernels]]


def within_programs(origins: Iterable[Origin], programs: PlanTimes) -> list[Origin]:
    """Returns the kernels that a data set of plan times has, too, in their order."""
    texts = {programs.kernels[each.number] for plan in programs.plans for each in plan.kernels}
    return [origin for origin in origins if origin.text in texts]


def curve(
    learned: KernelTimes, validation: KernelTimes, held_out: KernelTimes, config: CurveConfig
) -> str:
    """Returns how orders and errors improve with kernels to learn from, as Markdown.

    In each round the number of kernels doubles, by choice or at random, up to all of them.

    Args:
        learned: Kernels to learn from, and to choose from.
        validation: Kernels whose errors choose.
        held_out: Kernels to compare on.
        config: Settings.

    Raises:
        HloError: The settings have a single seed.
    """
    _check_seeds(config.seeds)
    rounds = _Rounds(learned, validation, held_out, config)
    order = list(range(len(learned.measured)))
    Random(config.seeds[0]).shuffle(order)
    sizes = [len(order) >> number for number in range(_ROUNDS, -1, -1)]
    grown, row = rounds.learned(order[: sizes[0]])
    rows, by_choice = [(f"{sizes[0]:,}", "at random", *row)], order[: sizes[0]]
    for size in sizes[1:-1]:
        more = rounds.following(grown, by_choice, size - len(by_choice))
        by_choice = [*by_choice, *more]
        grown, row = rounds.learned(by_choice)
        rows.append((f"{size:,}", "by choice", *row))
        rows.append((f"{size:,}", "at random", *rounds.learned(order[:size])[1]))
    rows.append((f"{sizes[-1]:,}", "all", *rounds.learned(order)[1]))
    heads = ("kernels", "taken", "Kendall's tau", "95 % interval", "off by, at 50 %", "at 90 %")
    return markdown_table(heads, rows)


def _check_seeds(seeds: Sequence[int]) -> None:
    if len(set(seeds)) < 2:
        raise HloError(
            f"expected two or more --seeds, got {list(seeds)}: the doubt about a kernel "
            "is how much trees of several seeds disagree"
        )


class _Rounds:
    """Trees that learn from parts of the kernels, and what they choose."""

    def __init__(
        self,
        learned: KernelTimes,
        validation: KernelTimes,
        held_out: KernelTimes,
        config: CurveConfig,
    ) -> None:
        self._config, self._learned = config, learned
        self._validation, self._measured = validation, held_out.measured
        both = [*validation.measured, *held_out.measured]
        data = bank_data(learned, replace(held_out, measured=both))
        self._learning = TreeLearning(data, config.trees)

    def learned(self, part: Sequence[int]) -> tuple[list[Trees], tuple[str, ...]]:
        """Returns trees that learned from a part of the kernels, and how good they are."""
        grown = [self._learning.redrawn(seed, part).seconds() for seed in self._config.seeds]
        predicted = self._predicted(grown)[len(self._validation.measured) :]
        taus = of_families(self._measured, predicted, lambda ranking: ranking.tau)
        low, high = interval_of_mean(taus)
        off = np.exp(np.abs(np.concatenate(errors(self._measured, predicted))))
        return grown, (
            f"{fmean(taus):.3f}",
            f"{low:.3f} to {high:.3f}",
            *(f"{np.percentile(off, percent):.2f}" for percent in (50, 90)),
        )

    def following(self, grown: Sequence[Trees], part: Sequence[int], more: int) -> list[int]:
        """Returns the kernels that teach most beside those of a part."""
        learning, times = self._learning, self._learned
        predicted = self._predicted(grown)[: len(self._validation.measured)]
        wrong = OpcodeErrors(self._validation, predicted)
        examples = learning.data.training
        doubt = doubts([learning.predicted_seconds(trees, examples) for trees in grown])
        pairs = zip(doubt, times.measured, strict=True)
        worth = np.array([fmean(d) * wrong(default_text(times.kernels, k)) for d, k in pairs])
        worth[list(part)] = -np.inf
        return [int(number) for number in np.argsort(-worth)[:more]]

    def _predicted(self, grown: Sequence[Trees]) -> Predicted:
        examples = self._learning.data.held_out
        return ensemble([self._learning.predicted_seconds(trees, examples) for trees in grown])
