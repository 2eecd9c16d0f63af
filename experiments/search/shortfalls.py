"""Shows where a policy that orders passes falls short of the best known, and why.

    python -m experiments.search.shortfalls gnn
    python -m experiments.search.shortfalls runs/NAME/gnn/checkpoint.pt --split train --worst 20

One greedy episode is played on each benchmark. From each of its states, the best known order of
passes is followed. Where it still removes instructions after the episode, the policy ended too
early. Where it removed them before a pass of the episode and no longer afterwards, that pass was a
wrong turn. Benchmarks without a recorded order are left out.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from experiments.evaluate.run_folder import run_program
from hlograph.corpus.shipped import CorpusSet, Split

if TYPE_CHECKING:
    from experiments.search.shortfall import Shortfall

_SIZES = ((0, 100), (100, 1_000), (1_000, math.inf))
"""Groups of the table, by instructions of the benchmark."""


@dataclass(frozen=True)
class ShortfallConfig:
    """Settings of an explanation."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Policy that orders passes: path, URL, or name of a shipped policy."""
    benchmarks: tuple[str, ...] = ()
    """Globs, which select in the split; or names of the corpus, which are taken whatever the split.
    None is the whole split."""
    split: Split = "validation"
    """Split of the corpus."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus; None is all but speed."""
    op_limit: int | None = 3_000
    """Benchmarks of the split with more instructions are left out."""
    count: int | None = None
    """Number of benchmarks, evenly over families; None is all."""
    worst: int = 10
    """Benchmarks to name, the worst first."""
    num_workers: int | None = None
    """Worker processes; None is one a core."""
    out: Path | None = None
    """Folder for the page (shortfalls.md), quarantine and events; without it, the page is only
    printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Explains what a command line asks for, and prints the page.

    Returns:
        Exit status.
    """
    name = "experiments.search.shortfalls"
    return run_program(_explain, ShortfallConfig, name, __doc__, arguments)


def _explain(config: ShortfallConfig) -> int:
    # These import torch and the engine: seconds that --help does not have.
    from experiments.evaluate import best_known
    from experiments.evaluate.benchmarks import Part, chosen
    from experiments.policies.shipped import checkpoint_location
    from experiments.search.guide import TrainedPolicy
    from experiments.search.program import task_runner
    from experiments.search.shortfall import Explain
    from hlograph.storage.atomic_write import write_text_atomically

    policy = TrainedPolicy.load(checkpoint_location(config.checkpoint))
    part = Part(config.split, config.corpus_set, config.op_limit, config.count)
    names, group = chosen(config.benchmarks, part)
    recorded = best_known.current()
    tasks = [
        Explain(
            benchmark=n, policy=policy, best_known=recorded[n].op_count, order=recorded[n].passes
        )
        for n in names
        if n in recorded
    ]
    if not tasks:
        raise ValueError(
            f"no order of passes is recorded for {', '.join(names[:3])}; search for one with "
            "python -m experiments.search --record"
        )
    with task_runner("shortfalls", config.out, config.num_workers, 0) as runner:
        explained = runner.run(tasks, "an explanation", progress="episodes")
    text = page(config.checkpoint, group, explained, config.worst)
    print(text)
    if config.out is not None:
        write_text_atomically(config.out / "shortfalls.md", text)
    return 0


def page(policy: str, group: str, explained: Sequence["Shortfall"], worst: int) -> str:
    """Returns the page, as Markdown.

    Args:
        policy: Name or path of the policy.
        group: Name of the benchmarks.
        explained: The explanations.
        worst: Number of benchmarks to name.
    """
    ordered = sorted(explained, key=lambda each: (each.ratio, each.benchmark))
    rows = [_row(each) for each in ordered[:worst] if each.ratio < 1]
    return "\n".join(
        [
            f"# Where {policy} falls short on {group}",
            "",
            "| instructions | benchmarks | best known / policy | ended too early | wrong turns | "
            "reached the horizon | pass calls |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *_groups(explained),
            "",
            "The second ratio is what the recorded order still gains after the episode, the third "
            "what it does not gain any more. Their product is the first.",
            "",
            "| benchmark | start | policy | continued | best known | calls | end | passes that "
            "still help | of these masked | worst turn |",
            "|---|---:|---:|---:|---:|---:|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _groups(explained: Sequence["Shortfall"]) -> Iterable[str]:
    """Yields a row of the table for each size, and one for all."""
    for low, high in (*_SIZES, (0, math.inf)):
        part = [each for each in explained if low <= each.start < high]
        if not part:
            continue
        name = "all" if (low, high) == (0, math.inf) else _range(low, high)
        cells = [
            _mean(each.ratio for each in part),
            _mean(each.continued / each.op_count for each in part),
            _mean(each.best_known / each.continued for each in part),
        ]
        horizon = sum(not each.stopped for each in part) / len(part)
        calls = sum(each.calls for each in part) / len(part)
        means = " | ".join(f"{cell:.4f}" for cell in cells)
        yield f"| {name} | {len(part)} | {means} | {horizon:.0%} | {calls:.1f} |"


def _range(low: float, high: float) -> str:
    return f"from {low:,}" if math.isinf(high) else f"{low:,} to {high - 1:,}"


def _mean(ratios: Iterable[float]) -> float:
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


def _row(each: "Shortfall") -> str:
    turn = each.turn
    cells = (
        each.benchmark,
        each.start,
        each.op_count,
        each.continued,
        each.best_known,
        each.calls,
        "stopped" if each.stopped else "horizon",
        " ".join(each.missing) or "",
        " ".join(each.masked) or "",
        f"{turn.name} at step {turn.step}: {turn.cost}" if turn else "",
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
