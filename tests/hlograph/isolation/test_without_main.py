"""Workers that do not import the main module of the program."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hlograph.errors import WorkerLostError
from hlograph.isolation import WorkerLimits
from hlograph.isolation.slot import Slot
from tests.hlograph.isolation.deeds import make_doer

ROOT = Path(__file__).parents[3]
_SCRIPT = """
import sys, threading
sys.path.insert(0, {root!r})
print("main")
from hlograph.isolation import WorkerPool
from tests.hlograph.isolation.deeds import make_doer

def run():
    with WorkerPool(make_doer, 2, with_main=False) as pool:
        assert len(list(pool.map(["pid"] * 4))) == 4

before = __file__, __spec__
threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    assert (__file__, __spec__) == before
assert (__file__, __spec__) == before
"""


def test_a_script_needs_no_guard_and_keeps_its_names(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(root=str(ROOT)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "main\n"


def test_an_interrupted_slot_runs_nothing_until_it_resumes():
    slot = Slot(make_doer, WorkerLimits(), with_main=False)
    slot.interrupt()
    with pytest.raises(WorkerLostError, match="interrupted"):
        slot.run("pid")
    assert slot.pid is None
    slot.resume()
    assert isinstance(slot.run("pid"), int)
    threading.Timer(0.3, slot.interrupt).start()
    with pytest.raises(WorkerLostError):
        slot.run("hang")
    slot.close()
