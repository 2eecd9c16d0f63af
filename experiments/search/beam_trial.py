"""Beam search that a checkpoint's policy guides, as one trial of a study."""

from collections.abc import Sequence

from experiments.evaluate.study import Trial
from experiments.search.guide import TrainedPolicy
from experiments.search.task import Search, SearchResult
from experiments.workers.player import Player


def beam_trial(player: Player, group: str, names: Sequence[str], calls: int) -> Trial:
    """Searches benchmarks with a beam that a policy guides, and checks the results.

    Args:
        player: The policy, and workers.
        group: Name of the benchmarks in tables.
        names: The benchmarks.
        calls: Pass calls to spend on each.
    """
    guide = TrainedPolicy.of(player.checkpoint)
    tasks = [
        Search(
            benchmark=name,
            method="policy-beam",
            seed=0,  # a beam draws nothing
            calls=calls,
            seconds=None,
            policy=guide,
        )
        for name in names
    ]
    method = f"{player.method()}, beam of {calls:,} calls"
    found: list[SearchResult] = player.runner.run(tasks, "a beam search", progress=method)
    curves = {f.outcome.benchmark: f.curve for f in found}
    outcomes, seconds = [f.outcome for f in found], [f.seconds for f in found]
    return player.checked(method, group, outcomes, seconds, curves)
