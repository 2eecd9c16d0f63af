"""Tests of the memory of this process."""

import numpy as np

from hlograph.execution.process_memory import (
    c_function,
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
    before = resident_bytes()
    block = np.ones(_SIZE, np.int8)
    assert 0.9 * _SIZE < resident_bytes() - before < 1.3 * _SIZE
    del block


def test_freed_memory_is_returned():
    # Small blocks stay in the heap; the last one is in use, so that its end is not returned.
    blocks = [np.ones(50_000, np.int8) for _ in range(1000)]
    held = resident_bytes()
    del blocks[:-1]
    release_freed_memory()
    assert held - resident_bytes() > 0.5 * 1000 * 50_000


def test_a_function_that_the_c_library_lacks():
    assert c_function("no_such_function_of_c") is None
