"""The benchmarks that a user names, and those that are none."""

import pytest

from envs import PassOrderingEnv
from hlograph.decisions.benchmarks import ModuleCache
from tests.tiny_module import TINY


def test_the_path_that_was_given_names_a_file(tmp_path, monkeypatch):
    (tmp_path / "step.hlo").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    env = PassOrderingEnv(["step.hlo"])
    _, info = env.reset(options={"benchmark": "step.hlo"})
    assert info["benchmark"] == str(tmp_path / "step.hlo")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (TINY, ValueError, "Module.from_text"),
        ([object()], TypeError, "expected a name of the corpus"),
        (3, TypeError, "got int"),
    ],
)
def test_what_is_no_benchmark(given, error, words):
    with pytest.raises(error, match=words):
        PassOrderingEnv(given)


def _sources(tmp_path, count):
    paths = [tmp_path / f"{n}.hlo" for n in range(count)]
    for path in paths:
        path.write_text(TINY)
    return paths


def test_a_module_is_read_once(tmp_path):
    (path,) = _sources(tmp_path, 1)
    cache = ModuleCache()
    assert cache.read(path) is cache.read(path)


def test_the_module_longest_unused_is_dropped_first(tmp_path):
    a, b, c = _sources(tmp_path, 3)
    cache = ModuleCache(max_bytes=2 * (8 * 1024 + len(TINY)))
    first, second = cache.read(a), cache.read(b)
    assert cache.read(a) is first
    cache.read(c)
    assert cache.size <= cache.max_bytes
    assert cache.read(a) is first
    assert cache.read(b) is not second


@pytest.mark.parametrize("limit", [0, 1])
def test_one_module_is_kept_whatever_the_limit(tmp_path, limit):
    a, b = _sources(tmp_path, 2)
    cache = ModuleCache(max_bytes=limit)
    cache.read(a)
    kept = cache.read(b)
    assert cache.read(b) is kept


def test_a_file_that_has_changed_is_read_again(tmp_path):
    (path,) = _sources(tmp_path, 1)
    cache = ModuleCache()
    first = cache.read(path)
    path.write_text(TINY.replace("HloModule tiny", "HloModule another"))
    assert cache.read(path).name == "another" != first.name
    assert cache.size == 1024 * first.op_count + path.stat().st_size
