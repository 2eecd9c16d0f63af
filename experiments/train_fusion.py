"""Trains a graph attention policy to decide about XLA:CPU's fusions, pair by pair.

    python -m experiments.train_fusion
    python -m experiments.train_fusion --reward final-run-time --ppo.gamma 1
    python -m experiments.train_fusion --resume runs/NAME

Ends with a table of held-out benchmarks: kernels, estimated bytes and measured run time, beside
XLA's own choice and HloEnv's heuristics.
"""

import sys

from experiments.training.cli import parse
from experiments.training.presets import FUSION_PRESETS
from experiments.training.program import train

if __name__ == "__main__":
    sys.exit(train(parse(FUSION_PRESETS, "train_fusion", __doc__ or ""), "train_fusion"))
