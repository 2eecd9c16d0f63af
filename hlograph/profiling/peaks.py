"""Peak speeds of this machine, measured with jaxlib on all its cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import cache_folder
from hlograph.storage.machine import Machine, machine

_VERSION = 1
_DOT_SIZES = (512, 1024, 2048)
_RUNS = 12

# Both arrays of the sum together are this many times as large as the largest cache.
_CACHES = 4
_CACHE_SIZES = "/sys/devices/system/cpu/cpu0/cache"
_LEAST_BYTES, _MOST_BYTES = 2**27, 2**29


@dataclass(frozen=True, slots=True)
class Peaks:
    """The fastest that programs run on a machine.

    Attributes:
        flops: float32 operations per second, in large dots.
        bytes: Bytes per second to and from memory, in sums of large arrays.
    """

    flops: float
    bytes: float

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


def measured_peaks(*, again: bool = False) -> Peaks:
    """Returns the peak speeds of this machine.

    They are measured once for each ``Machine``, in a few seconds, and stored in the cache folder;
    a file that cannot be read or written only means that they are measured again.

    Args:
        again: True measures them even if they are stored, and keeps the faster of both, as the
            machine may have been busy then or now.

    Raises:
        ImportError: jaxlib is not installed.
    """
    here = machine()
    path = cache_folder() / "peaks" / f"{here.key}.json"
    stored = _read(path, here)
    if stored is not None and not again:
        return stored
    peaks = Peaks(flops=measure_flops(), bytes=measure_bytes())
    if stored is not None:
        peaks = Peaks(max(peaks.flops, stored.flops), max(peaks.bytes, stored.bytes))
    try:
        content = {"machine": here.to_json(), "peaks": peaks.to_json()}
        write_checked_json(path, "peaks", _VERSION, content)
    except OSError:
        pass  # the cache folder may be read-only
    return peaks


def measure_flops() -> float:
    """Returns the float32 operations per second of the best of a few large dots."""
    import jax

    dot = jax.jit(lambda a, b: a @ b)
    best = 0.0
    for size in _DOT_SIZES:
        rng = np.random.default_rng(size)
        a = _put(rng.standard_normal((size, size), np.float32))
        seconds = _least_seconds(lambda a=a: dot(a, a).block_until_ready())
        best = max(best, 2.0 * size**3 / seconds)
    return best


def measure_bytes() -> float:
    """Returns the bytes per second that the sum of two arrays larger than the cache moves."""
    import jax

    # The result replaces the first array: new memory would cost a page fault every 4 KiB.
    add = jax.jit(lambda a, b: a + b, donate_argnums=0)
    count = min(max(_CACHES * _largest_cache(), _LEAST_BYTES), _MOST_BYTES) // 8
    array, other = _put(np.ones(count, np.float32)), _put(np.ones(count, np.float32))

    def run() -> None:
        nonlocal array
        array = add(array, other).block_until_ready()

    return 3.0 * 4 * count / _least_seconds(run)


def _read(path: Path, here: Machine) -> Peaks | None:
    try:
        content = read_checked_json(path, "peaks", _VERSION)
        if Machine.from_json(content["machine"]) != here:
            return None
        return Peaks(**content["peaks"])
    except (OSError, DamagedFileError, KeyError, TypeError):
        return None


def _put(array: np.ndarray[Any, Any]) -> Any:
    import jax

    return jax.device_put(array, jax.devices("cpu")[0])


def _least_seconds(run: Callable[[], object]) -> float:
    """Returns the seconds of the fastest run after one that warms up."""
    run()
    least = float("inf")
    for _ in range(_RUNS):
        begun = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begun)
    return least


def _largest_cache() -> int:
    """Returns the size of the largest cache in bytes; 0 if the system does not say."""
    sizes = [0]
    for file in Path(_CACHE_SIZES).glob("index*/size"):
        text = file.read_text().strip()
        if text.endswith("K") and text[:-1].isdigit():
            sizes.append(int(text[:-1]) * 1024)
    return max(sizes)
