"""Rankings of plans by cost models and without learning, on programs that were held out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.cost_model.examples import Data, Kernels, ProgramExamples, schema
from experiments.cost_model.ranking import (
    BYTES,
    FLOPS,
    TOP,
    Ranking,
    interval_of_mean,
    kendall_tau,
    ranking,
)
from experiments.cost_model.settings import TrainingConfig, TreesConfig
from experiments.cost_model.training import new_model, train
from experiments.cost_model.trees import TreeLearning
from experiments.evaluate.results import markdown_table
from hlograph.corpus.plan_times import PlanTime
from hlograph.profiling.kernel_inputs import NUMBERS
from hlograph.profiling.kernel_seconds import LEAST_SECONDS
from hlograph.profiling.kernel_trees import KernelTreeWeights
from models.config import CostModelConfig
from models.cost_model import CostModel
from models.graph_view import GraphView
from models.refined_graphs import RefinedGraphs

Predict = Callable[[Kernels, ProgramExamples], NDArray[np.float64]]
"""Function that returns a number for each plan that grows with its seconds."""

_HEADS = (
    *("model", "Kendall's tau", "95 % interval", "clear pairs in order"),
    *(f"top-{number} slowdown" for number in TOP),
    "plans to within 3 %",
)


def log_seconds(plans: Sequence[PlanTime]) -> NDArray[np.float64]:
    """Returns the logarithms of the measured seconds of one program's plans, in the default's."""
    return -np.log([plan.ratio for plan in plans])


def repeated(plans: Sequence[PlanTime]) -> float:
    """Returns Kendall's tau of one half of the measured turns with the other half.

    Measurements do not agree better with themselves than this, at half their length.
    """
    first = np.array([median(plan.ratios[::2]) for plan in plans])
    return kendall_tau(first, np.array([median(plan.ratios[1::2]) for plan in plans]))


def _column(kernels: Kernels, program: ProgramExamples, name: str) -> Tensor:
    return kernels.numbers[program.batch.kernel, NUMBERS.index(name)]


def _sums(values: Tensor, program: ProgramExamples, calls: bool = True) -> NDArray[np.float64]:
    """Returns the sum over the kernels of each plan, by default of all of their calls."""
    batch = program.batch
    summands = values[batch.row] * (batch.log_calls.double().exp() if calls else 1.0)
    total = torch.zeros(batch.num_plans, dtype=torch.float64)
    return total.index_add(0, batch.plan, summands).numpy()


def no_model(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the same number for all plans: their order is random."""
    return np.zeros(len(program.plans))


