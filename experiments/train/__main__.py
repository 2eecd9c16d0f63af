"""Trains a policy, and shows its results on held-out benchmarks.

    python -m experiments.train op-counts --preset full --seed 1
    python -m experiments.train rewrites --rules algebraic merge remove
    python -m experiments.train fusion --reward final-run-time --ppo.gamma 1
    python -m experiments.train tuning --times rates
    python -m experiments.train tuning --resume runs/NAME

Each process has settings of its own: `python -m experiments.train rewrites --help` shows them. The
policy that orders passes by a module's graph is trained by `python -m experiments.train_gnn`.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.train.command_line import (
    FUSION_PRESETS,
    OP_COUNT_PRESETS,
    REWRITE_PRESETS,
    TUNING_PRESETS,
    parse,
)
from experiments.train.program import train

PROCESSES: dict[str, tuple[Mapping[str, Any], str]] = {
    "op-counts": (
        OP_COUNT_PRESETS,
        "Trains a policy that sees op counts only to order XLA's passes: the paper's baseline. Its "
        "checkpoint can be given to `train_gnn --baseline`. Ends with a table of held-out "
        "benchmarks: op counts at the start, after XLA's own orders, and after the policy.",
    ),
    "rewrites": (
        REWRITE_PRESETS,
        "Trains a graph attention policy to rewrite HLO modules, one rewrite of XLA's at a time. "
        "Ends with a table of held-out benchmarks: op counts at the start, after XLA's own orders "
        "of passes, and after the policy's rewrites.",
    ),
    "fusion": (
        FUSION_PRESETS,
        "Trains a graph attention policy to decide about XLA:CPU's fusions, pair by pair. Ends "
        "with a table of held-out benchmarks: kernels, estimated bytes and measured run time, "
        "beside XLA's own choice and HloEnv's heuristics.",
    ),
    "tuning": (
        TUNING_PRESETS,
        "Trains policies to decide how XLA:CPU compiles a program: graph attention, and op counts. "
        "Rewards are drops of predicted times. Ends with tables of held-out programs, whose plans "
        "are measured beside jaxlib's default.",
    ),
}
"""Presets of each process, and the description of its command line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains what a command line asks for.

    Args:
        arguments: The process and its settings; by default this process's command line.

    Returns:
        Exit status; see ``train``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        "python -m experiments.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("process", choices=list(PROCESSES), help="what is trained")
    process = parser.parse_args(words[:1]).process
    return train(parse(*PROCESSES[process], words[1:]))


if __name__ == "__main__":
    sys.exit(main())
