"""Imports between the project's modules: no cycles, and campaigns use the library alone.

The order of the packages is a contract of import-linter (pyproject.toml), which sees packages with
an ``__init__.py`` alone and does not look for cycles of modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parent.parent
PACKAGES = ("hlograph", "envs", "models", "experiments", "benchmarks", "tests")


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yields the dotted names that a module imports, at its top and inside functions.

    `from a import b` yields ``a.b``. What ``if TYPE_CHECKING:`` guards is never imported, and is
    left out.
    """
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        children: list[ast.AST] = [*tree.orelse]
    else:
        children = [*ast.iter_child_nodes(tree)]
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        assert tree.level == 0, f"relative import: {ast.unparse(tree)}"
        yield from (f"{tree.module}.{alias.name}" for alias in tree.names)
    for child in children:
        yield from imported_names(child)


def import_graph(sources: dict[str, str]) -> nx.DiGraph:
    """Returns the graph of who imports whom, of modules given by their dotted names."""
    graph = nx.DiGraph()
    graph.add_nodes_from(sources)
    for module, source in sources.items():
        for name in imported_names(ast.parse(source)):
            # A name that is no module is defined in the one it is imported from.
            imported = name if name in sources else name.rpartition(".")[0]
            if imported in sources and imported != module:
                graph.add_edge(module, imported)
    return graph


@cache
def project() -> nx.DiGraph:
    """Returns the graph of the project's own modules."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    return import_graph({_dotted(file): file.read_text(encoding="utf-8") for file in files})


def _dotted(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def cycles(graph: nx.DiGraph) -> list[str]:
    """Returns one cycle of each group of modules that import each other."""
    groups = (group for group in nx.strongly_connected_components(graph) if len(group) > 1)
    found = [[edge[0] for edge in nx.find_cycle(graph.subgraph(group))] for group in groups]
    return sorted(" -> ".join([*cycle, cycle[0]]) for cycle in found)


def test_no_module_imports_itself_by_way_of_others():
    assert len(project()) > 300
    found = cycles(project())
    assert not found, "\n".join(found)


def test_campaigns_use_the_library_and_the_catalogue_of_rules_alone():
    reached = {
        f"{campaign} -> {imported}"
        for campaign, imported in project().edges
        if campaign.startswith("tests.campaigns.")
        and imported.startswith(("experiments", "models", "envs", "benchmarks"))
        and imported != "benchmarks.speed_rules.catalogue"
    }
    assert not reached, "\n".join(sorted(reached))


def test_cycles_are_found_wherever_an_import_stands():
    sources = {
        "a": "def f():\n    from b.c import name",
        "b": "",
        "b.c": "import d",
        "d": "from a import f",
        "e": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import f",
        "f": "import e",
    }
    (cycle,) = cycles(import_graph(sources))
    assert sorted(cycle.split(" -> ")[1:]) == ["a", "b.c", "d"]
