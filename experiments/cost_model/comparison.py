"""Trains cost models, and compares them with baselines on programs that were held out."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.cost_model.baselines import BASELINES, measured_kernels
from experiments.cost_model.examples import Data, Kernels, ProgramExamples, schema
from experiments.cost_model.metrics import TOP, Ranking, ranking, repeated
from experiments.cost_model.predictor import Predictor, new_model
from experiments.cost_model.settings import TrainingConfig
from experiments.cost_model.training import train
from experiments.evaluate.results import markdown_table
from hlograph.execution.bootstrap import bootstrap_interval
from models.config import CostModelConfig
from models.cost_model import CostModel
from models.graph_view import GraphView
from models.refined_graphs import RefinedGraphs

_HEADS = (
    *("model", "Kendall's tau", "95 % interval", "clear pairs in order"),
    *(f"top-{number} slowdown" for number in TOP),
    "plans to within 3 %",
)


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
        self._rankings: dict[str, dict[str, Ranking]] = {
            name: {
                program.name: ranking(predict(self._kernels, program), program.plans)
                for program in data.held_out
            }
            for name, predict in {**BASELINES, "measured kernels": measured_kernels}.items()
        }

    def trained(self, config: TrainingConfig, seed: int) -> Predictor:
        """Trains a model, adds it to the comparison, and returns it.

        Args:
            config: Settings of its training.
            seed: Seed of its parameters and of the order of the programs.
        """
        data, shape, kernels = self._data, self._shape, self._kernels
        torch.manual_seed(seed)
        model = new_model(len(data.columns), shape)
        train(model, kernels, data.flags, data.training, config, seed)
        self._rankings[f"cost model, seed {seed}"] = {
            program.name: ranking(_predicted(model, kernels, data.flags, program), program.plans)
            for program in data.held_out
        }
        return Predictor(model, data.columns, shape)

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
        training, held_out = self._data.training, self._data.held_out
        agreement = fmean(repeated(program.plans) for program in held_out)
        return (
            f"Trained on {_number(training)} plans of {len(training)} programs; compared on "
            f"{_number(held_out)} plans of {len(held_out)} programs of other families. Numbers are "
            "means over programs. The turns of each measurement were split in halves: Kendall's "
            f"tau of one with the other is {agreement:.3f}, so measurements of half this length "
            "agree no better with each other."
        )


@torch.inference_mode()
def _predicted(
    model: CostModel, kernels: Kernels, flags: torch.Tensor, program: ProgramExamples
) -> NDArray[np.float64]:
    seconds = model.of_batch(kernels.states, kernels.numbers, flags, program.batch)
    return model.plans(seconds, program.batch).double().numpy()


def _number(programs: Sequence[ProgramExamples]) -> str:
    return f"{sum(len(program.plans) for program in programs):,}"


def _row(name: str, rankings: Sequence[Ranking]) -> tuple[str, ...]:
    taus = [of_program.tau for of_program in rankings]
    low, high = _interval(taus)
    clear = float(np.nanmean([of_program.clear for of_program in rankings]))
    slower = [
        np.exp(fmean(np.log1p(of_program.slowdown[number]) for of_program in rankings)) - 1
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


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the bootstrap interval of a mean."""
    low, high = bootstrap_interval([float(np.exp(value)) for value in values])
    return float(np.log(low)), float(np.log(high))
