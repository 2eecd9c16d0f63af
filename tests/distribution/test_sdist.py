"""The source distribution builds the wheel, and has neither corpus nor tests."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from distribution.carried import ROOT, carried

ELSEWHERE = (".venv", ".git", "build", "dist", "runs", "hlo")
"""Folders of many files, which are not copied: the build would look at each."""
BUILD = "import scikit_build_core.build as b, sys; print(b.build_sdist(sys.argv[1]))"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of an unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*ELSEWHERE))
    command = [sys.executable, "-c", BUILD, str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = folder.glob("hlograph-*.tar.gz")
    assert file.stat().st_size < 7_000_000
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    return folder / file.name.removesuffix(".tar.gz")


def test_it_has_what_builds_the_wheel(tree: Path):
    for name in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "hlograph/py.typed"):
        assert (tree / name).read_bytes() == (ROOT / name).read_bytes()
    native = {file.relative_to(ROOT) for file in (ROOT / "hlograph" / "native").rglob("*.*")}
    assert {name for name in native if not (tree / name).is_file()} == set()
    assert list(carried(tree)) == list(carried())
    assert len(list((tree / "models" / "shipped").iterdir())) == 7
    trees = "hlograph/profiling/kernel_trees.weights"
    assert (tree / trees).read_bytes() == (ROOT / trees).read_bytes()


def test_it_has_nothing_else_that_is_large(tree: Path):
    assert not [file for file in tree.rglob("*") if file.suffix in (".so", ".pyc", ".zst", ".gz")]
    assert not {"datasets", "tests", "benchmarks", "build", "dist"} & {
        f.name for f in tree.iterdir()
    }
