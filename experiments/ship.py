"""Puts the policy that a training has kept among those that come with the project.

python -m experiments.ship runs/NAME/gnn/checkpoint.pt
"""

import sys
from dataclasses import replace
from typing import Annotated

import tyro

from experiments.shipped import FOLDER, SHIPPED
from hlograph.errors import HloError


def main(
    checkpoint: Annotated[str, tyro.conf.Positional],
) -> int:
    """Writes it under the name of its kind, which replaces the one that was there.

    Args:
        checkpoint: Path or URL of the training's checkpoint.

    Returns:
        Exit status.
    """
    # It imports torch and the engine: seconds that --help does not have.
    from experiments.checkpoint import Checkpoint

    try:
        found = Checkpoint.load(checkpoint).without_training()
        # Where it was trained is of no use to anybody else.
        found = replace(found, config=found.config | {"out": None, "resume": None})
        path = FOLDER / SHIPPED[found.learner.replace("_", "-")]
        path.parent.mkdir(exist_ok=True)
        found.save(path)
    except (HloError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(
        f"{path.name}: {found.learner}, {found.steps:,} pass calls, {path.stat().st_size:,} bytes"
    )
    return 0


if __name__ == "__main__":
    sys.exit(tyro.cli(main, description=__doc__))
