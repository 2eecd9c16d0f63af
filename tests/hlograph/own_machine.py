"""Fixtures of tests that measure: a cache and a lock of their own, and short measurements."""

import tempfile
from dataclasses import replace

import pytest

from hlograph.comparing import recovering, timing
from hlograph.measuring import trial
from hlograph.optimization import first_use, optimizing, process_settings, race

HAVE_FINALS = (trial, optimizing, race, process_settings, timing, recovering)
"""Modules that time winners."""
HAVE_SCREENS = (trial, first_use, race)
"""Modules that time candidates."""
SHORT = replace(trial.FINAL, pairs=6, block_seconds=0.001, max_seconds=0.5)
"""Effort for a winner, of whose speed no test asserts more than that it is faster."""
SHORT_SCREEN = replace(trial.SCREEN, block_seconds=0.001, max_seconds=0.2)
"""Effort for a candidate."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Returns the folder that stands for ~/.cache/hlograph."""
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True, scope="module")
def own_lock(tmp_path_factory):
    """Puts the lock into a folder of its own: no test asserts a speed, none needs to wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("lock")))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(autouse=True, scope="module")
def short_finals():
    """Times plans for a moment, not for seconds; their outputs are compared as ever."""
    with pytest.MonkeyPatch.context() as patch:
        for module in HAVE_FINALS:
            patch.setattr(module, "FINAL", SHORT)
        for module in HAVE_SCREENS:
            patch.setattr(module, "SCREEN", SHORT_SCREEN)
        yield


@pytest.fixture(autouse=True, scope="module")
def single_workers():
    """Has searches start one worker, which compiles the default once: two find the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "WORKERS", 1)
        yield
