"""Counts lines, imports, doubled names and import cycles of the project, beside their limits.

    python -m benchmarks.size                 # a table in Markdown
    python -m benchmarks.size --list cycles   # what a row of it counts, one item a line

Rows, by their names for ``--list``: lines of Python (``python``, ``code``, ``tests``, ``datasets``)
and of C++ (``native``), modules that two entry points import (``train_gnn``, ``optimize``), public
class names that stand for several classes (``names``), modules that import each other (``cycles``),
and modules of a few lines (``small``).
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import networkx as nx
import tyro

from benchmarks.tables import markdown_table

ROOT = Path(__file__).parent.parent
LIBRARIES = ("hlograph", "envs", "models", "experiments")
PACKAGES = (*LIBRARIES, "benchmarks")
SMALL = 40
"""Most lines of a small module."""

_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)
"""Nodes that statements, and so imports, may be in."""

RowName = Literal[
    "python",
    "code",
    "tests",
    "datasets",
    "native",
    "train_gnn",
    "optimize",
    "names",
    "cycles",
    "small",
]


def module_texts(root: Path, packages: Iterable[str]) -> dict[str, str]:
    """Returns the source of each Python module in packages of a tree, by its dotted name."""
    files = [file for package in packages for file in sorted((root / package).rglob("*.py"))]
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): (
            file.read_text(encoding="utf-8")
        )
        for file in files
        if "node_modules" not in file.parts
    }


def imported_names(tree: ast.AST, *, types: bool = False) -> Iterator[str]:
    """Yields the dotted names that a module imports, at its top and inside functions.

    ``from a import b`` yields ``a.b``.

    Args:
        tree: The module.
        types: True to yield also what ``if TYPE_CHECKING:`` guards, which is never imported.

    Raises:
        ValueError: An import is relative.
    """
    children: Iterable[ast.AST] = ast.iter_child_nodes(tree)
    if not types and isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        children = tree.orelse
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        if tree.level:
            raise ValueError(f"expected absolute imports, got {ast.unparse(tree)}")
        yield from (f"{tree.module}.{alias.name}" for alias in tree.names)
    for child in children:
        if isinstance(child, _HOLDERS):
            yield from imported_names(child, types=types)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yields all statements within a node, and what holds them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HOLDERS):
            yield child
            yield from _statements(child)


def import_graph(texts: dict[str, str], *, types: bool = False) -> nx.DiGraph:
    """Returns the graph of who imports whom, of modules given by their dotted names.

    Args:
        texts: Source of each module.
        types: True to include imports for type checkers alone.

    Raises:
        ValueError: An import is relative.
        SyntaxError: A module is not Python.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(texts)
    for module, text in texts.items():
        for name in imported_names(ast.parse(text), types=types):
            # A name that is no module is defined in the module that it is imported from.
            imported = name if name in texts else name.rpartition(".")[0]
            if imported in texts and imported != module:
                graph.add_edge(module, imported)
    return graph


def cyclic_groups(graph: nx.DiGraph) -> list[list[str]]:
    """Returns the groups of modules that import each other, each in alphabetic order."""
    groups = (sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1)
    return sorted(groups)


def code_lines(text: str) -> int:
    """Returns the number of lines of a module without docstrings, comments and blank lines."""
    lines = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    for node in _statements(ast.parse(text)):
        # A string that is a statement documents the module, class, function or name before it.
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


