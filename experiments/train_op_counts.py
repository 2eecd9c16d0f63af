"""Trains a policy that sees op counts only to order XLA's passes: the paper's baseline.

    python -m experiments.train_op_counts
    python -m experiments.train_op_counts --preset full --seed 1
    python -m experiments.train_op_counts --resume runs/NAME

Its checkpoint can be given to `train_gnn --baseline`. Ends with a table of held-out
benchmarks: op counts at the start, after XLA's own orders, and after the policy.
"""

import sys

from experiments.training.cli import parse
from experiments.training.presets import OP_COUNT_PRESETS
from experiments.training.program import train

if __name__ == "__main__":
    sys.exit(train(parse(OP_COUNT_PRESETS, "train_op_counts", __doc__ or ""), "train_op_counts"))
