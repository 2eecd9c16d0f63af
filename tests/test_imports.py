"""Imports between the project's modules: no cycles, and campaigns use the library alone.

The order of the packages is a contract of import-linter (pyproject.toml), which sees packages with
an ``__init__.py`` alone and does not look for cycles of modules.
"""

from functools import cache
from pathlib import Path

import networkx as nx

from benchmarks.size import PACKAGES, cyclic_groups, import_graph, module_texts

ROOT = Path(__file__).parent.parent


@cache
def project() -> nx.DiGraph:
    """Returns the graph of the project's own modules."""
    return import_graph(module_texts(ROOT, (*PACKAGES, "tests")))


def cycles(graph: nx.DiGraph) -> list[str]:
    """Returns one cycle of each group of modules that import each other."""
    edges = [nx.find_cycle(graph.subgraph(group)) for group in cyclic_groups(graph)]
    return [" -> ".join([*(edge[0] for edge in cycle), cycle[0][0]]) for cycle in edges]


def test_no_module_imports_itself_by_way_of_others():
    assert len(project()) > 300
    assert not cycles(project()), "\n".join(cycles(project()))


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
