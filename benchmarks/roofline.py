"""Measures the largest bandwidth and arithmetic rate of a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from hlograph.timing.bootstrap import Interval


@dataclass(frozen=True)
class Peaks:
    """Largest rates of one device with float32."""

    bandwidth: float
    """Bytes per second that a large copy reads and writes."""
    arithmetic: float
    """Floating-point operations per second of a large matrix product."""

    def share(self, bytes_moved: float, flops: float, seconds: float) -> float:
        """Returns the shortest possible time of the device over the measured time.

        The roofline model (Williams, Waterman, Patterson 2009): no faster than its bytes can be
        moved, and no faster than its arithmetic can be done.
        """
        return max(bytes_moved / self.bandwidth, flops / self.arithmetic) / seconds


def seconds_of(run: Callable[[], object], device: torch.device, repeats: int) -> Interval:
    """Times something on a device, after one untimed run; waits for the device each time."""
    times = []
    for number in range(repeats + 1):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        if number:
            times.append(time.perf_counter() - start)
    return Interval.quartiles(times)


def synchronize(device: torch.device) -> None:
    """Waits until the device has finished all operations."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peaks_of(device: torch.device, repeats: int) -> Peaks:
    """Measures a device with a large copy and a large matrix product."""
    on_gpu = device.type == "cuda"
    source = torch.zeros(1 << (28 if on_gpu else 26), dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    copied = seconds_of(lambda: target.copy_(source), device, repeats).value
    size = 8192 if on_gpu else 2048
    left = torch.ones(size, size, device=device)
    right, product = torch.ones_like(left), torch.empty_like(left)
    multiplied = seconds_of(lambda: torch.mm(left, right, out=product), device, repeats).value
    return Peaks(
        bandwidth=2 * source.numel() * source.element_size() / copied,
        arithmetic=2 * size**3 / multiplied,
    )
