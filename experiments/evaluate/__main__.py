"""Plays the policy of a checkpoint on benchmarks, and shows the results.

    python -m experiments.evaluate gnn
    python -m experiments.evaluate runs/NAME/gnn/checkpoint.pt --corpus-set gpt2-train --samples 16
    python -m experiments.evaluate gnn --stop-above 0.2
    python -m experiments.evaluate gnn --benchmarks 'rnn/*' --split validation --count 5
    python -m experiments.evaluate op-counts --benchmarks dump/

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

from experiments.evaluate.run_folder import run_program
from experiments.policies.config import SKIP_BELOW, to_json
from hlograph.corpus.shipped import CorpusSet, Split
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.evaluate.benchmarks import Reference
    from experiments.evaluate.study import Study, Trial
    from experiments.policies.checkpoint import Checkpoint

_OP_LIMIT, _COUNT = 3_000, 36


@dataclass(frozen=True)
class EvaluateConfig:
    """Settings of `evaluate`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Path or URL, or the name of one that comes with the project: gnn, op-counts, sweeps,
    rewrites or rewrites-cost."""
    then: tuple[str, ...] = ()
    """Policies, by name or path, and reference pipelines, such as xla-simplify, that go on, one
    after the other, from what the one before leaves. Policies play as many episodes as the first;
    of what a pipeline does, the smallest module on its way is taken."""
    benchmarks: tuple[str, ...] = ()
    """Modules to play on: globs, which select in the split, or names, files, folders and URLs,
    which are taken whatever the split. None is the whole split."""
    split: Split | None = None
    """Split of the corpus; None is test-unseen."""
    corpus_set: CorpusSet | None = None
    """Set of the corpus; None is all but speed."""
    op_limit: int | None = None
    """Benchmarks of the split with more instructions are left out. None is 3,000, or for a policy
    that rewrites the limit of the evaluation after its training."""
    count: int | Literal["all"] | None = None
    """Number of benchmarks of the split, evenly over families, or all; None is 36."""
    seconds: float | None = 60.0
    """Wall time for each benchmark, after which the best state so far is the result; None is no
    limit."""
    samples: int = 1
    """Episodes on each benchmark, of which the best is kept; the first is greedy."""
    seed: int = 0
    """Seed of the episodes after the first."""
    stop_above: float | None = None
    """Probability of stopping above which a greedy episode ends; None is 0.8 for passes and 0.5 for
    rewrites. With less it makes fewer calls, and may leave more instructions."""
    skip_below: float = SKIP_BELOW
    """Probability that a pass changes the module, as the policy predicts, below which it is not
    called, and that the episode finds fewer instructions, below which it ends. With more it makes
    fewer calls, and may leave more instructions; 0 calls every pass that the policy chooses until
    it stops."""
    beam: int | None = None
    """Pass calls on each benchmark for a beam search that the policy guides, instead of episodes;
    None is no search. For policies that order passes."""
    checks: int = 2
    """Number of random inputs on which results are compared with their originals; 0 runs XLA's
    verifier alone."""
    workers: Literal["processes", "in-process"] = "processes"
    """Processes of this machine, or, to debug, this process."""
    num_workers: int | None = None
    """Number of worker processes; None is one a core."""
    deterministic: bool = False
    """True computes the same bits on every x86-64 CPU with AVX2, which takes longer."""
    out: Path | None = None
    """Folder to save the result in, as a study for `python -m experiments.paper report`; None
    saves nothing."""

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ValueError: A value has no meaning.
        """
        if self.samples < 1:
            raise ValueError(f"--samples: expected at least 1 episode, got {self.samples}")
        if self.beam is not None and (self.beam < 1 or self.samples > 1 or self.then):
            raise ValueError(
                f"--beam: expected at least 1 pass call, and no --samples or --then beside it; got "
                f"{self.beam}, {self.samples} and {self.then}"
            )
        if self.beam is not None and self.stop_above is not None:
            raise ValueError(
                "--stop-above: expected none beside --beam, whose episodes do not stop"
            )
        if self.stop_above is not None and not 0 < self.stop_above <= 1:
            raise ValueError(
                f"--stop-above: expected a probability above 0 and at most 1, got "
                f"{self.stop_above:g}"
            )
        if not 0 <= self.skip_below < 1:
            raise ValueError(
                f"--skip-below: expected a probability of at least 0 and below 1, got "
                f"{self.skip_below:g}"
            )
        for name in ("seed", "checks", "count"):
            value = getattr(self, name)
            if isinstance(value, int) and value < 0:
                raise ValueError(f"--{name}: expected 0 or more, got {value}")
        if self.seconds is not None and self.seconds <= 0:
            raise ValueError(f"--seconds: expected a time above 0, got {self.seconds:g}")
        self._check_that_flags_choose()

    def _check_that_flags_choose(self) -> None:
        """Refuses flags that select in a split if no benchmark is selected in one."""
        asked = {
            f"--{name.replace('_', '-')}": getattr(self, name)
            for name in ("split", "corpus_set", "op_limit", "count")
        }
        given = [flag for flag, value in asked.items() if value is not None]
        if not given or not self.benchmarks:
            return
        from experiments.evaluate.benchmarks import is_glob

        if not any(map(is_glob, self.benchmarks)):
            raise ValueError(
                f"{', '.join(given)}: expected a glob in --benchmarks to select from; names, "
                "files, folders and URLs are taken whatever the split"
            )


