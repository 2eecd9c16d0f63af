"""A process of any Python, in which one object lives."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from hlograph.errors import HloError, WorkerCrashedError, WorkerKilledError, WorkerTimedOutError
from hlograph.isolation import InterpreterProcess

SECONDS = 60


@pytest.fixture
def process() -> Iterator[InterpreterProcess]:
    # The process finds no module of the tests, so its objects are those of Python.
    with InterpreterProcess(sys.executable, list) as started:
        yield started


def system(**environment: str) -> InterpreterProcess:
    """Returns a process whose object is the module ``os``."""
    return InterpreterProcess(sys.executable, partial(import_module, "os"), environment)


def test_an_object_keeps_its_state_between_calls(process: InterpreterProcess) -> None:
    process.call(list.append, SECONDS, 3)
    process.call(list.append, SECONDS, 4)
    assert process.call(list.index, SECONDS, 4) == 1


def test_an_exception_of_a_method_is_raised_here(process: InterpreterProcess) -> None:
    with pytest.raises(ValueError, match="not in list") as raised:
        process.call(list.index, SECONDS, 5)
    assert "in a worker process" in raised.value.__notes__[0]
    assert process.call(list.__len__, SECONDS) == 0


def test_the_process_is_another_one_and_has_the_environment() -> None:
    with system(HLOGRAPH_TEST_WORD="seven") as process:
        assert process.call(os.getenv, SECONDS, "HLOGRAPH_TEST_WORD") == "seven"
        assert process.call(os.getpid, SECONDS) != os.getpid()
    assert "HLOGRAPH_TEST_WORD" not in os.environ


def test_a_process_that_crashes_is_an_error_with_its_last_output() -> None:
    with system() as process:
        process.call(os.write, SECONDS, 2, b"check failed: x > 0")
        with pytest.raises(WorkerCrashedError, match="SIGABRT") as raised:
            process.call(os.abort, SECONDS)
    assert "check failed: x > 0" in raised.value.output


def test_a_process_that_is_killed_or_takes_too_long_is_an_error() -> None:
    with (
        system() as process,
        pytest.raises(WorkerKilledError, match="SIGKILL"),
    ):
        process.call(os.kill, SECONDS, process.call(os.getpid, SECONDS), signal.SIGKILL)
    with (
        InterpreterProcess(sys.executable, partial(import_module, "time")) as process,
        pytest.raises(WorkerTimedOutError, match=r"longer than 0\.2 s"),
    ):
        process.call(time.sleep, 0.2, 60)


def test_what_is_no_python_with_hlograph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HloError, match="Expected a Python interpreter"):
        InterpreterProcess(tmp_path / "python", list)
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'ModuleNotFoundError: no jax' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(HloError, match=r"does not run hlograph: ModuleNotFoundError: no jax\. It"):
        InterpreterProcess(script, list)


def test_an_object_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        InterpreterProcess(sys.executable, partial(import_module, "no_such_module"))
