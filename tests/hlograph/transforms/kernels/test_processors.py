"""Kernels by the code for processors with AVX2, which others run if they are asked to."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = (
    "test_fourier.py::test_lengths_of_all_radices",
    "test_fourier.py::test_transforms_along_several_dimensions",
    "test_convolution.py::test_convolutions_in_parts",
    "test_recurrence.py::test_cells_are_those_of_jax",
)


def test_kernels_are_right_in_vectors_of_256_bits():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [str(FOLDER / test) for test in TESTS]
    environment = {**os.environ, "HLOGRAPH_VECTOR_BITS": "256"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
