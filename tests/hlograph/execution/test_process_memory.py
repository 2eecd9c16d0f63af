"""Tests of the memory of this process."""

import mmap
import subprocess
import sys

import numpy as np
import pytest

from hlograph.execution import process_memory
from hlograph.execution.process_memory import (
    c_function,
    can_keep_freed_memory,
    keep_freed_memory,
    release_freed_memory,
    resident_bytes,
    resident_growth,
)

_SIZE = 100_000_000


def test_growth_in_a_call_is_what_it_holds_at_its_highest():
    held = []
    assert 0.9 * _SIZE < resident_growth(lambda: np.ones(_SIZE, np.int8)) < 1.3 * _SIZE
    assert resident_growth(lambda: held.append(np.zeros(10))) < 0.1 * _SIZE
    # The same again, although the peak of the process is that of the first call.
    assert 0.9 * _SIZE < resident_growth(lambda: np.ones(_SIZE, np.int8)) < 1.3 * _SIZE


def test_resident_memory():
    ones = np.ones(_SIZE, np.int8)
    before = resident_bytes()
    # Of the system, as an earlier test may have left freed memory to the C library.
    with mmap.mmap(-1, _SIZE) as block:
        block.write(ones)
        assert 0.9 * _SIZE < resident_bytes() - before < 1.3 * _SIZE


def test_freed_memory_is_returned():
    # Small blocks stay in the heap; the last one is in use, so that its end is not returned.
    blocks = [np.ones(50_000, np.int8) for _ in range(1000)]
    held = resident_bytes()
    del blocks[:-1]
    release_freed_memory()
    assert held - resident_bytes() > 0.5 * 1000 * 50_000


def test_a_function_that_the_c_library_lacks():
    assert c_function("no_such_function_of_c") is None


_KEEPING = """
from hlograph.execution.process_memory import *

def allocate():
    for _ in range(10):
        b"x" * 50_000_000

assert not keeps_freed_memory()
before = page_faults(allocate)
assert keep_freed_memory() and keeps_freed_memory()
allocate()
print(before, page_faults(allocate))
"""


@pytest.mark.skipif(not can_keep_freed_memory(), reason="the C library is not glibc")
def test_a_process_that_keeps_freed_memory_has_no_page_faults():
    done = subprocess.run([sys.executable, "-c", _KEEPING], capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    assert before > 10 * 50_000_000 / 4096 / 2
    assert after < 1000


def test_where_the_c_library_is_another_one(monkeypatch):
    monkeypatch.setattr(process_memory, "c_function", lambda name: None)
    monkeypatch.setattr(process_memory, "_keeps", False)  # another test may have asked for it
    assert not can_keep_freed_memory()
    assert not keep_freed_memory()
    release_freed_memory()
