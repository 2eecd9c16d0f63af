"""Makes the recipes that come with the package of the decisions that won on the train split.

    python -m experiments.tune.recipes

It reads datasets/best_decisions.jsonl, which has the fastest plan that was measured of each
program, without what brings nothing. Candidates are the rules and flags of each plan, those that
several plans have in common, and each rule and flag alone. One after the other, the candidate is
taken that gains most beyond those before it: on each program whose plan has all of it, the
logarithm of the ratio, times its share of the plan's decisions.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.evaluate.run_folder import run_program

if TYPE_CHECKING:
    from experiments.evaluate.best_decisions import BestDecisions

# A recipe has at least this gain: that of a program that became 1.5 times as fast.
_LEAST_GAIN = 0.4


@dataclass(frozen=True)
class RecipesConfig:
    """Settings."""

    file: Path | None = None
    """File of the recipes; None is the package's."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the recipes.

    Returns:
        Exit status.
    """
    return run_program(_write, RecipesConfig, "experiments.tune.recipes", __doc__, arguments)


def _write(config: RecipesConfig) -> int:
    from experiments.evaluate import best_decisions
    from hlograph import corpus
    from hlograph.optimization.methods import recipes
    from hlograph.storage.atomic_write import write_text_atomically

    train = {benchmark.name for benchmark in corpus.load("speed", "train")}
    won = [each for each in best_decisions.read().values() if each.benchmark in train]
    lines = [json.dumps(recipe) for recipe in ranked(won)]
    file = config.file or recipes.FILE
    write_text_atomically(file, "[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} recipes, {file.stat().st_size} bytes: {file}")
    return 0


def ranked(won: "Sequence[BestDecisions]") -> Iterator[dict[str, Any]]:
    """Yields the recipes as their file has them, those that gain most first.

    Args:
        won: Decisions of the fastest plan of each program.
    """
    plans = {each: frozenset(filter(_is_general, each.decisions)) for each in won}
    parts = {part for plan in plans.values() for part in (plan, *(frozenset([d]) for d in plan))}
    common = {plan & other for plan in plans.values() for other in plans.values()}
    candidates = sorted(
        (parts | common) - {frozenset()}, key=lambda part: (len(part), sorted(part))
    )
    best = dict.fromkeys(won, 0.0)

    def gains(part: frozenset[str]) -> "Mapping[BestDecisions, float]":
        return {
            each: gain
            for each, plan in plans.items()
            if part <= plan
            and (gain := math.log(each.ratio) * len(part) / len(each.decisions)) > best[each]
        }

    def gained(part: frozenset[str]) -> float:
        return sum(gain - best[each] for each, gain in gains(part).items())

    while (gain := gained(part := max(candidates, key=gained))) >= _LEAST_GAIN:
        best |= gains(part)
        rules = sorted(name.removeprefix("rule ") for name in part if name.startswith("rule "))
        flags = (name.removeprefix("flags ").partition(" = ") for name in sorted(part))
        yield {
            "rules": rules,
            "flags": {name: json.loads(value) for name, equals, value in flags if equals},
            "programs": sum(part <= plan for plan in plans.values()),
            "gain": round(gain, 2),
        }


def _is_general(decision: str) -> bool:
    """Returns True for rules and flags; other decisions name instructions by what they compute."""
    return decision.startswith(("rule ", "flags "))


if __name__ == "__main__":
    sys.exit(main())