class SourceTree:
    """Counts in a source tree.

    Every method returns what it counts: items with their weights. A figure is the sum of weights.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def texts(self) -> dict[str, str]:
        """Source of each module of `PACKAGES`, by its dotted name."""
        return module_texts(self._root, PACKAGES)

    def lines(self, *packages: str) -> dict[str, int]:
        """Returns the lines of each module of packages, `PACKAGES` if none is named."""
        texts = module_texts(self._root, packages) if packages else self.texts
        return {module: len(text.splitlines()) for module, text in texts.items()}

    def code(self) -> dict[str, int]:
        """Returns the lines of each module without docstrings, comments and blank lines."""
        return {module: code_lines(text) for module, text in self.texts.items()}

    def native(self) -> dict[str, int]:
        """Returns the lines of each C++ file."""
        files = sorted((self._root / "hlograph" / "native").rglob("*"))
        return {
            file.relative_to(self._root).as_posix(): len(file.read_bytes().splitlines())
            for file in files
            if file.suffix in (".cc", ".h")
        }

    @cached_property
    def imports(self) -> nx.DiGraph:
        """Imports at run time, also those of each package that a module is in."""
        imports = import_graph(self.texts)
        for module in self.texts:
            package = module.rpartition(".")[0]
            if package in imports:
                imports.add_edge(module, package)
        return imports

    def reached(self, start: str) -> dict[str, int]:
        """Returns the modules that importing a module and calling all of it imports, itself too.

        Imports within functions count, those for type checkers do not. Python also runs the
        ``__init__`` of each package that a module is in.
        """
        return dict.fromkeys(sorted({start} | nx.descendants(self.imports, start)), 1)

    def optimize(self) -> dict[str, int]:
        """Returns the modules that the module of ``hlograph.optimize`` imports."""
        front = imported_names(ast.parse(self.texts["hlograph"]), types=True)
        names = [name for name in front if name.endswith(".optimize")]
        return self.reached(names[0].rpartition(".")[0]) if names else {}

    def names(self) -> dict[str, int]:
        """Returns the public class names that stand for several classes, with their modules."""
        modules = defaultdict(list)
        for module in sorted(self.texts):
            if module.split(".")[0] in LIBRARIES:
                for node in _statements(ast.parse(self.texts[module])):
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        modules[node.name].append(module)
        return {f"{name}: {', '.join(of)}": 1 for name, of in sorted(modules.items()) if of[1:]}

    def cycles(self) -> dict[str, int]:
        """Returns the modules that import each other, for type checkers or not.

        A top-level package is a front that names what is in it, and is left out.
        """
        imports = import_graph(self.texts, types=True)
        imports.remove_nodes_from([module for module in imports if "." not in module])
        return {module: 1 for group in cyclic_groups(imports) for module in group}

    def small(self) -> dict[str, int]:
        """Returns the modules of at most `SMALL` lines, without the ``__init__`` of packages."""
        inits = {module.rpartition(".")[0] for module in self.texts}
        return {
            module: 1
            for module, lines in self.lines(*LIBRARIES).items()
            if lines <= SMALL and module not in inits
        }


@dataclass(frozen=True)
class Row:
    """Describes a row of the table."""

    title: str
    items: Callable[[SourceTree], dict[str, int]]
    aim: int | None = None
    """Most that the figure is meant to be."""


ROWS: dict[RowName, Row] = {
    "python": Row("lines of Python, no datasets, no tests", SourceTree.lines, 57_000),
    "code": Row("the same without docstrings, comments, blank lines", SourceTree.code),
    "tests": Row("lines of tests", lambda tree: tree.lines("tests"), 41_000),
    "datasets": Row("lines of datasets", lambda tree: tree.lines("datasets")),
    "native": Row("lines of C++", SourceTree.native),
    "train_gnn": Row(
        "modules that `experiments/train_gnn.py` imports",
        lambda tree: tree.reached("experiments.train_gnn"),
        160,
    ),
    "optimize": Row("modules that `hlograph.optimize` imports", SourceTree.optimize),
    "names": Row("public class names used twice", SourceTree.names, 0),
    "cycles": Row("modules in import cycles, types included", SourceTree.cycles, 9),
    "small": Row(f"modules of at most {SMALL} lines", SourceTree.small, 20),
}


def table(root: Path) -> str:
    """Returns the figures of a source tree as a table in Markdown."""
    tree = SourceTree(root)
    rows = [
        [
            row.title,
            f"`{name}`",
            f"{sum(row.items(tree).values()):,}",
            "" if row.aim is None else f"{row.aim:,}",
        ]
        for name, row in ROWS.items()
    ]
    return markdown_table(["figure", "name", "now", "at most"], rows)


def listing(root: Path, name: RowName) -> str:
    """Returns what a row counts, one item a line; of lines the longest file first."""
    items = ROWS[name].items(SourceTree(root))
    if set(items.values()) <= {1}:
        return "\n".join(items)
    ordered = sorted(items.items(), key=lambda item: -item[1])
    return "\n".join(f"{weight:6} {item}" for item, weight in ordered)


@dataclass(frozen=True)
class SizeConfig:
    """Settings of the program."""

    row: Annotated[RowName | None, tyro.conf.arg(name="list")] = None
    """Name of the row to list; None prints the table."""


def main() -> int:
    """Prints the table, or what a row of it counts."""
    config = tyro.cli(SizeConfig, prog="python -m benchmarks.size", description=__doc__)
    print(table(ROOT) if config.row is None else listing(ROOT, config.row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
