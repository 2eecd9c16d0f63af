"""A bank of kernels with their times: records it, packs it, and compares models on it.

    python -m experiments.kernel_bank record --out runs/bank --minutes 60
    python -m experiments.kernel_bank pack --folders runs/bank --out runs/kernel_times
    python -m experiments.kernel_bank compare --data runs/kernel_times
    python -m experiments.kernel_bank choose --data runs/kernel_times --out runs/chosen.txt
    python -m experiments.kernel_bank curve --data runs/kernel_times
    python -m experiments.kernel_bank context --data runs/kernel_times --programs runs/plan_times

A recording goes on with the same --out, also after it was killed.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from experiments.evaluate.run_folder import REFUSED, run_in_folder, save_provenance
from experiments.kernel_bank.settings import (
    ChooseConfig,
    CompareConfig,
    ContextConfig,
    CurveConfig,
    PackConfig,
    RecordKernelsConfig,
)
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically
from hlograph.storage.provenance import provenance

if TYPE_CHECKING:
    from experiments.kernel_bank.collecting import Progress

_Config = (
    RecordKernelsConfig | PackConfig | CompareConfig | ChooseConfig | CurveConfig | ContextConfig
)
_COMMANDS = (
    Annotated[RecordKernelsConfig, tyro.conf.subcommand("record")]
    | Annotated[PackConfig, tyro.conf.subcommand("pack")]
    | Annotated[CompareConfig, tyro.conf.subcommand("compare")]
    | Annotated[ChooseConfig, tyro.conf.subcommand("choose")]
    | Annotated[CurveConfig, tyro.conf.subcommand("curve")]
    | Annotated[ContextConfig, tyro.conf.subcommand("context")]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what a command line asks for, and prints what came of it.

    Returns:
        Exit status.
    """
    config: _Config = tyro.cli(
        _COMMANDS,  # pyright: ignore[reportArgumentType]
        args=arguments,
        prog="python -m experiments.kernel_bank",
        description=__doc__,
    )
    if isinstance(config, RecordKernelsConfig):
        return run_in_folder("kernel-bank", config.out, partial(_record, config))
    try:
        match config:
            case PackConfig():
                print(_packed(config))
            case CompareConfig():
                print(_compared(config))
            case ChooseConfig():
                print(_chosen(config))
            case CurveConfig():
                print(_curve(config))
            case ContextConfig():
                print(_in_context(config))
    except (HloError, OSError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    return 0


def _record(config: RecordKernelsConfig, folder: Path) -> list[str]:
    from tqdm import tqdm

    from experiments.kernel_bank.collecting import collect

    save_provenance(config, folder)
    last: Progress | None = None
    with tqdm(total=config.kernels, unit="kernel", disable=None) as bar:
        for last in collect(config, folder):
            bar.update(last.kernels - bar.n)
            left_out = sum(last.fates.values())
            bar.set_postfix_str(f"{last.variants} variants, {left_out} left out")
    return ["nothing was left to record"] if last is None else _findings(last)


def _findings(progress: "Progress") -> list[str]:
    each = max(progress.variants, 1)
    parts = ", ".join(f"{name} {1e3 * s / each:.1f}" for name, s in progress.seconds.items())
    return [
        f"{progress.kernels:,} kernels with {progress.variants:,} variants were recorded",
        *(f"{number} draws: {fate}" for fate, number in progress.fates.most_common()),
        f"milliseconds of a worker for each variant: {parts}",
    ]


def _packed(config: PackConfig) -> str:
    from experiments.kernel_bank.packing import pack

    packed = pack(config.folders, config.out)
    return (
        f"{len(packed.measured):,} kernels, of which jaxlib made {packed.texts:,} distinct ones, "
        f"are in {config.out}: {packed.bytes / 1e6:.2f} MB"
    )


def _compared(config: CompareConfig) -> str:
    from experiments.kernel_bank.comparison import compared

    if not config.splits:
        raise HloError("expected --splits to compare on, got none")
    result = compared(config.times("train"), config.times(*config.splits), config)
    if config.page:
        page, picture = result.page(provenance()["command"])
        write_bytes_atomically(config.page.with_name(f"{picture.name}.svg"), picture.svg())
        write_text_atomically(config.page, page)
    return result.tables()


def _chosen(config: ChooseConfig) -> str:
    from experiments.kernel_bank.choosing import chosen, within_programs
    from experiments.kernel_bank.origins import origins
    from hlograph.corpus import plan_times

    if config.within is not None:
        programs = plan_times.load(folder=config.within)
        kernels = within_programs(origins(), programs)[: config.kernels]
    else:
        kernels = chosen(config.times("train"), config.times("validation"), origins(), config)
    write_text_atomically(config.out, "".join(f"{kernel.digest}\n" for kernel in kernels))
    return f"{len(kernels):,} kernels are in {config.out}"


def _curve(config: CurveConfig) -> str:
    from experiments.kernel_bank.choosing import curve

    learned, validation = config.times("train"), config.times("validation")
    return curve(learned, validation, config.times(*config.splits), config)


def _in_context(config: ContextConfig) -> str:
    from experiments.kernel_bank.context import context_table, in_context
    from hlograph.corpus import plan_times

    programs = plan_times.load(folder=config.programs)
    return context_table(in_context(config.times(), programs))


if __name__ == "__main__":
    sys.exit(main())
