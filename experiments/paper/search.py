"""Search at equal budgets: as many pass calls for each method, and as many seconds for each.

Random, greedy, beam and evolutionary search, local search from XLA's own orders, and searches that
follow a trained policy; on families that no policy was trained on.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.policies.config import CorpusSet, Workers
from experiments.policies.config_json import to_json
from hlograph.corpus.shipped import Split
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json

if TYPE_CHECKING:
    from experiments.outcomes.study import Study, Trial
    from experiments.paper.search_trials import Competitor

BEGUN = "searches.json"
"""File of what a run was begun with, beside its settings."""
_KIND, _VERSION = "searches", 1


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of searches."""

    preset: Literal["quick", "full"] = "quick"
    """Set of defaults for all the rest: quick takes a quarter of an hour on two cores, full
    a day."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Each method that draws searches each benchmark once with each of them; those that draw
    nothing, or ties alone, search once, with the first."""
    methods: tuple[str, ...] = ("random", "greedy", "beam-4", "evolution", "local")
    """Searches without a policy."""
    guided: tuple[str, ...] = ("policy-greedy", "policy", "policy-beam", "mcts")
    """Searches with a policy, each with every checkpoint; policy-greedy is its one greedy episode,
    which spends what it spends."""
    checkpoints: tuple[str, ...] = ()
    """Policies: paths, URLs or names; none are those that come with the project, if there are
    any."""
    corpus_sets: tuple[CorpusSet, ...] = ("gpt2-train", "diverse")
    """Sets of the corpus, each a group of benchmarks for each budget."""
    split: Split = "test-unseen"
    """Split that benchmarks are of. Settings of searches are chosen on validation."""
    op_limit: int = 2_000
    """Benchmarks with more instructions are left out."""
    count: int | None = 6
    """Benchmarks of each set, evenly over families; None is all."""
    calls: tuple[int, ...] = (1_000,)
    """Budgets of pass calls for each benchmark."""
    seconds: tuple[float, ...] = (3.0,)
    """Budgets of wall time for each benchmark."""
    checks: int = 2
    """Random inputs on which each result is compared with its original."""
    workers: Workers = "processes"
    """What searches; this process, in-process, is for debugging."""
    num_workers: int | None = None
    """Searches side by side; None is one for each core that is idle when the run begins. A run that
    goes on keeps the number."""
    out: Path | None = None
    """Folder for the study; by default a new one under runs/. What was not finished in it is
    continued."""


PRESETS = {
    "quick": Config(checkpoints=("gnn", "op-counts"), count=4),
    "full": Config(
        preset="full", op_limit=8_000, count=40, calls=(1_000, 10_000), seconds=(3.0, 30.0)
    ),
}

_NOTES = (
    "No pass is called twice in a state, whichever method asks: all search in a table of states. "
    "A pass that a policy's own environment knows to change nothing is free there too.",
    "Local search begins with XLA's own orders, which it has to call like any other pass; the "
    "others begin with nothing.",
    "What a policy cost to train is in no budget: neither its pass calls nor its time. The seconds "
    "of a search hold its encoding of states, not the reading of modules, policies and libraries.",
    "Methods that draw nothing, or only which of equal states comes first, searched once, whatever "
    "the number of seeds: greedy, beam, and of those with a policy all but its drawn episodes.",
)


def run(config: Config, folder: Path) -> "Study":
    """Searches all benchmarks by all methods, with all seeds and within each budget.

    Args:
        config: Settings.
        folder: Where lost workers are written down.

    Raises:
        HloError: There is no such checkpoint, or no benchmark, or what the folder holds was found
            with other checkpoints.
        ValueError: There is no such method, or a checkpoint was made with other passes.
        OSError: A file cannot be read or written.
    """
    from experiments.outcomes.study import Study
    from experiments.paper.benchmarks import all_references, known_of
    from experiments.paper.search_trials import (
        Budget,
        competitors_of,
        ended_early,
        trained,
        trials_of,
    )
    from experiments.policies.config import OpCountTrainConfig
    from experiments.workers.crew import Crew, pool_of

    competitors = competitors_of(config.methods, config.guided, config.checkpoints)
    workers = _workers(config, folder, competitors)
    settings = OpCountTrainConfig(
        workers=config.workers, num_workers=workers, samples=config.checks
    )
    groups = _groups(config)
    budgets = [Budget(calls=calls) for calls in config.calls]
    budgets += [Budget(seconds=seconds) for seconds in config.seconds]
    with pool_of(settings) as pool:
        crew = Crew(settings, pool, folder)
        names = list(dict.fromkeys(name for group in groups.values() for name in group))
        references, left_out = all_references(crew, names)
        if not references:
            raise HloError("no benchmark is left: " + "; ".join(left_out))
        left = {g: [n for n in names if n in references] for g, names in groups.items()}
        known = known_of(references)
        side_by_side = f"{workers} searches ran side by side on {os.cpu_count()} cores."
        notes = [*_NOTES, side_by_side, *trained(competitors), *left_out]
        study = Study("search", config.preset, to_json(config), references, [], known, {}, notes)
        done = _begun(folder)
        for trial in trials_of(crew, competitors, config.seeds, left, budgets, done):
            study = replace(study, trials=[*study.trials, trial])
            # A full run takes a day: it goes on where it was ended.
            replace(study, notes=[*notes, "This run has not come to its end."]).save(folder)
    return replace(
        study, notes=[*notes, *ended_early(study.trials, competitors, list(left), budgets)]
    )


def _workers(config: Config, folder: Path, competitors: "Sequence[Competitor]") -> int:
    """Searches side by side, as the run in the folder was begun; what it is begun with is kept.

    Searches share the machine's cores, so seconds mean something else with another number.

    Raises:
        HloError: The folder has searches with other policies, or is not known to have these.
    """
    from experiments.outcomes.study import STUDY

    policies = {c.label: c.digest for c in competitors if c.label}
    try:
        begun = read_checked_json(folder / BEGUN, _KIND, _VERSION)
    except FileNotFoundError:
        if (folder / STUDY).exists():
            raise HloError(
                f"{folder} does not say which policies its searches followed: choose another folder"
            ) from None
        begun = {"workers": config.num_workers or idle_cores(), "policies": policies}
        write_checked_json(folder / BEGUN, _KIND, _VERSION, begun)
    if begun["policies"] != policies:
        names = begun["policies"].keys() | policies.keys()
        changed = [n for n in sorted(names) if begun["policies"].get(n) != policies.get(n)]
        raise HloError(
            f"{folder} was begun with other checkpoints ({', '.join(changed)}): their searches are "
            "not to be mixed with these"
        )
    return int(begun["workers"])


def _begun(folder: Path) -> "dict[tuple[str, int, str], Trial]":
    """Trials that an earlier run in the folder came to, by method, seed and group."""
    from experiments.outcomes.study import STUDY, Study

    if not (folder / STUDY).exists():
        return {}
    return {(t.method, t.seed, t.group): t for t in Study.load(folder / STUDY).trials}


def _groups(config: Config) -> dict[str, list[str]]:
    """Names of benchmarks by set."""
    from experiments.outcomes.benchmarks import held_out_benchmarks

    return {
        f"{name} {config.split}": held_out_benchmarks(
            config.op_limit, config.count, name, config.split
        )
        for name in config.corpus_sets
    }


def idle_cores() -> int:
    """Cores that nothing has used in the last minute, at least one."""
    cores = len(os.sched_getaffinity(0))
    return max(1, round(cores - os.getloadavg()[0]))
