"""Programs to train on in other sizes than they were recorded in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.evaluate.benchmarks import load
from experiments.evaluate.run_folder import file_stem
from experiments.kernel_bank.drawing import draw_program
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError, WorkerLostError
from hlograph.reading.compression import compress
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import write_bytes

_DRAWN = "drawn.json"
_KIND, _VERSION = "programs in other sizes", 1


@dataclass(frozen=True)
class DrawPrograms(Task):
    """Draws a program in other sizes."""

    benchmark: str
    draws: int
    seed: int

    def do(self, worker: RolloutWorker) -> Mapping[int, str]:
        """Returns HLO texts by the numbers of their draws, without draws that do not fit."""
        texts: dict[int, str] = {}
        worker.recorder.begin(f"drawing {self.benchmark}".encode(), worker.config.check_seconds)
        try:
            program = load(self.benchmark)
            for number in range(self.draws):
                try:
                    texts[number] = draw_program(program, number, self.seed).to_text()
                except HloError:
                    continue
        except HloError:  # the program cannot be read
            return {}
        finally:
            worker.recorder.end()
        return texts


def scaled_programs(
    names: Sequence[str], draws: int, runner: TaskRunner, folder: Path
) -> list[str]:
    """Returns programs with other sizes, element types and layouts, as files of a folder.

    Sizes change wherever they stand in a program's text (``experiments.kernel_bank.drawing``). What
    XLA's verifier refuses, as that of a program whose code depends on its sizes, is left out. What
    the folder has from an earlier start of the run is taken as it is.

    Args:
        names: Benchmarks.
        draws: Number of draws of each.
        runner: Draws, with the seed of its settings.
        folder: Folder to write to.

    Returns:
        Absolute paths of the files.

    Raises:
        DamagedFileError: The folder's list of programs is damaged.
        OSError: A file cannot be written.
    """
    folder = folder.absolute()
    if draws == 0:
        return []
    made = {"draws": draws, "seed": runner.config.seed}
    drawn = _drawn(folder, made)
    new = [DrawPrograms(name, draws, runner.config.seed) for name in names if name not in drawn]
    what = "programs in other sizes"
    results = runner.run(new, what, give_up=True, progress=what) if new else []
    for task, result in zip(new, results, strict=True):
        texts = {} if isinstance(result, WorkerLostError) else result
        for number, text in texts.items():
            path = _path(folder, task.benchmark, number)
            write_bytes(path, compress(text.encode(), path.name))
        drawn[task.benchmark] = list(texts)
    write_checked_json(folder / _DRAWN, _KIND, _VERSION, made | {"programs": drawn})
    return [str(_path(folder, name, number)) for name in names for number in drawn[name]]


def _drawn(folder: Path, made: Mapping[str, int]) -> dict[str, list[int]]:
    """Returns the numbers of the draws that the folder has, by benchmark."""
    path = folder / _DRAWN
    if not path.exists():
        return {}
    recorded = read_checked_json(path, _KIND, _VERSION)
    programs = recorded.pop("programs")
    return programs if recorded == made else {}


def _path(folder: Path, name: str, number: int) -> Path:
    return folder / f"{file_stem(name).strip('-')}-{number}.hlo.zst"
