"""hlograph compare: this Python on both sides, with another environment on one; and two stores."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hlograph.measuring.trial import Job
from hlograph.optimization import Store
from hlograph.optimization.cache import CacheKey
from hlograph.plans import Measured, Plan, Program
from hlograph.storage.machine import machine
from tests.hlograph.commands.conftest import Called

PROGRAMS = """
import os
import jax, jax.numpy as jnp

def sorts(x):
    return sum(jax.lax.sort(x) * n for n in range(8)), jnp.tanh(x)

def scaled(x):
    return jnp.sin(x) * float(os.environ.get("OWN_SCALE", "1"))

def sized(x):
    return jnp.zeros(int(os.environ.get("OWN_SCALE", "1")))
"""
# Without this pass each of the sorts is done, and not one of them.
SLOWLY = "XLA_FLAGS=--xla_disable_hlo_passes=cse"


# A plan that was measured for another program, and makes up for it.
ONCE = Plan("another", steps=("cse",), measured=Measured(0.002, 0.001, 2, 1.9, 2.1, 1, 99))


@pytest.fixture
def compare(user_folder: Path, call: Callable[..., Called]) -> Callable[..., Called]:
    (user_folder / "own_programs.py").write_text(PROGRAMS)

    def called(source: str, *options: str) -> Called:
        rest = () if Path(source).suffix else ("--shapes", "f32[4000]")
        return call(
            *("compare", source, *rest, "--with", sys.executable),
            *("--rounds", "1", "--budget", "0", *options),
        )

    return called


def test_a_slower_side_is_named_and_shown_in_a_folder(
    compare: Callable[..., Called], user_folder: Path
) -> None:
    Store("known").put(f"{'0' * 24}-close-{machine().key}", ONCE)
    status, out, err = compare(
        *("own_programs:sorts", "--environment", SLOWLY, "--budget", "5", "--store", "known")
    )
    assert status == 1, err
    assert "other takes" in out.splitlines()[0]
    assert "times as long" in out.splitlines()[0]
    assert "kernels of their own under other alone" in out
    assert "written to sorts.compare: a part of the program" in out
    folder = user_folder / "sorts.compare"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("README.md", "after_optimizations_other.hlo", "after_optimizations_this.hlo"),
        *("before_optimizations.hlo", "case.json", "comparison.json", "inputs.npz"),
        *("outputs_other.npz", "outputs_this.npz", "reproduce.py"),
    }
    small = (folder / "before_optimizations.hlo").read_text()
    assert small.startswith("HloModule minimal")
    assert "sort(" in small  # on a busy machine, one of them may look slower
    assert "tanh" not in small
    assert SLOWLY in (folder / "README.md").read_text()
    content = json.loads((folder / "comparison.json").read_text())
    assert content["times"]["faster"] == "this"
    assert content["recovery"]["steps"]  # those of the store, or of a form that is faster still
    assert content["recovery"]["share"] > 0.5
    assert _largest_differences(folder, "before_optimizations.hlo") == [0.0, 0.0]


def test_what_each_side_lowers_itself_may_differ(
    compare: Callable[..., Called], user_folder: Path
) -> None:
    status, out, err = compare(
        "own_programs:scaled", "--environment", "OWN_SCALE=2", "--json", "--out", "apart"
    )
    assert status == 1, err
    content = json.loads(out)
    assert content["folder"] == "apart"
    assert content["outputs"]["verdict"] == "different"
    assert not content["outputs"]["accepted"]
    assert content["lowered"]["multiply"] == [0, 1]
    assert content["same_module"]["measured"]["pairs"] > 0
    folder = user_folder / "apart"
    mine, theirs = _largest_differences(folder, "before_optimizations_this.hlo")
    assert mine == 0
    assert theirs == pytest.approx(1, abs=0.1)
    mine, theirs = _largest_differences(folder, "before_optimizations_other.hlo")
    assert theirs == 0
    assert mine == pytest.approx(1, abs=0.1)


def test_a_file_is_the_same_module_on_both_sides(
    compare: Callable[..., Called], user_folder: Path
) -> None:
    status, out, err = compare("tiny.hlo", "--json")
    content = json.loads(out)
    assert content["outputs"]["verdict"] == "equal", err
    assert content["same_module"] is None
    assert content["lowered"] == {}
    assert content["versions"]["this"] == content["versions"]["other"]
    # Whether a busy machine lets them differ or not, status, words and files agree.
    assert content["differs"] == (content["times"]["faster"] != "neither")
    assert status == int(content["differs"])
    assert (user_folder / "tiny.compare").exists() == content["differs"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--environment", "OWN_SCALE"), "expected NAME=VALUE, got 'OWN_SCALE'"),
        (("--rounds", "0"), "at least 1 round"),
        (("--out", "tiny.hlo"), "expected a folder, got the file 'tiny.hlo'"),
        (("--with", "no-such-python"), "Expected a Python interpreter"),
    ],
)
def test_wrong_options_are_errors(
    compare: Callable[..., Called], options: tuple[str, ...], message: str
) -> None:
    status, out, err = compare("own_programs:sorts", *options)
    assert (status, out) == (1, "")
    assert message in err


def test_programs_with_other_results_are_refused(compare: Callable[..., Called]) -> None:
    status, _, err = compare("own_programs:sized", "--environment", "OWN_SCALE=2")
    assert status == 1
    assert "expected a program with the same parameters and results under both" in err


def test_two_stores_are_compared_by_what_they_have_measured(
    call: Callable[..., Called], user_folder: Path
) -> None:
    key = CacheKey.of(Job(Program.of(user_folder / "tiny.hlo"), numerics="close"))
    there = replace(machine(), cpu="Other CPU")
    plan = Plan("tiny", flags={"xla_cpu_prefer_vector_width": 512})
    fast, slow = (
        Measured(0.002, 0.001, 2, 1.9, 2.1, 1, 99),
        Measured(0.006, 0.005, 1.2, 1, 1.3, 1, 99),
    )
    Store("mine").put(key, replace(plan, measured=fast, machine=machine()))
    other = key.replace(key.parts["machine"], there.key)
    Store("theirs").put(other, Plan("tiny", measured=slow, machine=there))
    Store("theirs").put(f"{'0' * 24}-close-{there.key}", Plan("another"))

    status, out, err = call("compare", "tiny.hlo", "--store", "mine", "--with", "theirs")
    assert status == 1, err
    assert "first   A        2.00 ms  1.00 ms  2.000  1.900 to 2.100" in out
    assert "second  B        6.00 ms  5.00 ms  1.000  default kept" in out
    assert f"A  {machine()}\nB  Other CPU" in out
    assert "tiny: the gains differ\n    the default takes 3.000 times as long" in out
    assert "first alone: flag xla_cpu_prefer_vector_width = 512" in out
    assert "1 program in both stores; 0 in the first alone, 0 in the second alone" in out

    status, out, _ = call("compare", "--store", "mine", "--with", "theirs", "--json")
    content = json.loads(out)
    assert status == int(content["differs"]) == 1
    assert content["alone"] == {"first": [], "second": ["another"]}
    assert content["stores"] == ["mine", "theirs"]
    status, out, _ = call("compare", "--store", "mine", "--with", "mine")
    assert status == 0
    assert "where they part" not in out


def test_another_python_needs_a_program(call: Callable[..., Called]) -> None:
    status, _, err = call("compare", "--with", sys.executable)
    assert status == 1
    assert "expected a SOURCE" in err


def _largest_differences(folder: Path, file: str) -> list[float]:
    """Returns what the folder's script prints, without hlograph: differences to both outputs."""
    ran = subprocess.run(
        [sys.executable, "-I", str(folder / "reproduce.py"), file],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("Python ")
    assert "µs a run" in lines[1]
    return [float(line.rpartition(" ")[2]) for line in lines[2:]]
