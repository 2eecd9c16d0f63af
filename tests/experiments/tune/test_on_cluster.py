"""Races on a cluster of two nodes, one of which is killed in the middle of its race."""

import csv
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from experiments.tune.__main__ import main
from experiments.tune.races import TuningRace
from experiments.tune.results import RaceResult
from hlograph.optimization.measurements import Measurements
from tests.experiments.tune.competitors import GATE, WIDTHS
from tests.experiments.tune.tiny_program import write_program
from tests.experiments.workers.ray.two_nodes import NODE, one_node
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]

GATED = "tests.experiments.tune.competitors:gated"
OTHER_CODE = "--xla_cpu_enable_fast_math=false"  # what is measured with it is of another machine


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The file without which no race ends."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("gate") / "open"
        patch.setenv(GATE, str(path))
        yield path


@pytest.fixture(scope="module")
def cluster(contained, own_lock, gate):
    with one_node(node_name="head") as made:
        yield made


def _files(out, competitor):
    """Returns the files of measurements of a competitor's races, by program."""
    found = {}
    for path in TuningRace(None, out, 1.0, competitor=competitor).folder.glob(
        "measurements/*/*.jsonl"
    ):
        found.setdefault(path.parent.name, []).append(path)
    return found


def _screened(path):
    """Returns how often each plan of the competitor was screened."""
    outcomes = Measurements(path.stem, path.parent).read()
    methods = [outcome.plan.method for outcome in outcomes if not outcome.thorough]
    return Counter(method for method in methods if method.startswith("width"))


def _killed_in_the_middle(cluster, node, out, gate):
    """Kills a node when two races wait for the gate; returns what was measured by then."""
    while len(_waiting(gate)) < 2 or len(_files(out, GATED)) < 2:
        time.sleep(0.1)
    before = {p: p.read_bytes() for files in _files(out, GATED).values() for p in files}
    cluster.remove_node(node, allow_graceful=False)
    # Its processes outlive the node for a moment, in which its race could end.
    while len(_waiting(gate)) > 1:
        time.sleep(0.1)
    gate.touch()
    return before


def _waiting(gate):
    """Returns the processes that wait for the gate, and are alive."""
    numbers = (path.suffix.removeprefix(".") for path in gate.parent.glob(f"{gate.name}.*"))
    return [number for number in numbers if Path("/proc", number).exists()]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({}, id="alike", marks=pytest.mark.slow),
        pytest.param({"env_vars": {"XLA_FLAGS": OTHER_CODE}}, id="other", marks=pytest.mark.slow),
    ],
)
def test_a_node_killed_in_the_middle_of_a_race(other, cluster, gate, tmp_path, capsys):
    """The other node repeats its race; only one of the same kind uses what was measured."""
    for left in gate.parent.iterdir():
        left.unlink()
    node = cluster.add_node(**NODE, node_name="other", **other)
    programs = [write_program(tmp_path, name) for name in ("one.hlo", "two.hlo")]
    out, before = tmp_path / "out", {}
    killer = threading.Thread(
        target=lambda: before.update(_killed_in_the_middle(cluster, node, out, gate)), daemon=True
    )
    killer.start()
    flags = ["--budget", "10000", "--methods", GATED, "--workers", "ray"]
    assert main([*programs, *flags, "--ray-address", cluster.address, "--out", str(out)]) == 0
    killer.join()
    assert "other was lost" in capsys.readouterr().err
    # Nothing that was measured is lost.
    assert len(before) == 2
    assert all(path.read_bytes().startswith(content) for path, content in before.items())
    # All races have a result, of the node that is left.
    rows = list(csv.DictReader((out / "tune.csv").read_text().splitlines()))
    assert [row["program"] for row in rows] == programs
    assert {row["node"] for row in rows} == {"head"}
    assert not any(row["error"] for row in rows)
    # No plan is screened twice on machines of one kind, and those of two kinds are kept apart.
    every = Counter(f"width {width}" for width in WIDTHS)
    files = sorted(_files(out, GATED).values(), key=len)
    assert all(_screened(path) <= every for of_race in files for path in of_race)
    assert [len(of_race) for of_race in files] == [1, 2 if other else 1]
    for program in programs:
        result = RaceResult.load(TuningRace(None, out, 1.0, competitor=GATED).folder, program)
        ended = [p for of_race in files for p in of_race if p.stem.endswith(result.machine.key)]
        assert len(ended) == 2
        assert all(_screened(path) == every for path in ended)
        assert result.plans == len(result.curve)
