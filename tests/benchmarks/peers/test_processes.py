"""Processes of peers: times in turns, and peers that fail on the way."""

import hashlib
import os
import sys
import threading
import time

import pytest

from benchmarks.peers.processes import (
    PeerProcess,
    fastest_blas,
    reason_of,
    timed_in_turns,
)
from benchmarks.peers.worker import CallWorker, plainly
from hlograph.errors import HloError
from hlograph.measuring.trial import Effort
from tests.benchmarks.peers.workers import DyingWorker, SleepingWorker

SHORT = Effort(pairs=3, block_seconds=0.001, max_seconds=1.0, thorough=False, least=2)


def test_two_peers_take_turns():
    with (
        PeerProcess("slow", sys.executable, SleepingWorker, 1) as slow,
        PeerProcess("dying", sys.executable, DyingWorker, 1) as dying,
    ):
        seconds, failures = timed_in_turns({"slow": slow, "dying": dying}, SHORT)
    assert len(seconds["slow"]) >= 2
    assert all(value > 0 for value in seconds["slow"])
    assert "dying" not in seconds
    assert "exit" in failures["dying"]


def test_nothing_is_timed_of_no_peer():
    assert timed_in_turns({}, SHORT) == ({}, {})


def test_the_process_has_the_threads_and_variables():
    with PeerProcess("peer", sys.executable, SleepingWorker, 3, {"SOME": "where"}) as process:
        assert process.call(SleepingWorker.variable, "OMP_NUM_THREADS") == "3"
        assert process.call(SleepingWorker.variable, "SOME") == "where"


def test_an_interpreter_that_is_not_there_is_an_error():
    with pytest.raises(HloError, match="cannot run"):
        PeerProcess("peer", "/no/such/python", SleepingWorker, 1)


def test_preparing_is_outside_of_the_clock():
    class Preparing(CallWorker):
        def prepared(self):
            time.sleep(0.05)

        def run(self, prepared):
            pass

    assert Preparing().seconds(2) < 0.02


def test_calls_end_when_all_threads_are_asleep():
    # As a thread of OpenBLAS does after the last product, without the GIL.
    data = bytes(128 << 20)
    begun = time.perf_counter()
    hashlib.sha256(data)
    alone = time.perf_counter() - begun

    class LookingForWork(CallWorker):
        def prepared(self):
            threading.Thread(target=hashlib.sha256, args=(data,)).start()

        def run(self, prepared):
            pass

    begun = time.perf_counter()
    LookingForWork().seconds(1)
    assert time.perf_counter() - begun > alone / 2


def test_a_reason_is_one_line_that_fits_into_a_table():
    assert reason_of(ValueError("a | b\nmore")) == "ValueError: a / b"
    assert reason_of(HloError("expected x")) == "expected x"
    assert reason_of(ValueError()) == "ValueError:"


def test_openblas_chooses_its_kernels(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    fastest_blas()
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_an_error_of_a_library_can_be_read_elsewhere():
    class ForeignError(Exception):
        """Error of a library that the other process lacks."""

    with pytest.raises(HloError, match="ForeignError: out of tensors"), plainly():
        raise ForeignError("out of tensors")
    with pytest.raises(HloError, match="plain"), plainly():
        raise HloError("plain")