def num_instructions(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the number of instructions of the final module."""
    counts = _column(kernels, program, "log_instructions").double().expm1()
    return _sums(counts, program, calls=False)


def roofline(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the seconds for each kernel's operations or bytes, whatever takes longer.

    Both are those of XLA's cost analysis.
    """
    flops = _column(kernels, program, "log_flops").double().expm1() / FLOPS
    moved = _column(kernels, program, "log_bytes").double().expm1() / BYTES
    return _sums(torch.maximum(flops, moved).clamp(min=LEAST_SECONDS), program)


def rates_of_work(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the seconds by amounts of work and measured rates (``hlograph.execution.rates``)."""
    return _sums(_column(kernels, program, "log_alone").double().exp(), program)


def measured_kernels(kernels: Kernels, program: ProgramExamples) -> NDArray[np.float64]:
    """Returns the sum of the measured times of the plan's kernels.

    This is no prediction. It shows what is lost by adding up kernels, whose times are medians over
    all plans of the program with the same flags.
    """
    seconds = program.rows.log_seconds.double().nan_to_num(nan=-torch.inf).exp()
    return _sums(seconds, program)


BASELINES: Mapping[str, Predict] = {
    "no model": no_model,
    "number of instructions": num_instructions,
    "roofline of XLA's cost analysis": roofline,
    "rates of work": rates_of_work,
}
"""Baselines by name."""


class CostModelComparison:
    """Rankings of the plans of programs that were held out.

    Args:
        data: The data set.
        shape: Shape of the models.
    """

    def __init__(self, data: Data, shape: CostModelConfig) -> None:
        self._data, self._shape = data, shape
        states = RefinedGraphs(GraphView.of(schema(), shape.gat), shape.gat.layers)
        self._kernels = Kernels.of(data.kernels, states)
        self._rankings: dict[str, dict[str, Ranking]] = {}
        for name, predict in {**BASELINES, "measured kernels": measured_kernels}.items():
            self._add(name, [predict(self._kernels, program) for program in data.held_out])

    def trained(self, config: TrainingConfig, seed: int) -> CostModel:
        """Trains a model, adds it to the comparison, and returns it.

        Args:
            config: Settings of its training.
            seed: Seed of its parameters and of the order of the programs.
        """
        data, shape, kernels = self._data, self._shape, self._kernels
        torch.manual_seed(seed)
        model = new_model(data.columns, shape)
        train(model, kernels, data, config, seed)
        predicted = [network_seconds(model, kernels, data, program) for program in data.held_out]
        self._add(f"network, seed {seed}", predicted)
        return model

    def grown(self, config: TreesConfig, seed: int = 0) -> KernelTreeWeights:
        """Grows gradient-boosted trees, adds them to the comparison, and returns them.

        Args:
            config: Their settings.
            seed: Seed of what they draw.
        """
        learning = TreeLearning(self._data, config, seed)
        weights = learning.weights()
        predicted = learning.predicted_seconds(weights.seconds, self._data.held_out)
        self._add("gradient-boosted trees", predicted)
        return weights

    def _add(self, name: str, predicted: Iterable[NDArray[np.float64]]) -> None:
        """Ranks the plans of each program by the predictions of a model."""
        self._rankings[name] = {
            program.name: ranking(seconds, log_seconds(program.plans))
            for program, seconds in zip(self._data.held_out, predicted, strict=True)
        }

    def table(self) -> str:
        """Returns the table of models as Markdown."""
        rows = (_row(name, list(of.values())) for name, of in self._rankings.items())
        return markdown_table(_HEADS, rows)

    def programs_table(self) -> str:
        """Returns Kendall's tau of each program as Markdown."""
        rows = [
            (name, *(f"{of_model[name].tau:.2f}" for of_model in self._rankings.values()))
            for name in (program.name for program in self._data.held_out)
        ]
        return markdown_table(("program", *self._rankings), rows)

    def page(self) -> str:
        """Returns the page about the data set and all models as Markdown."""
        title = "## Kendall's tau by program"
        parts = ("# Cost model", self.about(), self.table(), title, self.programs_table())
        return "\n\n".join(parts) + "\n"

    def about(self) -> str:
        """Returns a paragraph about the data set."""
        held_out, alone = self._data.held_out, self._data.alone
        names = {program.name for program in self._data.whole}
        agreement = fmean(repeated(program.plans) for program in held_out)
        return (
            f"Trained on {_number(self._data.whole)} plans of {len(names)} programs and "
            f"{_number(alone)} variants of {len(alone):,} kernels alone; compared on "
            f"{_number(held_out)} plans of {len(held_out)} programs of other families. Numbers are "
            "means over programs. The turns of each measurement were split in halves: Kendall's "
            f"tau of one with the other is {agreement:.3f}, so measurements of half this length "
            "agree no better with each other."
        )


@torch.inference_mode()
def network_seconds(
    model: CostModel, kernels: Kernels, data: Data, program: ProgramExamples
) -> NDArray[np.float64]:
    """Returns the logarithms of the predicted seconds of a program's plans, float64 ``[P]``."""
    seconds, _ = model.of_batch(kernels.states, kernels.numbers, data.flags, program.batch)
    return model.plans(seconds, program.batch, "within").double().numpy()


def _number(programs: Sequence[ProgramExamples]) -> str:
    return f"{sum(len(program.plans) for program in programs):,}"


def _row(name: str, rankings: Sequence[Ranking]) -> tuple[str, ...]:
    taus = [of_program.tau for of_program in rankings]
    low, high = interval_of_mean(taus)
    clear = float(np.nanmean([of_program.clear for of_program in rankings]))
    slower = [
        np.expm1(fmean(np.log1p(of_program.slowdown[number]) for of_program in rankings))
        for number in range(len(TOP))
    ]
    return (
        name,
        f"{fmean(taus):.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{clear:.1%}",
        *(f"{slowdown:.1%}" for slowdown in slower),
        f"{fmean(of_program.needed for of_program in rankings):.1f}",
    )
