"""Trains a graph attention policy to order XLA's passes, beside an op-count policy.

    python -m experiments.train_gnn
    python -m experiments.train_gnn --preset full --seed 1
    python -m experiments.train_gnn --resume runs/NAME

Ends with a table of held-out benchmarks: op counts at the start, after XLA's own orders,
and after each policy.
"""

import sys

from experiments.train.command_line import GNN_PRESETS, parse
from experiments.train.program import train

if __name__ == "__main__":
    sys.exit(train(parse(GNN_PRESETS, __doc__ or "")))
