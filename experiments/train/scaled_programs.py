"""Programs to train on in other sizes than they were recorded in."""

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from experiments.evaluate.benchmarks import load
from experiments.kernel_bank.drawing import draw_program
from hlograph.errors import HloError


def scaled_programs(names: Sequence[str], draws: int, seed: int, folder: Path) -> list[str]:
    """Returns programs with other sizes, element types and layouts, as files of a folder.

    Sizes change wherever they stand in a program's text (``experiments.kernel_bank.drawing``). What
    XLA's verifier refuses, as that of a program whose code depends on its sizes, is left out. Files
    that a run has written before are taken as they are.

    Args:
        names: Benchmarks.
        draws: Number of draws of each.
        seed: Seed of the draws.
        folder: Folder to write to.

    Returns:
        Paths of the files.

    Raises:
        OSError: A file cannot be written.
    """
    done = folder / "done"
    if draws and not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in tqdm(names, "programs in other sizes", unit="program", disable=None):
            program = load(name)
            for number in range(draws):
                try:
                    scaled = draw_program(program, number, seed)
                except HloError:
                    continue
                scaled.save(folder / f"{Path(name).as_posix().replace('/', '--')}-{number}.hlo.zst")
        done.touch()
    return [str(path) for path in sorted(folder.glob("*.hlo.zst"))]
