"""Adds the policy that a training has kept to those that come with the project.

python -m experiments.policies.ship runs/NAME/gnn/checkpoint.pt
"""

import sys
from dataclasses import replace
from typing import Annotated

import tyro

from experiments.policies.shipped import FOLDER, file_name, kind_of
from hlograph.errors import HloError

ELSEWHERE = {
    "benchmarks": [],
    "out": None,
    "resume": None,
    "known_no_ops": None,
    "baseline": None,
    "start": None,
    "ray_address": None,
}
"""Settings that name places of the machine that trained, and the values to replace them."""


def main(
    checkpoint: Annotated[str, tyro.conf.Positional],
) -> int:
    """Writes it under the name of its kind and seed, and replaces a former one.

    Args:
        checkpoint: Path or URL of the training's checkpoint.

    Returns:
        Exit status; a checkpoint that cannot be played here is refused.
    """
    # These import torch and the engine: seconds that --help does not have.
    from experiments.policies.checkpoint import Checkpoint, policy_of, training_cost

    try:
        policy = Checkpoint.load(checkpoint).without_training()
        policy = policy.fitted(*policy_of(policy))  # refuses other networks
        kind = kind_of(policy.kind, policy.config)
        config = {k: ELSEWHERE.get(k, v) for k, v in policy.config.items()}
        policy = replace(policy, config=config)
        path = FOLDER / file_name(kind, policy.config["seed"])
        path.parent.mkdir(exist_ok=True)
        policy.save(path)
    except (HloError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{path.name}, {path.stat().st_size:,} bytes: {training_cost(policy)}")
    return 0


if __name__ == "__main__":
    sys.exit(tyro.cli(main, prog="python -m experiments.policies.ship", description=__doc__))
