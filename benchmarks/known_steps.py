"""Measures what the table of known steps saves a policy that plays the same modules again.

    python -m benchmarks.known_steps
    python -m benchmarks.known_steps --policy op-counts --size 1000

In each iteration 16 environments play 40 steps, with a table and without one, in turns: the policy
draws the same actions from the same observations. Times are of the processor. Ctrl-C ends it early,
with the rows so far.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tyro

from hlograph.errors import HloError

_REFUSED, _INTERRUPTED = 2, 130
_HEADINGS = ("iteration", "known, %", "ms without", "ms with", "ratio", "table, MiB")


@dataclass(frozen=True)
class KnownStepsConfig:
    """Settings of the measurement."""

    policy: str = "gnn"
    """A policy that comes with the project, or a checkpoint of one that orders passes."""
    size: int = 300
    """Instructions of the modules, which are the nearest of the training split."""
    modules: int = 8
    """Number of modules."""
    iterations: int = 6
    """Iterations of 640 pass calls."""
    seed: int = 0
    """Seed of the actions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program.

    Returns:
        Exit status: 0, 2 if the policy or the modules cannot be had, or 130 after Ctrl-C.
    """
    prog = "python -m benchmarks.known_steps"
    config = tyro.cli(KnownStepsConfig, args=arguments, prog=prog, description=__doc__)
    try:
        return _measure(config)
    except (HloError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _REFUSED


def _measure(config: KnownStepsConfig) -> int:
    from rich.console import Console
    from rich.table import Table
    from tqdm import tqdm

    title = f"{config.policy} on {config.modules} modules of about {config.size} instructions"
    table = Table(*_HEADINGS, title=title)
    status = 0
    with tqdm(total=config.iterations, unit="iteration") as bar:
        try:
            for row in _rows(config):
                table.add_row(*row)
                bar.update()
        except KeyboardInterrupt:
            status = _INTERRUPTED
    Console().print(table)
    return status


def _rows(config: KnownStepsConfig) -> Iterator[tuple[str, ...]]:
    from benchmarks.repeated_play import RepeatedPlay
    from benchmarks.subjects import names_near
    from envs import KnownSteps
    from experiments.policies.checkpoint import load_policy
    from experiments.policies.shipped import checkpoint_location

    kind, policy = load_policy(checkpoint_location(config.policy))
    names = names_near(config.size, config.modules)
    table = KnownSteps()
    plays = [RepeatedPlay(kind, policy, names, steps) for steps in (None, table)]
    for number in range(config.iterations):
        # The first of the two pays for what the other one finds in the processor's caches.
        order = (0, 1) if number % 2 == 0 else (1, 0)
        found = {which: plays[which].iterate(config.seed + number) for which in order}
        without, known = found[0], found[1]
        yield (
            str(number + 1),
            f"{100 * known.known / max(1, known.changes):.0f}",
            f"{without.milliseconds:.2f}",
            f"{known.milliseconds:.2f}",
            f"{without.milliseconds / known.milliseconds:.2f}",
            f"{table.size / 2**20:.0f}",
        )


if __name__ == "__main__":
    sys.exit(main())
