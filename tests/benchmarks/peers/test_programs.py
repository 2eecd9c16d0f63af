"""The programs that settings choose: of the speed set, of files, of NPBench, of XLA."""

import pytest

from benchmarks.peers.programs import ProgramChoice
from hlograph.errors import HloError
from tests.benchmarks.peers.checkouts import small_checkout

RANKS = "sorting/ranks/n4096-d16"


@pytest.fixture
def xla(tmp_path):
    """Returns a checkout in XLA's form with two modules."""
    folder = tmp_path / "xla" / "xla" / "backends" / "cpu" / "benchmarks" / "hlo"
    (folder / "suite").mkdir(parents=True)
    (folder / "jax.b1.hlo").touch()
    (folder / "suite" / "scan.hlo").touch()
    return tmp_path / "xla"


def test_no_choice_is_an_error():
    with pytest.raises(HloError, match="expected programs: give --programs"):
        ProgramChoice().chosen()


def test_programs_come_from_everywhere_and_once(tmp_path, xla):
    file = tmp_path / "x.hlo"
    file.touch()
    npbench = small_checkout(tmp_path / "npbench")
    choice = ProgramChoice((RANKS, str(file), RANKS), npbench=npbench, xla=xla)
    chosen = {program.name: program for program in choice.chosen()}
    assert list(chosen) == [RANKS, str(file), "npbench/sums", "xla/jax.b1", "xla/suite/scan"]
    assert chosen[RANKS].file == ""
    assert chosen[str(file)].file == str(file)
    assert chosen["xla/suite/scan"].file.endswith("benchmarks/hlo/suite/scan.hlo")
    assert chosen["npbench/sums"].npbench is not None


def test_some_are_measured_now(xla):
    choice = ProgramChoice(xla=xla, only=("xla/suite/*",))
    measured = [program.name for program in choice.chosen() if choice.measures(program)]
    assert measured == ["xla/suite/scan"]


def test_a_folder_without_modules_is_an_error(tmp_path):
    with pytest.raises(HloError, match=r"expected a checkout of .*openxla/xla at"):
        ProgramChoice(xla=tmp_path).chosen()
