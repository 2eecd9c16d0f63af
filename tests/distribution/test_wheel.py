"""The wheel of `make wheel` works in an environment of its own, without the checkout."""

import importlib.util
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from distribution.carried import ROOT

NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29)}
"""Newest symbols that manylinux_2_34 has, which is the tag of wheels in docs/releasing.md."""
CHECK = ROOT / "tests" / "distribution" / "installed_wheel.py"


def symbol_versions(file: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the versions of symbols that a library needs, such as GLIBC and 2.34."""
    with file.open("rb") as opened:
        section = ELFFile(opened).get_section_by_name(".gnu.version_r")
        for _, needed in section.iter_versions():
            for version in needed:
                name, _, number = version.name.partition("_")
                if name in NEWEST:
                    yield name, tuple(map(int, number.split(".")))


@pytest.mark.parametrize("name", ["_xla", "_graphs", "_custom_calls"])
def test_an_extension_needs_no_newer_system_than_its_wheel_says(name: str):
    """A single new symbol, as of a function of GCC 12's library, makes the tag a later one."""
    spec = importlib.util.find_spec(f"hlograph.{name}")
    assert spec is not None
    assert spec.origin is not None
    needed = list(symbol_versions(Path(spec.origin)))
    assert needed
    assert [(name, version) for name, version in needed if version > NEWEST[name]] == []


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(tmp_path: Path):
    """The environment has links to what is installed here, except for hlograph."""
    make = ["make", "wheel", f"WHEELS={tmp_path}", f"BUILDER={sys.prefix}"]
    subprocess.run(make, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("hlograph-*-manylinux_2_34_x86_64.whl")
    assert wheel.stat().st_size < 7_500_000

    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    site = next((tmp_path / "fresh" / "lib").glob("python*/site-packages"))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "hlograph" not in entry.name and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", wheel]
    subprocess.run(install, cwd=tmp_path, check=True)
    done = subprocess.run(
        [python, "-I", CHECK, "engine,learn"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the wheel works\n")
