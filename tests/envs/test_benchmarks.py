"""The benchmarks that a user names, and those that are none."""

from __future__ import annotations

import pytest

from envs import PassOrderingEnv
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
