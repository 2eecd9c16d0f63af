"""Kernels of the plan times, for tests of what predicts them."""

import pytest

from hlograph.corpus import plan_times
from hlograph.profiling.kernel_modules import KernelModule


def modules(texts, calls=1.0):
    """Returns kernels of these texts, each with so many calls."""
    return [KernelModule(f"k{number}", text, calls) for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def texts():
    """Texts of some hundred kernels of the validation split."""
    kernels = plan_times.load("validation").kernels
    return kernels[:: len(kernels) // 100]
