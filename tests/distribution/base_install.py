"""An installation of hlograph with chosen extras, made of links to the packages of this one.

It takes a second, where pip takes minutes. What the chosen extras do not require is not there, so
an import that ``pyproject.toml`` does not account for fails.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from distribution.carried import ROOT, copy

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def install(folder: Path, *extras: str) -> Path:
    """Fills an empty folder with hlograph, as in its wheel, and with what it requires.

    Args:
        folder: The folder, which stands for site-packages.
        *extras: Names of extras of hlograph.

    Returns:
        The folder.
    """
    optional = _PROJECT["optional-dependencies"]
    wanted = _PROJECT["dependencies"] + [text for extra in extras for text in optional[extra]]
    for name in _required(wanted):
        found = distribution(name)
        tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            source = Path(str(found.locate_file(top)))
            if source.exists() and not (folder / top).exists():
                (folder / top).symlink_to(source)
    library = folder / "hlograph"
    library.mkdir()
    extensions = [
        importlib.util.find_spec(f"hlograph.{name}")
        for name in ("_xla", "_graphs", "_custom_calls")
    ]
    files = [Path(spec.origin) for spec in extensions if spec is not None and spec.origin]
    for file in {file.name: file for file in (*(ROOT / "hlograph").iterdir(), *files)}.values():
        (library / file.name).symlink_to(file)
    copy(library)
    return folder


def run(folder: Path, program: str, cache: Path) -> str:
    """Runs a Python program in an installation; returns what it prints.

    Args:
        folder: The installation; nothing else is on the path.
        program: The program's text.
        cache: Folder of hlograph's cache.
    """
    beginning = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    done = subprocess.run(
        [sys.executable, "-ISc", beginning + program],
        capture_output=True,
        text=True,
        env={**os.environ, "HLOGRAPH_CACHE": str(cache), "JAX_PLATFORMS": "cpu"},
        cwd=cache,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _required(texts: list[str]) -> set[str]:
    """Returns the names of the distributions that requirements ask for, and of what these need."""
    required: set[str] = set()
    waiting = [Requirement(text) for text in texts]
    while waiting:
        requirement = waiting.pop()
        if requirement.name in required:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            required.add(requirement.name)
            waiting += map(Requirement, distribution(requirement.name).requires or ())
    return required
