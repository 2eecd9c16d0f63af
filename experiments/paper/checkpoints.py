"""Studies that play the policies of checkpoints: figure 3, generalisation, and the aims."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from shutil import rmtree

from tqdm import tqdm

from experiments.evaluate.benchmarks import Reference, held_out_benchmarks, spread_over_families
from experiments.evaluate.best_known import known_of
from experiments.evaluate.run_folder import file_stem
from experiments.evaluate.study import STUDY, Study, Trial
from experiments.paper.settings import (
    CheckpointsConfig,
    Figure3Config,
    GeneralisationConfig,
    WinConfig,
    same_time,
)
from experiments.paper.trials import PlannedTrial, run_trial, save_part
from experiments.policies.checkpoint import Checkpoint, training_cost
from experiments.policies.config import to_json
from experiments.policies.kind import KINDS
from experiments.policies.shipped import ORDERING, available, checkpoint_location, one_of_each
from experiments.search.task import SearchTask
from experiments.workers.player import Player, player
from hlograph import corpus
from hlograph.errors import HloError

Groups = dict[str, list[str]]
"""Names of benchmarks, by the name of the group."""
Play = Callable[[Player, str, Sequence[str], int], Iterable[Trial]]
"""Function that makes the trials of one checkpoint on one group, given its player, the group's
name, the benchmarks, and a seed."""

# Folder of the trials of a run that has not come to its end.
_PARTS = "parts"

LARGER = "larger than trained on"
"""Group of modules of the split train beyond every checkpoint's limit."""
HUGE_OPS = 10_000
HUGE = f"more than {HUGE_OPS:,} instructions"
"""Group of modules of the test splits that are much larger than any in training."""
_TESTS = ("test-seen", "test-unseen")
_FOLLOWER = "hlograph-simplify"
"""Pipeline that goes on from what policies leave."""
_WIN_NOTES = (
    "Results of several episodes count the pass calls and seconds of all of them.",
    "Random search has on each benchmark the wall time of the GNN with the same seed, its encoding "
    "included; both begin with nothing known of the benchmark. No budget includes the GNN's "
    "training.",
)


def figure3(config: Figure3Config, folder: Path) -> Study:
    """Plays the checkpoints on held-out benchmarks of each set."""
    play = partial(_greedily_or_best, config.samples)
    return play_checkpoints("figure3", config, opened(config), _sets(config), folder, play)


def win(config: WinConfig, folder: Path) -> Study:
    """Plays the checkpoints on held-out benchmarks, and runs random search in their time."""
    play = partial(_beside_random, config)
    checkpoints = opened(config)
    return play_checkpoints("win", config, checkpoints, _sets(config), folder, play, _WIN_NOTES)


def _sets(config: Figure3Config) -> Groups:
    """Returns the held-out benchmarks of each set."""
    return {
        f"{name} test-unseen": held_out_benchmarks(config.op_limit, config.count, name)
        for name in config.corpus_sets
    }


def generalisation(config: GeneralisationConfig, folder: Path) -> Study:
    """Plays the checkpoints on benchmarks seen, unseen, and larger than any in training."""
    checkpoints = opened(config)
    groups: Groups = {
        split: held_out_benchmarks(config.op_limit, config.count, config.corpus_set, split)
        for split in _TESTS
    }
    limit = max(checkpoint.config["train_op_limit"] for checkpoint in checkpoints)
    train = corpus.load(config.corpus_set, "train", max_op_count=config.op_limit)
    groups[LARGER] = spread_over_families([b for b in train if b.op_count > limit], config.count)
    groups[HUGE] = huge(config)
    number = len(groups[HUGE]) or "none"
    note = f"{HUGE}: the test splits have {number} of at most {config.huge_limit:,}."
    play = partial(_greedily_or_best, config.samples)
    return play_checkpoints("generalisation", config, checkpoints, groups, folder, play, [note])


def huge(config: GeneralisationConfig) -> list[str]:
    """Returns modules of the test splits with more than ``HUGE_OPS`` instructions."""
    tests = [
        benchmark
        for split in _TESTS
        for benchmark in corpus.load(config.corpus_set, split, max_op_count=config.huge_limit)
    ]
    return spread_over_families([b for b in tests if b.op_count > HUGE_OPS], config.count)


def _greedily_or_best(
    samples: int, play: Player, group: str, names: Sequence[str], seed: int
) -> Iterator[Trial]:
    """Plays a greedy episode on each benchmark, or keeps the best of several."""
    print(f"{play.method(samples)}: {len(names)} benchmarks of {group}")
    yield play.trial(group, names, samples, seed)


def _beside_random(
    config: WinConfig, play: Player, group: str, names: Sequence[str], seed: int
) -> Iterator[Trial]:
    """Yields the trials of one checkpoint on a group; after each, what ``_FOLLOWER`` makes of it.

    After a GNN's come those of random search.
    """
    yield play.trial(group, names, stop_above=config.stop_above)
    for count in dict.fromkeys((1, config.samples)):
        for trial in _greedily_or_best(count, play, group, names, seed):
            yield trial
            yield play.followed(trial, _FOLLOWER)
            if play.checkpoint.kind == "gnn":
                yield _random_search(play, trial)


def _random_search(play: Player, like: Trial) -> Trial:
    """Runs random search on the same benchmarks in the same time, with as many workers."""
    tasks = {
        outcome.benchmark: SearchTask(
            benchmark=outcome.benchmark,
            method="random",
            seed=like.seed,
            calls=None,
            seconds=seconds,
        )
        for outcome, seconds in zip(like.outcomes, like.seconds, strict=True)
    }
    plan = PlannedTrial(like.group, same_time(like.method), like.seed, tasks)
    return run_trial(play.runner, plan)


