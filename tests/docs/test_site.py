"""The site has every page and every public name, and what is generated is current."""

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests import command_line_options
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"


def contents(page: Path) -> set[Path]:
    """Returns the pages that the contents of a page name."""
    found: set[Path] = set()
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    for line in "".join(blocks).splitlines():
        if line and not line.startswith(":"):
            name = re.sub(r"^.*<(.+)>$", r"\1", line)
            folder, _, pattern = name.rpartition("/")
            found |= {path.resolve() for path in (page.parent / folder).glob(f"{pattern}.md")}
    return found


def below(page: Path) -> set[Path]:
    """Returns a page and all pages that its contents lead to."""
    found: set[Path] = set()
    new = {page}
    while new:
        found |= new
        new = {other for one in new for other in contents(one)} - found
    return found


def test_contents_have_every_page():
    pages = {path.resolve() for path in DOCS.rglob("*.md")}
    pages |= {ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"}
    assert pages - below(DOCS / "index.md") == set()


@pytest.mark.parametrize("package", ["hlograph", "envs"])
def test_reference_has_every_public_name(package: str):
    text = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    described = set(re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)$", text, re.MULTILINE))
    module = importlib.import_module(package)
    missing = [
        name
        for name in module.__all__
        # By its name, or with all of the module that defines it.
        if not {name, f"{package}.{name}", getattr(getattr(module, name), "__module__", "")}
        & described
    ]
    assert missing == [name for name in missing if name.startswith("__")]


def test_page_of_options_is_what_the_commands_print():
    """Mended by ``python -m tests.command_line_options --write``."""
    assert command_line_options.PAGE.read_text(encoding="utf-8") == command_line_options.page()


def test_glossary_is_in_alphabetical_order_and_has_the_words_that_pages_ask_for():
    terms = re.findall(r"^\*\*(.+)\*\*$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    pages = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    asked = {" ".join(term.split()) for term in re.findall(r"\{term\}`([^`<]+)`", pages)}
    assert asked - set(terms) == set()


@pytest.fixture(scope="module")
def extension() -> ModuleType:
    path = DOCS / "extensions" / "api_reference.py"
    spec = importlib.util.spec_from_file_location("api_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        (
            "module",
            ["Text.", "", "    a = 1", "", "    b = 2", "", "More."],
            [
                *("Text.", "", ".. code-block:: python", "", "    a = 1", "", "    b = 2", ""),
                "More.",
            ],
        ),
        ("module", ["Text."], ["Text."]),
        ("class", ["Text.", "", "    quoted"], ["Text.", "", "    quoted"]),
        ("class", ["## Action space", "It is."], [".. rubric:: Action space", "", "It is."]),
    ],
)
def test_docstrings_become_what_sphinx_reads(extension, what, before, after):
    lines = list(before)
    extension.mark_blocks(None, what, "", None, None, lines)
    assert lines == after
