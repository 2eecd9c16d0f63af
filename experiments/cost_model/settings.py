"""Settings of the training of the cost model; imports no torch, so that --help is fast."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of the training."""

    epochs: int = 40
    """Passes over the programs."""
    programs: int = 4
    """Programs of a step."""
    learning_rate: float = 2e-3
    """Largest learning rate, after a short rise and before a fall along a cosine."""
    weight_decay: float = 1e-2
    """Weight decay of AdamW."""
    temperature: float = 0.5
    """Logarithm of a ratio between plans that counts as much in the listwise loss."""
    listwise: float = 0.5
    """Weight of the listwise loss."""
    kernels: float = 1.0
    """Weight of the loss of the kernels' times."""
