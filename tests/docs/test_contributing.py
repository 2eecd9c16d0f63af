"""The path through the code that CONTRIBUTING shows is one that the imports take."""

from __future__ import annotations

import re

import networkx as nx

from tests.docs.pages import ROOT
from tests.test_imports import project

PATH = re.findall(r"^\d+\. `([^`]+)`", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)


def test_ten_files_lead_from_the_program_to_the_pass():
    assert PATH[0] == "experiments/train_gnn.py"
    assert PATH[-1].startswith("hlograph/native/passes/")
    assert len(PATH) <= 10
    assert [name for name in PATH if not (ROOT / name).is_file()] == []


def test_each_file_is_reached_by_imports():
    modules = [name.removesuffix(".py").replace("/", ".") for name in PATH if name.endswith(".py")]
    imports = nx.DiGraph(project())
    # Workers are processes: what they run is named by the tasks that a program sends them.
    assert [m for m in modules if not nx.has_path(imports, modules[0], m)] == []
