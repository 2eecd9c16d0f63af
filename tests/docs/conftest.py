"""Folder in which the commands and examples of the documentation find what they name."""

from functools import cache
from pathlib import Path

import pytest

from experiments.search.pipelines import Order
from hlograph import Plan, corpus
from hlograph.board.submission import Submission, SubmittedTrajectory
from hlograph.decisions.trajectory import Trajectory
from tests.hlograph.own_machine import own_lock, short_finals, single_workers

__all__ = ["own_lock", "short_finals", "single_workers"]

FLAGS = {"xla_cpu_enable_fast_min_max": True}
MODEL = """
import jax, jax.numpy as jnp

def step(x, w):
    return jax.nn.relu(x @ w)

arguments = jnp.ones((8, 32)), jnp.eye(32)
"""


@pytest.fixture
def reader_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enters a folder with a module, ``step.hlo``, a dump of two, a plan and a function.

    ``episodes.jsonl`` has a trajectory, and ``mine.json`` is a submission of it. ``runs`` has the
    orders that two searches found.
    """
    texts = _texts()
    (tmp_path / "step.hlo").write_text(texts[0])
    (tmp_path / "dump").mkdir()
    for name, text in zip(("loss", "step"), texts, strict=True):
        (tmp_path / "dump" / f"{name}.hlo").write_text(text)
    # Without a fingerprint, it is a plan for any program.
    Plan("step", flags=FLAGS, numerics="fast").save(tmp_path / "step.plan.json")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "episodes.jsonl").write_text(f"{_trajectory().to_json()}\n")
    results = (SubmittedTrajectory(_trajectory(), "equal"),)
    Submission("mine", "policy", "Ada Lovelace", trajectories=results).save(tmp_path / "mine.json")
    for run in ("small", "order"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        Order(("call-inliner",), ("algsimp", "dce"), ()).save(
            tmp_path / "runs" / run / "order.json"
        )
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def _texts() -> list[str]:
    """Returns two modules as text."""
    smallest = sorted(corpus.load(split="train"), key=lambda benchmark: benchmark.op_count)[:2]
    return [benchmark.load().to_text() for benchmark in smallest]


def _trajectory() -> Trajectory:
    """Returns a trajectory without steps on a small benchmark."""
    small = min(corpus.load(split="train"), key=lambda benchmark: benchmark.op_count)
    same = small.fingerprint
    return Trajectory(small.name, same, small.op_count, (), (), same)
