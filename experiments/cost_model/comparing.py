"""Trains cost models, and compares them with baselines on programs that were held out."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.cost_model.baselines import BASELINES, measured_kernels
from experiments.cost_model.comparison import programs_table, table
from experiments.cost_model.examples import Data, Kernels, ProgramExamples, schema
from experiments.cost_model.metrics import Ranking, ranking, repeated
from experiments.cost_model.predictor import Predictor, new_model
from experiments.cost_model.settings import TrainingConfig
from experiments.cost_model.training import train
from models.config import CostModelConfig
from models.cost_model import CostModel
from models.graph_view import GraphView
from models.refined_graphs import RefinedGraphs


class Comparison:
    """Rankings of the plans of programs that were held out.

    Args:
        data: The data set.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._kernels: Kernels | None = None
        self._rankings: dict[str, dict[str, Ranking]] = {}

    def trained(self, shape: CostModelConfig, config: TrainingConfig, seed: int) -> Predictor:
        """Trains a model, adds it to the comparison, and returns it.

        Args:
            shape: Shape of the model.
            config: Settings of its training.
            seed: Seed of its parameters and of the order of the programs.
        """
        data = self._data
        torch.manual_seed(seed)
        model = new_model(len(data.columns), shape)
        kernels = self._read(shape)
        train(model, kernels, data.flags, data.training, config, seed)
        self._rankings[f"cost model, seed {seed}"] = {
            one.name: ranking(_predicted(model, kernels, data.flags, one), one.plans)
            for one in data.held_out
        }
        return Predictor(model, data.columns, shape)

    def table(self) -> str:
        """Returns the table of models as Markdown."""
        return table({name: list(of.values()) for name, of in self._rankings.items()})

    def programs_table(self) -> str:
        """Returns Kendall's tau of each program as Markdown."""
        return programs_table(self._rankings)

    def about(self) -> str:
        """Returns a paragraph about the data set."""
        training, held_out = self._data.training, self._data.held_out
        agreement = fmean(repeated(one.plans) for one in held_out)
        return (
            f"Trained on {_number(training)} plans of {len(training)} programs; compared on "
            f"{_number(held_out)} plans of {len(held_out)} programs of other families. Numbers are "
            "means over programs. The turns of each measurement were split in halves: Kendall's "
            f"tau of one with the other is {agreement:.3f}, so measurements of half this length "
            "agree no better with each other."
        )

    def _read(self, shape: CostModelConfig) -> Kernels:
        """Returns the kernels, and ranks by the baselines when they are read first."""
        if self._kernels is None:
            view = GraphView.of(schema(), shape.gat)
            states = RefinedGraphs(view, shape.gat.layers)
            self._kernels = kernels = Kernels.of(self._data.times.kernels, states)
            for name, predict in {**BASELINES, "measured kernels": measured_kernels}.items():
                self._rankings[name] = {
                    one.name: ranking(predict(kernels, one), one.plans)
                    for one in self._data.held_out
                }
        return self._kernels


@torch.inference_mode()
def _predicted(
    model: CostModel, kernels: Kernels, flags: torch.Tensor, program: ProgramExamples
) -> NDArray[np.float64]:
    seconds = model.of_batch(kernels.states, kernels.numbers, flags, program.batch)
    return model.plans(seconds, program.batch).double().numpy()


def _number(programs: Sequence[ProgramExamples]) -> str:
    return f"{sum(len(one.plans) for one in programs):,}"
