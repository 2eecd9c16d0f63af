"""A trained cost model, and its predictions for plans that were not compiled to code."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.cost_model.examples import TableColumns, WordTable, flag_words, schema
from experiments.cost_model.kernel_inputs import NUMBERS, kernel_inputs, number_names
from hlograph.errors import DamagedFileError
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.storage.atomic_write import write_bytes_atomically
from models.config import CostModelConfig, GATConfig
from models.cost_model import CostModel

SHIPPED = Path(__file__).parents[2] / "models" / "shipped" / "cost-model-seed0.pt"
"""The model that comes with the project."""

_KIND, _VERSION = "hlograph cost model", 2
_PRIOR = "log_alone"
# Files of version 1 say neither which numbers they take nor under which conditions they predict.
_FIRST: Mapping[str, Any] = {"numbers": NUMBERS[:-1], "prior": "log_predicted", "decisions": []}


def new_model(columns: TableColumns, config: CostModelConfig) -> CostModel:
    """Returns a model with random parameters, for kernels as ``kernel_inputs`` makes them."""
    return _model(number_names(), _PRIOR, columns, config)


def _model(
    numbers: Sequence[str], prior: str, columns: TableColumns, config: CostModelConfig
) -> CostModel:
    if tuple(numbers) != number_names()[: len(numbers)]:
        raise ValueError(f"expected a model of the numbers of kernels here, got one of {numbers}")
    widths = len(columns.flags), len(columns.decisions)
    return CostModel(schema(), len(numbers), widths[0], numbers.index(prior), config, widths[1])


@dataclass(eq=False)
class Predictor:
    """Predicts the seconds of plans from their kernels.

    Each distinct kernel is encoded once.

    Attributes:
        model: The trained model.
        columns: Columns of its tables.
        config: Shape of the model.
    """

    model: CostModel
    columns: TableColumns
    config: CostModelConfig
    _numbers: dict[str, int] = field(default_factory=dict)
    _vectors: list[Tensor] = field(default_factory=list)
    _inputs: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Ends training, so that no values are dropped."""
        self.model.eval()
        self._states = self.model.encoder.store()

    @torch.inference_mode()
    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """Returns the predicted time of a plan; see ``hlograph.profiling.kernel_seconds``.

        Raises:
            HloParseError: A text is no kernel.
        """
        outside = float(self.model.log_outside.exp())
        self._encode([kernel.text for kernel in kernels])
        rows = [self._numbers[kernel.text] for kernel in kernels]
        if not rows:
            return PredictedTime(outside, ())
        table = WordTable(self.columns.flags)
        table.row(flag_words(flags))
        seconds = self.model.log_seconds(
            torch.stack([self._vectors[row] for row in rows]),
            torch.stack([self._inputs[row] for row in rows]),
            table.table().expand(len(rows), -1),
        )
        within = seconds[:, self.model.conditions.index("within")]
        calls = torch.tensor([kernel.calls for kernel in kernels])
        of_kernels = within.exp() * calls
        return PredictedTime(outside + float(of_kernels.sum()), tuple(of_kernels.tolist()))

    def _encode(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._numbers]
        if not new:
            return
        first, inputs = len(self._states), [kernel_inputs(text) for text in new]
        self._states.add(inputs)
        numbers = torch.stack([torch.from_numpy(kernel.numbers) for kernel in inputs])
        which = torch.arange(first, first + len(new))
        self._vectors += self.model.kernel_vectors(self._states, numbers, which).unbind()
        self._inputs += numbers.unbind()
        self._numbers |= {text: first + number for number, text in enumerate(new)}

    def save(self, path: Path) -> None:
        """Writes the model to a file.

        Raises:
            OSError: It cannot be written.
        """
        content = {
            "kind": _KIND,
            "version": _VERSION,
            "numbers": list(number_names()[: self.model.num_numbers]),
            "prior": NUMBERS[self.model.prior],
            "columns": list(self.columns.flags),
            "decisions": list(self.columns.decisions),
            "config": asdict(self.config),
            "parameters": self.model.state_dict(),
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        write_bytes_atomically(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Predictor":
        """Reads a model that ``save`` wrote.

        Raises:
            OSError: There is no such file.
            DamagedFileError: The file holds no model of this version.
        """
        data = path.read_bytes()
        try:
            content: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
            if content["kind"] != _KIND or content["version"] not in (1, _VERSION):
                raise ValueError("another kind or version")
            content = {**_FIRST, **content}
            fields = {"conditions": ("within",), **content["config"]}
            fields |= {"gat": GATConfig(**fields["gat"]), "conditions": tuple(fields["conditions"])}
            config = CostModelConfig(**fields)
            columns = TableColumns(tuple(content["columns"]), tuple(content["decisions"]))
            model = _model(content["numbers"], content["prior"], columns, config)
            model.load_state_dict(content["parameters"])
        except Exception as error:  # torch raises many classes for a damaged file
            raise DamagedFileError(f"{path} is no cost model of this version: {error}") from error
        return cls(model, columns, config)
