"""A learned cost model: records the times that it learns from, trains it, and compares it.

    python -m experiments.cost_model record --split train --plans 100 --out runs/plan-times
    python -m experiments.cost_model train --seeds 0 1 2
    python -m experiments.cost_model train --seeds --bank runs/kernel_times
    python -m experiments.cost_model effects --splits train validation

A recording that was interrupted goes on with --out FOLDER.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from experiments.cost_model.settings import EffectsConfig, RecordConfig, TrainCostModelConfig
from experiments.evaluate.run_folder import REFUSED, run_in_folder, save_provenance
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from experiments.cost_model.plan_times.collecting import NextPoint
    from hlograph.corpus import Benchmark
    from hlograph.plans import Program
    from hlograph.plans.knobs import Point
    from hlograph.storage.locations import Location

_COMMANDS = (
    Annotated[RecordConfig, tyro.conf.subcommand("record")]
    | Annotated[TrainCostModelConfig, tyro.conf.subcommand("train")]
    | Annotated[EffectsConfig, tyro.conf.subcommand("effects")]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what a command line asks for, and prints what came of it.

    Returns:
        Exit status.
    """
    config: RecordConfig | TrainCostModelConfig | EffectsConfig = tyro.cli(
        _COMMANDS,  # pyright: ignore[reportArgumentType]
        args=arguments,
        prog="python -m experiments.cost_model",
        description=__doc__,
    )
    match config:
        case RecordConfig():
            return run_in_folder("plan-times", config.out, partial(_record, config))
        case TrainCostModelConfig():
            return run_in_folder("cost-model", config.out, partial(_train, config))
        case EffectsConfig():
            from experiments.cost_model.plan_times.effects import print_effects

            try:
                print_effects(config)
            except HloError as error:
                print(error, file=sys.stderr)
                return REFUSED
            return 0


def _record(config: RecordConfig, folder: Path) -> list[str]:
    from tqdm import tqdm

    from experiments.cost_model.plan_times.collecting import collect
    from experiments.evaluate.speed_programs import recorded_programs
    from experiments.policies.shipped import checkpoint_location
    from hlograph.plans import Program

    if config.extends and not config.pack:
        raise HloError("expected --pack FOLDER with --extends, got none")
    chosen = recorded_programs(config.set, config.split, config.programs, config.per_family)
    policy = checkpoint_location(config.policy) if config.policy else None
    decided = partial(decided_by, policy) if policy else None
    save_provenance(config, folder)
    counts = Counter[str]()

    def record(benchmark: "Benchmark") -> Counter[str]:
        try:
            program = Program.of(benchmark.load())
            return collect(
                benchmark.name,
                program,
                config.plans,
                config.seed,
                folder,
                decided,
                alone=config.alone,
                max_seconds=config.max_ms / 1e3,
                max_compile_seconds=config.max_compile_seconds,
            )
        except HloError as error:
            return Counter({f"{benchmark.name}: {error}": 1})

    pool = ThreadPoolExecutor(config.workers)
    try:
        running = {pool.submit(record, benchmark): benchmark.name for benchmark in chosen}
        with tqdm(as_completed(running), total=len(running), unit="program", disable=None) as bar:
            for done in bar:
                counts.update(done.result())
                bar.set_postfix_str(f"{running[done]}: {counts['recorded']} recorded")
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    findings = [f"{number} points: {fate}" for fate, number in counts.most_common()]
    return findings + ([_packed(folder, config.pack, config.extends)] if config.pack else [])


@contextmanager
def decided_by(policy: "Location", program: "Program") -> "Iterator[NextPoint]":
    """Yields a function that returns the points of a policy's episodes, one after the other.

    Args:
        policy: Checkpoint of a policy of ``experiments.train tuning``.
        program: The program.
    """
    from experiments.search.tuning.deciding import Decisions

    with closing(Decisions(program, "close", policy)) as decisions:

        def next_point() -> "Point | None":
            decided = decisions.following()
            return None if decided is None else decided.point

        yield next_point


def _packed(folder: Path, out: Path, extends: Path | None) -> str:
    """Writes the data set, and returns a sentence about it."""
    from experiments.cost_model.plan_times.packing import pack
    from experiments.evaluate.speed_programs import all_recorded_programs

    facts = pack(folder, all_recorded_programs(), out, extends)
    plans = sum(split.plans for split in facts.splits.values())
    return f"{plans:,} plans and {facts.kernels:,} distinct kernels are in {out}"


def _train(config: TrainCostModelConfig, folder: Path) -> list[str]:
    from experiments.cost_model.comparison import CostModelComparison
    from experiments.cost_model.decided import decided_table, seconds_table
    from experiments.cost_model.examples import load_data
    from hlograph.corpus import plan_times
    from hlograph.errors import MissingExtraError
    from hlograph.profiling.kernel_seconds import RatedKernels
    from hlograph.profiling.kernel_trees import KernelTrees

    if not config.seeds and config.bank is None:
        raise HloError("expected --seeds of networks or a --bank for trees, got neither")
    if config.bank is not None:
        MissingExtraError.check("paper", "lightgbm")  # before the training of networks
    data = load_data(
        config.data, config.learn_from, config.bank, config.splits, config.decided, config.isa
    )
    comparison = CostModelComparison(data, config.model)
    save_provenance(config, folder)
    for seed in config.seeds:
        comparison.trained(config.training, seed)
        write_text_atomically(folder / "cost-model.md", comparison.page())
    if config.bank is not None:
        grown = comparison.grown(config.trees)
        grown.save(folder / "kernel_trees.weights")
        write_text_atomically(folder / "cost-model.md", comparison.page())
        if config.decided is not None:
            held_out = plan_times.load("validation", folder=config.decided)
            if not held_out.plans:
                return [comparison.table()]
            trees = KernelTrees(grown)
            return [
                comparison.table(),
                seconds_table(
                    held_out, {"rates of work": RatedKernels(alone=True), "trees": trees}
                ),
                decided_table(held_out.by_program(), trees),
            ]
    return [comparison.table()]


if __name__ == "__main__":
    sys.exit(main())
