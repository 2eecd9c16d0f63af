"""Plays the policy of a checkpoint on benchmarks, and shows what it makes of them.

    python -m experiments.evaluate gnn
    python -m experiments.evaluate runs/NAME/gnn/checkpoint.pt --corpus-set gpt2-train --samples 16
    python -m experiments.evaluate gnn --stop-above 0.2
    python -m experiments.evaluate gnn --corpus 'rnn/*' --split validation --count 5
    python -m experiments.evaluate op-counts --corpus dump/

Every result is run again on a fresh module, verified, and compared with its original on random
inputs before it counts.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from experiments.policies.config import CorpusSet
from experiments.policies.config_json import to_json
from hlograph.corpus.shipped import Split
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.outcomes.study import Study

REFUSED = 2
_OP_LIMIT, _COUNT = 3_000, 36


@dataclass(frozen=True)
class EvaluateConfig:
    """Settings of `evaluate`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Path or URL, or the name of one that comes with the project: gnn, gnn-brief, op-counts,
    rewrites or rewrites-cost."""
    split: Split | None = None
    """Split of the corpus that benchmarks are of; None is test-unseen."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus that they are of; None is all sets."""
    corpus: tuple[str, ...] = ()
    """Modules: globs, which select among the benchmarks of the split, or benchmarks by name, files,
    folders and URLs, which are taken as they are; none is the split."""
    op_limit: int | None = None
    """Benchmarks of the split with more instructions are left out; None is 3,000, and of a policy
    that rewrites what it was evaluated on as it was trained."""
    count: int | Literal["all"] | None = None
    """Benchmarks of the split, evenly over families; None is 36."""
    samples: int = 1
    """Episodes on each benchmark, of which the best is kept; the first is greedy."""
    seed: int = 0
    """Seed of the episodes after the first."""
    stop_above: float = 0.5
    """Probability of stopping above which an episode that draws nothing ends: with less it makes
    fewer calls, and may leave more instructions."""
    beam: int | None = None
    """Pass calls on each benchmark for a beam search that the policy guides, in place of episodes;
    None is no search. For policies that order passes."""
    checks: int = 2
    """Random inputs on which each result is compared with its original; 0 verifies it alone."""
    workers: Literal["processes", "in-process"] = "processes"
    """What plays: processes of this machine or, to debug, this one."""
    num_workers: int | None = None
    """Processes that play; None is one a core."""
    out: Path | None = None
    """Folder to save the result in, as a study of which `python -m experiments.report` makes
    pictures; None saves nothing."""

    def __post_init__(self) -> None:
        """Refuses numbers of episodes that mean nothing."""
        if self.samples < 1:
            raise ValueError(f"--samples: expected at least 1 episode, got {self.samples}")
        if self.beam is not None and (self.beam < 1 or self.samples > 1):
            raise ValueError(
                f"--beam: expected at least 1 pass call, and no --samples beside it; got "
                f"{self.beam} and {self.samples}"
            )
        if not 0 < self.stop_above <= 1:
            raise ValueError(
                f"--stop-above: expected a probability above 0, got {self.stop_above:g}"
            )
        self._refuse_what_nothing_is_chosen_by()

    def _refuse_what_nothing_is_chosen_by(self) -> None:
        asked = {
            f"--{name.replace('_', '-')}": getattr(self, name)
            for name in ("split", "corpus_set", "op_limit", "count")
        }
        given = [flag for flag, value in asked.items() if value is not None]
        if not given or not self.corpus:
            return
        from experiments.policies.chosen_benchmarks import is_glob

        if not any(map(is_glob, self.corpus)):
            raise ValueError(
                f"{', '.join(given)}: there is no glob in --corpus that would choose by it; names, "
                "files, folders and URLs are taken as they are"
            )


def evaluate(config: EvaluateConfig, folder: Path) -> "Study":
    """Plays the checkpoint.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, it is damaged, or a benchmark cannot be read.
        ValueError: It was made with other passes, or no benchmark is left.
        OSError: It cannot be read.
    """
    # These import torch and the engine: seconds that --help does not have.
    from experiments.outcomes.study import Study
    from experiments.paper.benchmarks import known_of
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.shipped import checkpoint_location
    from experiments.workers.player import player, training_cost

    checkpoint = Checkpoint.load(checkpoint_location(config.checkpoint))
    rewrites = checkpoint.learner == "rewrites"
    names, group = _benchmarks(
        config, checkpoint.config["test_op_limit"] if rewrites else _OP_LIMIT
    )
    pool = (config.num_workers, config.workers)
    with player(checkpoint, folder, config.checks, *pool) as play:
        print(f"{play.method()} on {len(names)} benchmarks: {group}")
        references, left_out = play.references(names)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        left = list(references)
        if config.beam is None:
            trial = play.trial(group, left, config.samples, config.seed, config.stop_above)
        else:
            trial = play.beam(group, left, config.beam)
    return Study(
        name="evaluation",
        preset=_slug(trial.method),
        settings=to_json(config),
        references=references,
        trials=[trial],
        best_known=known_of(references),
        notes=[training_cost(checkpoint), *left_out],
    )


def _slug(method: str) -> str:
    return re.sub(r"\W+", "-", method.lower())


def _benchmarks(config: EvaluateConfig, op_limit: int) -> tuple[list[str], str]:
    """Names of the benchmarks, and what tables call them."""
    from experiments.policies.chosen_benchmarks import Part, chosen

    count = _COUNT if config.count is None else config.count
    part = Part(
        config.split or "test-unseen",
        config.corpus_set,
        op_limit if config.op_limit is None else config.op_limit,
        None if count == "all" else count,
    )
    return chosen(config.corpus, part)


def table(study: "Study") -> str:
    """What `evaluate` prints: op counts, means, checks, and what was spent."""
    from experiments.outcomes.results import Result, table_text
    from experiments.workers.player import LABELS, step_noun

    (trial,) = study.trials
    noun = step_noun("rewrites" if trial.method.startswith(LABELS["rewrites"]) else "gnn")
    result = Result.of(
        study.references, {trial.method: trial.outcomes}, {trial.method: trial.checks}
    )
    lines = [table_text(result), *study.notes]
    calls = sum(outcome.calls for outcome in trial.outcomes)
    lines.append(f"{trial.method}: {calls:,} {noun}, {sum(trial.seconds):.1f} s in all")
    references = list(study.references.values())
    for pipeline in references[0].calls:
        calls = sum(reference.calls[pipeline] for reference in references)
        seconds = sum(reference.seconds[pipeline] for reference in references)
        lines.append(f"{pipeline}: {calls:,} pass calls, {seconds:.1f} s in all")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluates what a command line asks for, and prints the table.

    Returns:
        Exit status.
    """
    from experiments.workers.startup import prepare_process

    prog = "python -m experiments.evaluate"
    config = tyro.cli(EvaluateConfig, args=arguments, prog=prog, description=__doc__)
    prepare_process("cpu")
    try:
        with ExitStack() as stack:
            folder = config.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            study = evaluate(config, folder)
            print(table(study))
            if config.out is not None:
                study.save(config.out)
                print(f"study.json is in {config.out}")
    except (HloError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
