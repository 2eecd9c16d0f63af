"""Tests what is said when a program ends while a worker of it starts."""

import subprocess
import sys

import pytest

_START = """
import os
from multiprocessing import forkserver
from hlograph.isolation.slot import start_server
start_server([])
_, told = forkserver._forkserver.connect_to_new_process([])
os.write(told, {sent!r})
os.close(told)
"""


@pytest.mark.parametrize(
    ("sent", "said"), [(b"", False), (b"\x80\x05\x95", False), (b"\x80\x05K\x01.", True)]
)
def test_only_a_worker_that_was_not_told_what_to_do_ends_quietly(sent, said):
    # The server and the worker hold the pipe of stderr: its end is theirs.
    code = _START.format(sent=sent)
    script = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert script.returncode == 0
    assert ("Traceback" in script.stderr) is said
