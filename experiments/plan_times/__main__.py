"""Records the times of many plans of many programs, and of the kernels of each.

    python -m experiments.plan_times --split train --plans 100 --out runs/plan-times

The plans of a program are those that random search and evolution over its knobs propose, or with
--policy those of a policy of experiments.train_tuning, on which predictions are most wrong. Each is
compiled, timed beside jaxlib's default and profiled; its outputs are not compared. A run that was
interrupted goes on with --out FOLDER, also with more plans. With --pack FOLDER the recordings
become a data set that ``hlograph.corpus.plan_times`` loads, with --extends beside those of an
earlier data set.

    python -m experiments.plan_times --set diverse --plans 10 --out runs/more-kernels

records programs of another set of the corpus, whose kernels are others.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from experiments.outcomes.run_command import run_in_folder, save_provenance
from experiments.outcomes.speed_programs import Split
from hlograph.corpus.shipped import CorpusSet

if TYPE_CHECKING:
    from hlograph.corpus import Benchmark


@dataclass(frozen=True)
class PlanTimesConfig:
    """Settings of a run."""

    programs: tuple[str, ...] = ("*",)
    """Names or globs of programs."""
    set: CorpusSet = "speed"
    """Set of the corpus. Of sets other than ``speed`` the split ``train`` is taken, without the
    families that are in other splits of ``speed``; it becomes the split ``small``."""
    split: Split | None = None
    """Split of the speed set; None takes all."""
    per_family: int | None = None
    """Programs of each family; None takes all."""
    plans: int = 100
    """Recordings of each program."""
    max_ms: float = 12.0
    """Programs whose run takes longer than this by default are left out, in milliseconds."""
    max_compile_seconds: float = 1.0
    """Programs whose compilation takes longer than this are left out."""
    seed: int = 0
    """Seed of the searches."""
    policy: str | None = None
    """Policy whose episodes propose the plans: a checkpoint, or the name of one that comes with the
    project. None takes searches."""
    workers: int = 2
    """Programs at a time; compilations run side by side, measurements alone."""
    pack: Path | None = None
    """Folder to write the recordings of all programs to at the end, as a data set."""
    extends: Path | None = None
    """With --pack: folder of an earlier data set of this machine, whose plans are kept."""
    out: Path | None = None
    """Folder of the recordings; None makes one under runs/."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for.

    Returns:
        Exit status.
    """
    prog = "python -m experiments.plan_times"
    config = tyro.cli(PlanTimesConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("plan-times", config.out, lambda folder: _run(config, folder))


def _run(config: PlanTimesConfig, folder: Path) -> list[str]:
    from tqdm import tqdm

    from experiments.plan_times.collecting import collect
    from experiments.plan_times.recorder import MakeRecorder
    from experiments.plan_times.subjects import subjects
    from experiments.policies.shipped import checkpoint_location
    from hlograph.errors import HloError
    from hlograph.programs import Program

    chosen = subjects(config.set, config.split, config.programs, config.per_family)
    policy = checkpoint_location(config.policy) if config.policy else None
    save_provenance(config, folder)
    counts = Counter[str]()

    def one(benchmark: "Benchmark") -> Counter[str]:
        try:
            program = Program.of(benchmark.load())
            recorder = MakeRecorder(program, config.max_ms / 1e3, config.max_compile_seconds)
            return collect(benchmark.name, recorder, config.plans, config.seed, folder, policy)
        except HloError as error:
            return Counter({f"{benchmark.name}: {error}": 1})

    pool = ThreadPoolExecutor(config.workers)
    try:
        running = {pool.submit(one, benchmark): benchmark.name for benchmark in chosen}
        with tqdm(as_completed(running), total=len(running), unit="program", disable=None) as bar:
            for done in bar:
                counts.update(done.result())
                bar.set_postfix_str(f"{running[done]}: {counts['recorded']} recorded")
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    found = [f"{number} points: {kind}" for kind, number in counts.most_common()]
    return found + ([_packed(folder, config.pack, config.extends)] if config.pack else [])


def _packed(folder: Path, out: Path, extends: Path | None) -> str:
    """Writes the data set, and returns a sentence about it."""
    from experiments.plan_times.packing import pack
    from experiments.plan_times.subjects import all_subjects

    facts = pack(folder, all_subjects(), out, extends)
    plans = sum(one.plans for one in facts.splits.values())
    return f"{plans:,} plans and {facts.kernels:,} distinct kernels are in {out}"


if __name__ == "__main__":
    sys.exit(main())
