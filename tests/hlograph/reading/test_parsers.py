"""The process that parses: what a signal, a fork and other threads do to its client."""

import os
import signal
import threading

import pytest

import hlograph
from hlograph.reading import parsers
from hlograph.reading.parsers import IsolatedParser

SMALL = "module @small { func.func @main() -> tensor<f32> {" + (
    " %0 = stablehlo.constant dense<1.0> : tensor<f32> return %0 : tensor<f32> } }"
)


def _large(number: int) -> str:
    """Returns StableHLO of many negations, which takes long to parse."""
    lines = [f"%{n + 1} = stablehlo.negate %{n} : tensor<8xf32>" for n in range(number)]
    body = "\n".join(lines)
    head = "func.func @main(%0: tensor<8xf32>) -> tensor<8xf32>"
    return f"module @large {{ {head} {{ {body} return %{number} : tensor<8xf32> }} }}"


class _StopError(Exception):
    """Raised by the handler of a signal."""


def _raise(number, frame):
    raise _StopError


def test_an_interrupted_request_is_not_the_answer_to_the_next_one(monkeypatch):
    hlograph.parse(SMALL)  # the server runs
    before = signal.signal(signal.SIGALRM, _raise)
    read = parsers.read_exactly

    def slow(stream, size):
        # The request has been sent, and its answer is on the way.
        signal.raise_signal(signal.SIGALRM)
        return read(stream, size)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(parsers, "read_exactly", slow)
            with pytest.raises(_StopError):
                hlograph.parse(_large(300))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert hlograph.parse(SMALL).num_nodes < 10


def test_a_fork_does_not_wait_for_a_thread_that_it_has_not(monkeypatch):
    parser = IsolatedParser()
    monkeypatch.setattr(parsers, "_parser", parser)
    held = threading.Event()
    over = threading.Event()

    def hold():
        with parser._lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if hlograph.parse(SMALL).num_nodes else 1)
    over.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
