"""Fixtures of the tests of the corpus."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "datasets"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script of the corpus by name; they find each other by their folder."""
    monkeypatch.syspath_prepend(str(CORPUS))
    return importlib.import_module