def evaluate(config: EvaluateConfig, folder: Path) -> "Study":
    """Plays the checkpoint, and returns the results as a study.

    Args:
        config: Settings.
        folder: Folder for the log of lost workers.

    Raises:
        HloError: There is no such checkpoint, it is damaged, or a benchmark cannot be read.
        ValueError: None of its actions exists any more, or no benchmark is left.
        OSError: It cannot be read.
    """
    # These import torch and the engine: seconds that --help does not have.
    from experiments.evaluate.best_known import known_of
    from experiments.evaluate.study import Study
    from experiments.policies.checkpoint import training_cost
    from experiments.search.run import beam_trial
    from experiments.workers.player import player

    turns = _turns(config)
    checkpoints = [checkpoint for checkpoint, _ in turns]
    names, group = _benchmarks(config, checkpoints[0])
    how = (config.samples, config.seed, config.stop_above, config.seconds)
    trial: Trial | None = None
    references: dict[str, Reference] = {}
    left_out: list[str] = []
    for checkpoint, pipelines in turns:
        how_many = (config.checks, config.num_workers, config.workers, config.skip_below)
        with player(checkpoint, folder, *how_many) as play:
            if trial is None:
                print(f"{play.method()} on {len(names)} benchmarks: {group}")
                references, left_out = play.references(names)
                if not references:
                    raise HloError("no benchmark is left: " + "; ".join(left_out))
            remaining = [o.benchmark for o in trial.outcomes] if trial else list(references)
            if config.beam is not None:
                trial = beam_trial(play, group, remaining, config.beam, config.seconds)
            else:
                trial = play.trial(group, remaining, *how, keep_losses=True, before=trial)
            for pipeline in pipelines:
                trial = play.followed(trial, pipeline, keep_losses=True)
            left_out += play.left_out
    assert trial is not None
    played = {outcome.benchmark: references[outcome.benchmark] for outcome in trial.outcomes}
    if not played:
        raise HloError("no benchmark is left: " + "; ".join(left_out))
    return Study(
        name="evaluation",
        preset=_slug(trial.method),
        settings=to_json(config),
        references=played,
        trials=[trial],
        best_known=known_of(played),
        notes=[*map(training_cost, checkpoints), *left_out],
    )


def _turns(config: EvaluateConfig) -> list[tuple["Checkpoint", list[str]]]:
    """Returns the policies that play, each with the reference pipelines that follow it."""
    from experiments.policies.checkpoint import Checkpoint
    from experiments.policies.shipped import checkpoint_location
    from hlograph.transforms.pipelines import pipelines

    turns: list[tuple[Checkpoint, list[str]]] = []
    for name in (config.checkpoint, *config.then):
        if turns and name in pipelines:
            turns[-1][1].append(name)
        else:
            turns.append((Checkpoint.load(checkpoint_location(name)), []))
    return turns


def _slug(method: str) -> str:
    return re.sub(r"\W+", "-", method.lower())


def _benchmarks(config: EvaluateConfig, checkpoint: "Checkpoint") -> tuple[list[str], str]:
    """Returns the names of the benchmarks, and the name of the group in tables."""
    from experiments.evaluate.benchmarks import Part, chosen

    limit, count = config.op_limit, config.count
    if limit is None:
        # Rewriting takes time by the square of the size, so it is measured on smaller modules.
        of_training = checkpoint.config["test_op_limit"]
        limit = of_training if checkpoint.kind == "rewrites" else _OP_LIMIT
    part = Part(
        config.split or "test-unseen",
        config.corpus_set,
        limit,
        _COUNT if count is None else None if count == "all" else count,
    )
    return chosen(config.benchmarks, part)


def table(study: "Study") -> str:
    """Returns the text that `evaluate` prints: op counts, means, checks, and costs."""
    from experiments.evaluate.results import Result, table_text
    from experiments.policies.kind import KINDS

    (trial,) = study.trials
    played = [kind for kind in KINDS.values() if trial.method.startswith(kind.label)]
    step_noun = max(played, key=lambda kind: len(kind.label)).kind_class().step_noun
    if study.settings.get("then"):
        step_noun = "steps"
    result = Result.of(
        study.references, {trial.method: trial.outcomes}, {trial.method: trial.checks}
    )
    lines = [table_text(result), *study.notes]
    calls = sum(outcome.calls for outcome in trial.outcomes)
    lines.append(f"{trial.method}: {calls:,} {step_noun}, {sum(trial.seconds):.1f} s in all")
    references = list(study.references.values())
    for pipeline in references[0].calls:
        calls = sum(reference.calls[pipeline] for reference in references)
        seconds = sum(reference.seconds[pipeline] for reference in references)
        lines.append(f"{pipeline}: {calls:,} pass calls, {seconds:.1f} s in all")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the evaluation that a command line asks for, and prints the table.

    Returns:
        Exit status.
    """
    return run_program(_evaluate, EvaluateConfig, "experiments.evaluate", __doc__, arguments)


def _evaluate(config: EvaluateConfig) -> int:
    from experiments.workers.startup import prepare_process

    prepare_process("cpu", config.deterministic)
    with ExitStack() as stack:
        if config.out is not None:
            config.out.mkdir(parents=True, exist_ok=True)  # not only when all is done
        folder = config.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        study = evaluate(config, folder)
        print(table(study))
        if config.out is not None:
            study.save(config.out)
            print(f"study.json is in {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
