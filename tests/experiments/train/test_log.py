"""Tests of the log of a training."""

import signal
import threading

import pytest

from experiments.evaluate.evaluation import Measure
from experiments.train.log import TrainingLog
from hlograph.execution.interrupts import uninterrupted


@pytest.fixture
def interruptible():
    """Lets SIGINT raise KeyboardInterrupt; a shell ignores it in what it runs in the background."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_the_middle_of_a_write_comes_after_it(tmp_path, monkeypatch):
    log = TrainingLog(tmp_path, (), Measure("op_count", {}), 0)
    written, add = [], log._writer.add_scalar

    def interrupted(name, value, *about):
        written.append(name)
        signal.raise_signal(signal.SIGINT)
        add(name, value, *about)

    monkeypatch.setattr(log._writer, "add_scalar", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.measurements({"a": 1.0, "b": 2.0}, 1)
    assert written == ["a", "b"]
    log.close()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_no_signals_to_keep():
    done = []

    @uninterrupted()
    def work():
        done.append(threading.current_thread())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [thread]
