"""Provenance: commit, versions and flags of a result."""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hlograph.storage import provenance as installed
from hlograph.storage.provenance import flags_of, provenance


def _git(folder, *arguments: str) -> str:
    names = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", "-C", str(folder), *names, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _copy_in(folder) -> ModuleType:
    """Loads a copy of the module that lies in a folder."""
    path = shutil.copy(installed.__file__, folder / "provenance.py")
    spec = importlib.util.spec_from_file_location("copied_provenance", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_commit_of_the_checkout(tmp_path, monkeypatch):
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    for folder in (checkout, elsewhere):
        folder.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(elsewhere)
    copied = _copy_in(checkout)
    assert copied.git_commit() is None
    _git(checkout, "init")
    _git(checkout, "add", ".")
    _git(checkout, "commit", "-m", "first")
    commit = _git(checkout, "rev-parse", "HEAD")
    assert copied.git_commit() == commit
    (checkout / "untracked").write_text("new")
    assert copied.git_commit() == commit
    (checkout / "provenance.py").write_text("changed")
    assert copied.git_commit() == f"{commit}+changes"
    # Installed outside of a checkout, and started in one.
    assert _copy_in(elsewhere).git_commit() is None
    monkeypatch.chdir(checkout)
    assert _copy_in(elsewhere).git_commit() == f"{commit}+changes"


def test_provenance_is_json():
    made = json.loads(json.dumps(provenance()))
    assert made["versions"]["numpy"]
    assert {"time", "command", "commit", "python", "platform", "cpus"} < set(made)


@dataclass
class Settings:
    max_steps: int = 30
    sets: tuple[str, ...] = ("a", "b")
    out: str = "runs"


def test_flags_reproduce_settings():
    assert flags_of(Settings(), without=()) == []
    changed = Settings(max_steps=5, sets=("c", "d"), out="elsewhere")
    assert flags_of(changed, without={"out"}) == ["--max-steps 5", "--sets c d"]


def test_the_command_can_be_pasted_into_a_shell():
    code = "from hlograph.storage.provenance import provenance; print(provenance()['command'])"
    arguments = ["-c", code, "--programs", "mcmc/*", "two words"]
    found = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    assert shlex.split(found.stdout) == ["python", *arguments]


def test_paths_in_the_working_directory_are_relative_to_it(tmp_path):
    code = "from hlograph.storage.provenance import provenance; print(provenance()['command'])"
    here, other = tmp_path / "here", tmp_path / "elsewhere" / tmp_path.relative_to("/") / "here"
    here.mkdir()
    arguments = ["-c", code, "--out", f"{here}/run", f"--start={here}/a.pt", f"{other}/run"]
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(installed.__file__).parents[2])}
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=here, env=environment
    )
    expected = ["python", *arguments[:3], "run", "--start=a.pt", f"{other}/run"]
    assert shlex.split(found.stdout) == expected
