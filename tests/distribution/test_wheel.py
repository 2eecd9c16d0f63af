"""The wheel of `make wheel` works in an environment of its own, without the checkout."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from distribution.carried import ROOT

CHECK = ROOT / "tests" / "distribution" / "installed_wheel.py"


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(tmp_path: Path):
    """The environment has links to what is installed here, except for hlograph."""
    make = ["make", "wheel", f"WHEELS={tmp_path}", f"BUILDER={sys.prefix}"]
    subprocess.run(make, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("hlograph-*-manylinux_*.whl")
    assert wheel.stat().st_size < 5_000_000

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
