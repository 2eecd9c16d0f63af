"""Code blocks and commands of the documentation: Markdown pages and docstrings of modules.

A page's fenced blocks name their language: ``python`` is run, ``sh`` holds commands, anything else
is left alone. The cells of notebooks, ``{code-cell} python3``, run when the site is built. Indented
blocks hold commands, and so do code spans that begin like one.
"""

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent.parent
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
PAST = "negative-results.md"
"""Page of programs that are not in the tree any more."""
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "datasets" / "README.md",
        ROOT / "datasets" / "decision_times" / "README.md",
        ROOT / "datasets" / "kernel_times" / "README.md",
        ROOT / "datasets" / "plan_times" / "README.md",
        *(page for page in (ROOT / "docs").glob("*.md") if page.name != PAST),
        *(ROOT / "docs" / "api").glob("*.md"),
        *(ROOT / "docs" / "notebooks").glob("*.md"),
    ]
)
"""Pages whose commands and examples are tested. Those of docs/results, and `PAST`, hold commands
of past versions, with the commit of each."""
LINKED = [*PAGES, ROOT / "docs" / PAST, *sorted((ROOT / "docs" / "results").glob("*.md"))]
"""Pages whose links are tested."""
FOLDERS = (
    "hlograph",
    "envs",
    "models",
    "experiments",
    "benchmarks",
    "tests",
    "datasets",
    "distribution",
)
FIRST_WORDS = ("python", "make", "pip", "pytest", "ray", "tensorboard", ".ci/run", "hlograph")
MARKDOWN = MarkdownIt().enable("table")


@dataclass(frozen=True)
class Command:
    """Command line that a reader is told to type.

    Attributes:
        text: The line, continued lines joined.
        places: Files that it stands in, relative to the project's folder.
    """

    text: str
    places: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Words as a shell splits them, without variables before and a comment behind them."""
        words = shlex.split(self.text, comments=True)
        return list(dropwhile(_ASSIGNMENT.match, words))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Example:
    """Python blocks of a page, which run one after another in one namespace.

    Attributes:
        page: The page.
        blocks: First line and code of each.
    """

    page: Path
    blocks: tuple[tuple[int, str], ...]


@cache
def commands() -> list[Command]:
    """Returns all distinct commands of the documentation, in alphabetical order."""
    places: dict[str, set[str]] = {}
    for page in PAGES:
        for line in commands_of_markdown(page.read_text(encoding="utf-8")):
            places.setdefault(line, set()).add(str(page.relative_to(ROOT)))
    for file in _sources():
        for line in commands_of_docstring(_docstring(file)):
            places.setdefault(line, set()).add(str(file.relative_to(ROOT)))
    return [Command(line, tuple(sorted(found))) for line, found in sorted(places.items())]


def commands_of_markdown(text: str) -> Iterator[str]:
    """Yields the commands of a page: of its ``sh`` and indented blocks, and of its code spans."""
    for token in _tokens(text):
        if token.type == "code_block" or (token.type == "fence" and token.info == "sh"):
            yield from _lines(token.content)
        elif token.type == "fence" and not token.info:
            raise ValueError(
                f"name the language of this block (python, sh, text):\n{token.content}"
            )
        elif token.type == "code_inline" and _is_command(token.content):
            yield token.content


def commands_of_docstring(docstring: str) -> Iterator[str]:
    """Yields the commands of a docstring: lines and code spans that begin like one."""
    for line in _lines(docstring):
        if re.match(r"python (-m \w|\w\S*\.py)", line):
            yield line
    # Most docstrings have no code, and parsing takes a while.
    tokens = _tokens(docstring) if "`" in docstring else ()
    spans = (token.content for token in tokens if token.type == "code_inline")
    yield from filter(_is_command, spans)


def examples(language: str = "python") -> list[Example]:
    """Returns the Python blocks of each page that has some.

    Args:
        language: What their fences say: ``python``, or ``{code-cell} python3`` for notebooks.
    """
    found = []
    for page in PAGES:
        tokens = _tokens(page.read_text(encoding="utf-8"))
        blocks = tuple(
            (token.map[0] + 2, token.content)
            for token in tokens
            if token.type == "fence" and token.info == language and token.map
        )
        if blocks:
            found.append(Example(page, blocks))
    return found


def code_spans(page: Path) -> list[str]:
    """Returns the code spans of a page."""
    tokens = _tokens(page.read_text(encoding="utf-8"))
    return [token.content for token in tokens if token.type == "code_inline"]


def links(page: Path) -> list[str]:
    """Returns the targets of a page's links and pictures."""
    tokens = _tokens(page.read_text(encoding="utf-8"))
    targets = (token.attrGet("href") or token.attrGet("src") for token in tokens)
    return [str(target) for target in targets if target]


def headings(page: Path) -> list[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines]


def _sources() -> Iterator[Path]:
    """Yields the files whose docstrings people read: all but those of tests."""
    for folder in FOLDERS:
        files = sorted((ROOT / folder).rglob("*.py"))
        yield from (file for file in files if not file.name.startswith("test_"))


@cache
def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for token in MARKDOWN.parse(text):
        found += (token, *(token.children or ()))
    return found


def _lines(text: str) -> Iterator[str]:
    """Yields lines without their indentation, those that end in a backslash joined."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.strip().startswith("#"):
            yield " ".join(re.split(r"\s#\s", line)[0].split())


def _is_command(text: str) -> bool:
    words = text.split()
    return len(words) > 1 and words[0] in FIRST_WORDS and words[1][0] not in "=`.,:"


def _docstring(file: Path) -> str:
    # Most of a file comes after its docstring, and need not be parsed.
    head = re.match(r'(?:\s|#.*\n)*"""(?s:.*?)"""', file.read_text(encoding="utf-8"))
    return inspect.cleandoc(ast.get_docstring(ast.parse(head[0])) or "") if head else ""
