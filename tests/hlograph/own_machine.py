"""Fixtures of tests that measure: a cache of their own, and a lock that they share with nobody."""

from __future__ import annotations

import tempfile

import pytest


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