def opened(config: CheckpointsConfig) -> list[Checkpoint]:
    """Returns the checkpoints that an experiment plays.

    Raises:
        HloError: There is none, or one is damaged.
        ValueError: Two of them are of one kind and one seed of training, which tables could not
            tell apart.
        OSError: One cannot be read.
    """
    given = config.checkpoints or tuple(available(kinds=ORDERING))
    if not given:
        raise HloError("no checkpoints come with this checkout: name some with --checkpoints")
    named: dict[tuple[str, int], tuple[str, Checkpoint]] = {}
    for name in given:
        checkpoint = Checkpoint.load(checkpoint_location(name))
        key = checkpoint.kind, checkpoint.config["seed"]
        if key in named:
            raise ValueError(
                f"expected one checkpoint for each kind and seed of training; {named[key][0]} and "
                f"{name} are both of {key[0]} with seed {key[1]}"
            )
        named[key] = name, checkpoint
    return [checkpoint for _, checkpoint in named.values()]


def labelled(given: Sequence[str]) -> dict[str, tuple[str, Checkpoint]]:
    """Returns checkpoints as given, by a name for tables that no two of them share.

    Args:
        given: Paths, URLs or names; empty is one of each kind that comes with the project.

    Raises:
        HloError: There is no such checkpoint, or it is damaged.
        OSError: One cannot be read.
    """
    by_label: dict[str, tuple[str, Checkpoint]] = {}
    for name in given or tuple(one_of_each(kinds=ORDERING)):
        checkpoint = Checkpoint.load(checkpoint_location(name))
        kind, seed = KINDS[checkpoint.kind].label, checkpoint.config["seed"]
        label, number = kind, 1
        while label in by_label:
            suffix = f", #{number}" if number > 1 else ""
            label, number = f"{kind} (training seed {seed}{suffix})", number + 1
        by_label[label] = name, checkpoint
    return by_label


def play_checkpoints(
    name: str,
    config: CheckpointsConfig,
    checkpoints: Sequence[Checkpoint],
    groups: Groups,
    folder: Path,
    play: Play,
    notes: Sequence[str] = (),
) -> Study:
    """Plays each checkpoint on each group of benchmarks.

    Args:
        name: Name of the study.
        config: Settings.
        checkpoints: The policies.
        groups: The benchmarks.
        folder: Folder for the records of lost workers, and for what was played: with it, a run that
            was interrupted goes on.
        play: Makes the trials of one checkpoint on one group.
        notes: Notes for the reader.

    Raises:
        HloError: The folder has what other policies played.
    """
    policies = {_name(c): c.digest() for c in checkpoints}
    if (folder / STUDY).exists():
        return _saved(folder, policies)
    study: Study | None = None
    trials: list[Trial] = []
    wanted = list(dict.fromkeys(n for names in groups.values() for n in names))
    total = len(checkpoints) * len(groups)
    with tqdm(total=total, unit="group", desc=name, disable=None) as bar:
        for checkpoint, seed in zip(checkpoints, cycle(config.seeds), strict=False):
            pool = (config.num_workers, config.workers)
            with player(checkpoint, folder, config.checks, *pool) as playing:
                if study is None:
                    references, left_out = playing.references(wanted)
                    costs = map(training_cost, checkpoints)
                    about = [*notes, *costs, *left_out]
                    study = _begun(name, config, policies, references, groups, about)
                for group, names in groups.items():
                    left = [benchmark for benchmark in names if benchmark in study.references]
                    if left:
                        policy = _name(checkpoint)
                        trials += _kept(
                            study,
                            {policy: policies[policy]},
                            folder / _PARTS / file_stem(f"{policy} {group}"),
                            partial(play, playing, group, left, seed),
                        )
                    bar.update()
    assert study is not None
    study = replace(study, trials=trials)
    study.save(folder)
    rmtree(folder / _PARTS, ignore_errors=True)
    return study


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.kind} {checkpoint.config['seed']}"


def _saved(folder: Path, policies: Mapping[str, str]) -> Study:
    """Returns the study in a folder, whose other settings are those of the run.

    Args:
        folder: The folder.
        policies: Digests of policies that must have played there, by name.

    Raises:
        HloError: Others did, or the study does not say which.
    """
    study = Study.load(folder / STUDY)
    played = study.settings.get("policies", {})
    if any(played.get(name) != digest for name, digest in policies.items()):
        raise HloError(
            f"{folder} has results of other policies than those given, or does not say of which; "
            "choose another --out"
        )
    return study


def _begun(
    name: str,
    config: CheckpointsConfig,
    policies: Mapping[str, str],
    references: dict[str, Reference],
    groups: Groups,
    notes: Sequence[str],
) -> Study:
    """Returns a study without trials."""
    empty = [group for group, names in groups.items() if references.keys().isdisjoint(names)]
    return Study(
        name=name,
        preset=config.preset,
        settings=to_json(config) | {"policies": policies},
        references=references,
        trials=[],
        best_known=known_of(references),
        notes=[*notes, *(f"{group}: no benchmark is left." for group in empty)],
    )


def _kept(
    study: Study, policy: Mapping[str, str], folder: Path, make: Callable[[], Iterable[Trial]]
) -> Sequence[Trial]:
    """Returns the trials of a checkpoint on a group; those of an earlier start of the run, if any.

    Args:
        study: The study, without trials.
        policy: Digest of the checkpoint's policy, by its name.
        folder: Folder for these.
        make: Makes them.

    Raises:
        HloError: The folder has what other policies played.
    """
    if (folder / STUDY).exists():
        return _saved(folder, policy).trials
    trials = list(make())
    save_part(replace(study, trials=trials), folder)
    return trials
