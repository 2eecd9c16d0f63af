"""Searches for one order of passes that leaves the fewest instructions of many modules.

    python -m experiments.search.fixed_order --out runs/small
    python -m experiments.search.fixed_order --start runs/small/order.json --op-limit 3000

It climbs from xla-simplify, or from an order of a search before: each generation changes the best
order at random in several ways, runs every variant on every benchmark, and keeps the best one.
order.json in the run's folder has the best order so far, also after Ctrl-C.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.evaluate.run_folder import run_program
from hlograph.corpus.shipped import Split

if TYPE_CHECKING:
    from experiments.search.pipelines import Order

FILE = "order.json"
"""File with the best order, in the run's folder."""


@dataclass(frozen=True)
class FixedOrderConfig:
    """Settings of a search for one order of passes."""

    split: Split = "train"
    """Split of the corpus to search on."""
    count: int | None = None
    """Benchmarks, evenly over families; None is all."""
    op_limit: int = 400
    """Benchmarks with more instructions are left out."""
    generations: int = 80
    """Times that variants of the best order are run."""
    variants: int = 24
    """Variants in a generation."""
    call_cost: float = 0.0005
    """Share of instructions that an order must leave fewer to be worth as many more calls as
    xla-simplify makes."""
    loss_cost: float = 1.0
    """Additional weight of benchmarks on which an order leaves more than xla-simplify; 0 weighs
    gains and losses alike."""
    start: Path | None = None
    """File of an order to begin with; None is xla-simplify."""
    seed: int = 0
    """Seed of the changes."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    out: Path | None = None
    """Folder for the order, quarantine and events; by default a new one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the search of a command line, and prints each better order.

    Returns:
        Exit status.
    """
    name = "experiments.search.fixed_order"
    return run_program(_search, FixedOrderConfig, name, __doc__, arguments)


def _search(config: FixedOrderConfig) -> int:
    # These import torch and the engine: seconds that --help does not have.
    from experiments.search.pipelines import Scorer
    from experiments.search.program import task_runner
    from experiments.workers.run_events import phase_bar

    names, candidates, best = _material(config)
    generator, costs = random.Random(config.seed), (config.call_cost, config.loss_cost)
    with (
        task_runner("order", config.out, config.num_workers, samples=0) as runner,
        phase_bar("climbing", config.generations, "generation") as bar,
    ):
        scorer = Scorer(runner, names)
        (score,) = scorer([best])
        if score is None:
            raise ValueError(f"the order to begin with does not end on every benchmark: {best}")
        bar.write(f"{len(scorer)} benchmarks, {len(candidates)} passes; at the start {score}")
        best.save(runner.folder / FILE)
        for _ in range(config.generations):
            drawn = {best.variant(candidates, generator): None for _ in range(config.variants)}
            variants = list(drawn)
            scores = zip(scorer(variants), variants, strict=True)
            reached = [(score, best), *((s, v) for s, v in scores if s is not None)]
            before = best
            score, best = max(reached, key=lambda pair: pair[0].worth(*costs))
            if best is not before:
                best.save(runner.folder / FILE)
                bar.write(f"{score}\n  {best}")
            bar.set_postfix_str(str(score))
            bar.update()
    return 0


def _material(config: FixedOrderConfig) -> tuple[list[str], list[str], Order]:
    """Returns the benchmarks, the passes to draw from, and the order to begin with.

    The passes are those of the best orders that are known on the split, or all if none is, and
    those of the order to begin with.
    """
    import hlograph
    from experiments.evaluate import best_known
    from experiments.evaluate.benchmarks import spread_over_families
    from experiments.search.pipelines import REFERENCE, Order
    from hlograph import corpus

    benchmarks = corpus.load(None, config.split, max_op_count=config.op_limit)
    names = spread_over_families(benchmarks, config.count)
    recorded, split = best_known.current(), corpus.load(split=config.split)
    rows = [recorded[name].passes for name in split.names if name in recorded]
    if config.start is None:
        start = Order.of(hlograph.pipelines[REFERENCE])
    else:
        start = Order.load(config.start)
    known = {entry for passes in rows for entry in passes} or set(hlograph.passes.names)
    return names, sorted(known.union(start.once, start.first, start.second)), start


if __name__ == "__main__":
    sys.exit(main())
