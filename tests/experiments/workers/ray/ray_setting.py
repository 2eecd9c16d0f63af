"""Ray as tests have it: all that it writes in one folder, and nothing left behind."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest


@contextmanager
def contained_ray() -> Iterator[None]:
    """Has Ray write to one folder; once a process, for Ray reads some of it only once."""
    # Not pytest's: names of sockets may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="ray-test-"))
    (folder / "ray").mkdir()
    (folder / "token").write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(folder / "token"))
        patch.setenv("RAY_USAGE_STATS_CONFIG_PATH", str(folder / "usage.json"))
        yield
    shutil.rmtree(folder)


@contextmanager
def nothing_left() -> Iterator[None]:
    """Asserts that whatever Ray starts in the block ends with it."""
    before = set(_descendants())
    yield
    _, left = psutil.wait_procs(set(_descendants()) - before, timeout=20)
    assert not left


def _descendants() -> list[psutil.Process]:
    """Processes of Ray below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            command = " ".join(process.cmdline())
            if "/ray/" in command or command.startswith("ray::"):
                found.append(process)
    return found
