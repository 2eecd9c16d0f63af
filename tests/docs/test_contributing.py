"""The paths through the code that CONTRIBUTING shows are those that the imports take."""

import re

import networkx as nx
import pytest

from tests.docs.pages import ROOT
from tests.test_imports import project

_SECTIONS = re.findall(
    r"^## From (.*?)\n(.*?)(?=^## )", (ROOT / "CONTRIBUTING.md").read_text() + "## ", re.M | re.S
)
PATHS = {title: re.findall(r"^\d+\. `([^`]+)`", text, re.M) for title, text in _SECTIONS}

each = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)


def test_the_paths_begin_and_end_where_they_say():
    training, optimizing = PATHS.values()
    assert training[0] == "experiments/train_gnn.py"
    assert training[-1].startswith("hlograph/native/passes/")
    assert optimizing[0] == "hlograph/optimization/of_function.py"
    assert optimizing[-1] == "hlograph/optimization/function.py"


@each
def test_ten_files_lead_from_the_beginning_to_the_end(path):
    assert 5 <= len(path) <= 10
    assert [name for name in path if not (ROOT / name).is_file()] == []


@each
def test_each_file_is_reached_by_imports(path):
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in path
        if name.endswith(".py")
    ]
    imports = nx.DiGraph(project())
    # Workers are processes: what they run is named by the tasks that a program sends them.
    assert [m for m in modules if not nx.has_path(imports, modules[0], m)] == []
