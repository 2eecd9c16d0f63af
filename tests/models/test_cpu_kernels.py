"""Tests that portable kernels are the ones that torch then uses; in new processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hlograph.errors import HloError
from models.cpu_kernels import PORTABLE, use_portable_kernels

ROOT = Path(__file__).parents[2]
PREPARE = """
import ctypes, pathlib, sys
from models.cpu_kernels import use_portable_kernels
use_portable_kernels()
use_portable_kernels()
assert "torch" not in sys.modules
"""
IN_USE = """
import torch
torch.ones(64, 64) @ torch.ones(64, 64)
library = ctypes.CDLL(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")
print(torch.backends.cpu.get_cpu_capability(), library.mkl_serv_cbwr_get(1))
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in PORTABLE}


def _run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)


def test_torch_and_mkl_take_the_settings():
    done = _run(PREPARE + IN_USE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["AVX2", "3"]  # 3 is MKL_CBWR_COMPATIBLE of mkl_types.h


def test_settings_that_come_too_late_are_an_error():
    done = _run("import torch\n" + PREPARE)
    assert done.returncode == 1
    assert "HloError: expected to choose portable CPU kernels before torch" in done.stderr
    assert "MKL_CBWR=COMPATIBLE" in done.stderr


def test_processes_inherit_the_settings(monkeypatch):
    for name, value in PORTABLE.items():
        monkeypatch.setenv(name, value)
    use_portable_kernels()  # torch is imported, with these settings as far as it can tell


def test_a_cpu_without_avx2_is_refused(monkeypatch, tmp_path):
    for name in PORTABLE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr("models.cpu_kernels._CPUINFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2\n")
    with pytest.raises(HloError, match="this CPU has none"):
        use_portable_kernels()
    assert "MKL_CBWR" not in os.environ
