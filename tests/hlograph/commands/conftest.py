"""A folder as a user of the command line has it: a module, a function, and a cache of its own."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hlograph.commands.command_line import main
from tests.tiny_module import TINY

FUNCTIONS = """
import jax, jax.numpy as jnp

print("imported")

def step(x, w):
    return jax.nn.relu(x @ w)

def callback(x):
    jax.debug.print("{}", x)
    return x

arguments = jnp.ones((8, 4)), jnp.ones((4, 2))
"""

Called = tuple[int, str, str]
"""Exit status, stdout and stderr."""


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tiny.hlo").write_text(TINY)
    (tmp_path / "own_functions.py").write_text(FUNCTIONS)
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HLOGRAPH_DEBUG", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_functions", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(user_folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Returns a function that runs a command line in the user's folder."""

    def called(*arguments: str) -> Called:
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return called
