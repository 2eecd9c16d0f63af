"""Tests the counts of a source tree on a small tree whose figures are known."""

from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks.size import SMALL, SourceTree, code_lines, import_graph, listing, main, table

TREE = {
    "hlograph/__init__.py": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from hlograph.tune.search import optimize as optimize
    """,
    "hlograph/graph.py": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from hlograph.dot import Dot
        class Graph: ...
        class _Node: ...
    """,
    "hlograph/dot.py": "from hlograph.graph import Graph\nclass Dot:\n    class Graph: ...\n",
    "hlograph/tune/__init__.py": "from hlograph.names import NAMES\n",
    "hlograph/tune/search.py": "def optimize():\n    from hlograph.dot import Dot\n",
    "hlograph/names.py": "import hlograph\nNAMES = ()\n" + "# names\n" * SMALL,
    "hlograph/native/a.cc": "int a;\nint b;\n",
    "hlograph/native/README": "no code\n",
    "experiments/train_gnn.py": "import envs.env\n",
    "envs/env.py": "class Graph: ...\nclass _Node: ...\n",
    "benchmarks/of_graphs.py": "class Dot: ...\n",
    "tests/test_a.py": "assert 1\n\n\n",
    "datasets/build.py": "pass\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return tmp_path


def test_a_tree_has_the_figures_counted_by_hand(root: Path):
    rows = [line.strip("| ").split(" | ") for line in table(root).splitlines()[2:]]
    assert {row[1].strip("`"): int(row[2]) for row in rows} == {
        "python": 3 + 5 + 3 + 1 + 2 + (2 + SMALL) + 1 + 2 + 1,
        "code": 3 + 5 + 3 + 1 + 2 + 2 + 1 + 2 + 1,
        "tests": 3,
        "datasets": 1,
        "native": 2,
        "train_gnn": 2,
        "optimize": 6,
        "names": 1,
        "cycles": 2,
        "small": 5,
    }


def test_what_a_row_counts_can_be_listed(root: Path):
    assert listing(root, "names") == "Graph: envs.env, hlograph.dot, hlograph.graph"
    assert listing(root, "cycles").split() == ["hlograph.dot", "hlograph.graph"]
    # Of the package hlograph.tune its __init__ is run, and imports the names.
    assert "hlograph.names" in listing(root, "optimize").split()
    assert listing(root, "python").splitlines()[0].split() == [str(2 + SMALL), "hlograph.names"]


def test_imports_within_functions_are_reached_and_those_for_types_are_not(root: Path):
    assert SourceTree(root).reached("hlograph.graph") == {"hlograph": 1, "hlograph.graph": 1}
    assert "hlograph.dot" in SourceTree(root).reached("hlograph.tune.search")


def test_docstrings_comments_and_blank_lines_are_no_code():
    text = '"""Module.\n\nMore.\n"""\n# A comment.\nx = """a\nb"""  # two lines\n"""Of x."""\n\n'
    assert code_lines(text) == 2


def test_relative_imports_are_refused():
    with pytest.raises(ValueError, match="absolute imports"):
        import_graph({"a.b": "from . import c"})


def test_the_program_lists_a_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setattr("sys.argv", ["size", "--list", "train_gnn"])
    assert main() == 0
    assert "experiments.train_gnn" in capsys.readouterr().out.split()
