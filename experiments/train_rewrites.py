"""Trains a graph attention policy to rewrite HLO modules, one rewrite of XLA's at a time.

    python -m experiments.train_rewrites
    python -m experiments.train_rewrites --rules algebraic merge remove --seed 1
    python -m experiments.train_rewrites --resume runs/NAME

Ends with a table of held-out benchmarks: op counts at the start, after XLA's own orders of
passes, and after the policy's rewrites.
"""

import sys

from experiments.training.cli import parse
from experiments.training.presets import REWRITE_PRESETS
from experiments.training.program import train

if __name__ == "__main__":
    sys.exit(train(parse(REWRITE_PRESETS, "train_rewrites", __doc__ or ""), "train_rewrites"))
