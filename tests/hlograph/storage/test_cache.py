"""Tests of the cache's folder."""

from pathlib import Path

from hlograph.storage.cache import cache_folder


def test_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert not cache_folder().exists()


def test_default_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HLOGRAPH_CACHE", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == Path(tmp_path, ".cache", "hlograph")
