"""Copies the modules of ``envs``, ``models`` and ``experiments`` that the wheel contains.

python distribution/carried.py FOLDER

Names as generic as these must not be top-level packages of an installation, so the wheel has them
in the package ``hlograph``: ``envs.tuning`` is ``hlograph.envs.tuning`` there. The copy's imports,
and its texts that name modules, are changed accordingly. CMakeLists.txt runs this for each wheel.
In a checkout, ``hlograph/_checkout.py`` finds the same names.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("envs", "models", "experiments")
WHOLE = ("envs", "models")
"""Packages that the wheel has all of."""
NEEDED = (
    "experiments.play",
    "experiments.policies.checkpoint",
    "experiments.policies.explored",
    "experiments.search.tuning.deciding",
    "experiments.search.tuning.libraries",
)
"""Modules of ``experiments`` that the wheel has, with all that they import."""
POLICIES = "models/shipped/*-seed0.*"
"""Files of the trained networks that the wheel has: one of each kind."""

# Not of a command: a program that python -m runs is one of a checkout.
_NAME = re.compile(rf"(?<!-m )(?<![\w./-])(?:{'|'.join(PACKAGES)})(?:\.\w+)+")


_ENTRY_POINT = re.compile(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)+):\w+")


class _Edit(NamedTuple):
    """Text to put in the place of another, on one line."""

    line: int
    column: int
    old: str
    new: str


def carried(root: Path = ROOT) -> dict[str, Path]:
    """Returns the files of the modules that the wheel carries, by their names in a checkout."""
    files = {
        _dotted(file.relative_to(root)): file
        for package in PACKAGES
        for file in sorted((root / package).rglob("*.py"))
    }
    found: dict[str, Path] = {}
    waiting = [*NEEDED, *(name for name in files if name.partition(".")[0] in WHOLE)]
    while waiting:
        name = waiting.pop()
        if name in files and name not in found:
            found[name] = files[name]
            tree = ast.parse(files[name].read_text(encoding="utf-8"))
            waiting += [name.rpartition(".")[0], *_imported(tree)]
    return dict(sorted(found.items()))


def renamed(source: str, modules: Mapping[str, Path]) -> str:
    """Returns the source of a module with its imports from the package ``hlograph``.

    Args:
        source: The source.
        modules: What the wheel carries, as of ``carried``. Texts that name other modules, such as
            commands of a checkout, stay as they are.

    Raises:
        ValueError: It has an import of a form that cannot be renamed.
    """
    lines = source.splitlines(keepends=True)
    edits = {*_edits_of_imports(source), *_edits_of_texts(source, modules)}
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        end = edit.column + len(edit.old)
        if line[edit.column : end] != edit.old:
            raise ValueError(f"expected {edit.old!r} in line {edit.line}: {line!r}")
        lines[edit.line - 1] = line[: edit.column] + edit.new + line[end:]
    return "".join(lines)


def copy(folder: Path, root: Path = ROOT) -> None:
    """Writes the modules and the files of policies to a folder, in the place of what it had."""
    for package in PACKAGES:
        shutil.rmtree(folder / package, ignore_errors=True)
    modules = carried(root)
    for name, file in modules.items():
        target = folder / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            source = renamed(file.read_text(encoding="utf-8"), modules)
        except ValueError as error:
            raise ValueError(f"{name} cannot be renamed: {error}") from error
        target.write_text(source, encoding="utf-8")
    for file in sorted(root.glob(POLICIES)):
        target = folder / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yields the dotted names that a module imports, wherever and for whomever.

    An entry point, a text such as ``"envs.tuning:TuningEnv"``, is imported where it is used.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (entry := _ENTRY_POINT.fullmatch(str(node.value))):
            yield entry[1]
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _edits_of_imports(source: str) -> Iterator[_Edit]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            old = f"from {node.module} "
            yield _Edit(node.lineno, node.col_offset, old, f"from hlograph.{node.module} ")
        elif isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            raise ValueError(f"write `from ... import ...` for: {ast.unparse(node)}")


def _edits_of_texts(source: str, modules: Mapping[str, Path]) -> Iterator[_Edit]:
    """Yields the edits of texts and comments that name a module, or something in one."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (tokenize.STRING, tokenize.COMMENT):
            continue
        for number, line in enumerate(token.string.splitlines()):
            first = token.start[1] if number == 0 else 0
            for match in _NAME.finditer(line):
                name = match[0]
                if _is_carried(name, modules):
                    place = token.start[0] + number, first + match.start()
                    yield _Edit(*place, name, f"hlograph.{name}")


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _is_carried(name: str, modules: Mapping[str, Path]) -> bool:
    return name in modules or name.rpartition(".")[0] in modules


if __name__ == "__main__":
    copy(Path(sys.argv[1]))
