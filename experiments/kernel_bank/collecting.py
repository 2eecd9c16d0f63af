"""Collection of recordings: what is to come, and the files of what was recorded."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.kernel_bank.origins import (
    Origin,
    held_out_texts,
    origins,
    unconfigured,
    with_rare_opcodes,
)
from experiments.kernel_bank.recorder import KernelRecorder, KernelTask, Recorded
from experiments.kernel_bank.settings import RecordKernelsConfig
from experiments.workers.ray import ray_pool
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Pool, WorkerLimits, WorkerPool
from hlograph.storage.appended_lines import append_line, appended_lines

_LIMITS = WorkerLimits(seconds=120.0, idle_seconds=3600.0, memory=8 << 30)
_PRELOADED = ("experiments.kernel_bank.recorder",)
_FILE = "recordings.jsonl"
# Draws of a kernel one after the other, and by which factor those of kernels with rare opcodes are
# more.
_AT_ONCE, _OF_RARE = 2, 3


class Drawn(NamedTuple):
    """A draw of a kernel.

    Attributes:
        origin: The kernel.
        number: Number of the draw.
    """

    origin: Origin
    number: int

    @property
    def key(self) -> tuple[str, int]:
        """Digest of the kernel and the number, which name the draw in a file."""
        return self.origin.digest, self.number


@dataclass(frozen=True)
class Progress:
    """Counts what a run has done so far.

    Attributes:
        kernels: Number of kernels that were recorded.
        variants: Number of their variants.
        fates: Numbers of draws that were left out, by reason.
        seconds: Wall and CPU seconds of the parts of recordings, in all.
    """

    kernels: int
    variants: int
    fates: Counter[str]
    seconds: Counter[str]


def recordings(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the recordings of a folder, also those of draws that were left out."""
    for line in appended_lines(folder / _FILE):
        try:
            yield json.loads(line)
        except ValueError:  # it was cut off
            continue


def collect(config: RecordKernelsConfig, folder: Path) -> Iterator[Progress]:
    """Records kernels, and yields what was done after each.

    Args:
        config: The settings.
        folder: Folder of the recordings.
    """
    done = {(r["origin"], r["draw"], r["seed"]) for r in recordings(folder)}
    drawn = (draw for draw in _draws(config) if (*draw.key, config.seed) not in done)
    end = time.monotonic() + 60 * config.minutes
    recorded = _Recordings(folder, config)
    begun: list[Drawn] = []
    most = math.inf if config.kernels is None else config.kernels

    def tasks() -> Iterator[KernelTask]:
        for draw in drawn:
            if time.monotonic() > end or recorded.kernels >= most:
                return
            begun.append(draw)
            yield KernelTask(draw.origin.text, draw.number, config.seed, config.decisions)

    with _workers(config) as workers:
        for number, answer in workers.map(tasks()):
            recorded.add(begun[number], answer)
            yield recorded.progress()


def _workers(config: RecordKernelsConfig) -> Pool:
    work = KernelRecorder, config.num_workers, _LIMITS, _PRELOADED
    if config.workers == "ray":
        return ray_pool(*work, config.ray_address)
    return WorkerPool(*work, with_main=False)


def _draws(config: RecordKernelsConfig) -> Iterator[Drawn]:
    """Yields the draws: of each kernel the first two, then of each the next, and so on.

    The first is the kernel as it is. Kernels with rare opcodes have several times as many.
    """
    kernels = origins(config.seed)
    rare = with_rare_opcodes(kernels)
    if config.chosen:
        of_digest = {origin.digest: origin for origin in kernels}
        kernels = [_chosen(of_digest, digest) for digest in config.chosen.read_text().split()]
    for first in range(0, config.draws, _AT_ONCE):
        for origin in kernels:
            times = _OF_RARE if origin in rare else 1
            last = min(first + _AT_ONCE, config.draws)
            for number in range(times * first, times * last):
                yield Drawn(origin, number)


def _chosen(of_digest: Mapping[str, Origin], digest: str) -> Origin:
    if digest not in of_digest:
        raise HloError(
            f"expected the digest of a kernel that can be recorded, got {digest!r}: make the file "
            "again with `choose`"
        )
    return of_digest[digest]


class _Recordings:
    """Writes recordings, and counts them."""

    def __init__(self, folder: Path, config: RecordKernelsConfig) -> None:
        self._file = folder / _FILE
        self._held_out = held_out_texts()
        self._seed = config.seed
        self.kernels = self._variants = 0
        self._fates, self._seconds = Counter[str](), Counter[str]()

    def add(self, drawn: Drawn, answer: Recorded | HloError) -> None:
        """Writes the answer to a draw, so that it is not drawn again.

        A draw whose worker was lost by something else is not written, and comes again.
        """
        if isinstance(answer, WorkerLostError) and not answer.to_blame:
            self._fates[str(answer)] += 1
            return
        line: dict[str, Any] = {
            "origin": drawn.origin.digest,
            "draw": drawn.number,
            "seed": self._seed,
            "family": drawn.origin.family,
            "split": drawn.origin.split,
        }
        if isinstance(answer, HloError):
            fate = str(answer).partition("\n")[0][:100]
            self._fates[fate] += 1
            append_line(self._file, json.dumps(line | {"left_out": fate}))
            return
        variants = list(self._variants_of(answer))
        self._seconds.update(answer.seconds)
        if not variants:
            self._fates["left out: it is a kernel of a held-out program"] += 1
            append_line(self._file, json.dumps(line | {"left_out": "held out"}))
            return
        self.kernels += 1
        self._variants += len(variants)
        fields = ("machine", "isa", "change", "load")
        line |= {name: getattr(answer, name) for name in fields} | {"variants": variants}
        append_line(self._file, json.dumps(line))

    def _variants_of(self, answer: Recorded) -> Iterator[Mapping[str, Any]]:
        """Yields the variants whose longest kernel is not held out; none if the default's is."""
        for number, (point, flags, compile_seconds, times) in enumerate(answer.variants):
            text, *_ = max(times.kernels, key=lambda kernel: kernel[2] or 0.0)
            if unconfigured(text) in self._held_out:
                if number == 0:
                    return
                continue
            yield {
                "decisions": point.values,
                "flags": flags,
                "compile_seconds": compile_seconds,
                **times._asdict(),
            }

    def progress(self) -> Progress:
        """Returns what was done so far."""
        return Progress(self.kernels, self._variants, self._fates, self._seconds)
