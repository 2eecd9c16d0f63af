"""Trains policies to decide how XLA:CPU compiles a program: graph attention, and op counts.

    python -m experiments.train_tuning
    python -m experiments.train_tuning --times rates --seed 1
    python -m experiments.train_tuning --resume runs/NAME

Rewards are drops of predicted times. Ends with tables of held-out programs, whose plans are
measured beside jaxlib's default.
"""

import sys

from experiments.training.cli import parse
from experiments.training.presets import TUNING_PRESETS
from experiments.training.program import train

if __name__ == "__main__":
    sys.exit(train(parse(TUNING_PRESETS, "train_tuning", __doc__ or ""), "train_tuning"))
