"""The lock holds between processes, and is released when its holder dies."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hlograph.execution import lock

ROOT = Path(__file__).parents[3]
_HOLD = (
    "import tempfile; tempfile.tempdir = {folder!r}\n"
    "from hlograph.execution import lock\n"
    "with lock.{kind}():\n"
    "    print('held', flush=True)\n"
    "    input()\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return str(tmp_path)


@pytest.fixture
def hold(folder):
    holders = []

    def start(kind):
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLD.format(folder=folder, kind=kind)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        return holder

    yield start
    for holder in holders:
        holder.kill()
        holder.communicate()


def _begun(kind):
    """Returns a thread that takes the lock, and an event that says that it has."""
    got = threading.Event()

    def take():
        with getattr(lock, kind)():
            got.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return thread, got


@pytest.mark.parametrize(
    ("held", "wanted", "waits"),
    [
        ("compiling", "compiling", False),
        ("compiling", "alone", True),
        ("alone", "compiling", True),
        ("alone", "alone", True),
    ],
)
def test_compilations_side_by_side_measurements_alone(hold, held, wanted, waits):
    holder = hold(held)
    thread, got = _begun(wanted)
    assert got.wait(0.3 if waits else 30) is not waits
    holder.kill()  # the lock ends with its holder
    holder.wait()
    thread.join(30)
    assert got.is_set()


def test_a_measurement_that_waits_is_before_new_compilations(hold):
    holder = hold("compiling")
    measurement, measured = _begun("alone")
    assert not measured.wait(0.3)
    compilation, compiled = _begun("compiling")
    assert not compiled.wait(0.3)
    holder.communicate("\n")
    measurement.join(30)
    compilation.join(30)
    assert measured.is_set()
    assert compiled.is_set()


def test_an_exception_releases_it():
    for kind in (lock.alone, lock.compiling):
        with pytest.raises(ValueError, match="inside"), kind():
            raise ValueError("inside")
    with lock.alone():
        pass
