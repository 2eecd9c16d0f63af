"""Tests that names of the wheel are of the modules beside hlograph in a checkout."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import envs
import experiments.policies.config
import models

ROOT = Path(__file__).parents[2]


def test_both_names_are_of_one_module():
    name = "experiments.policies.config"
    assert importlib.import_module(f"hlograph.{name}") is experiments.policies.config
    assert importlib.import_module("hlograph.envs") is envs
    assert importlib.import_module("hlograph.models") is models
    assert sys.modules["hlograph.experiments.policies"] is experiments.policies
    assert envs.__name__ == envs.__spec__.name == "envs"


@pytest.mark.parametrize("name", ["envs.nothing", "datasets", "benchmarks", "tests"])
def test_other_names_are_not_found(name: str):
    with pytest.raises(ModuleNotFoundError, match=rf"No module named 'hlograph\.{name}'"):
        importlib.import_module(f"hlograph.{name}")


def test_packages_of_others_are_not_taken(tmp_path: Path):
    """Names as generic as models are those of other packages, too."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").touch()
    program = "import sys; sys.path[:0] = sys.argv[1:]; import models, hlograph.models"
    command = [sys.executable, "-ISc", program, str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "No module named 'hlograph.models'" in done.stderr
