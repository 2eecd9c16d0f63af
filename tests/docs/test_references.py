"""Files, names and links that the documentation mentions exist."""

import importlib
import re
from pathlib import Path

import pytest

from tests.docs.commands import is_module
from tests.docs.pages import FOLDERS, LINKED, PAGES, ROOT, code_spans, headings, links

FILE = re.compile(rf"({'|'.join(FOLDERS)}|docs)/[\w./-]+\.\w+")
NAME = re.compile(rf"({'|'.join(FOLDERS)})(\.\w+)+")


def exists(name: str) -> bool:
    """Returns True if a dotted name is a module or an attribute of one."""
    parts = name.split(".")
    module = next(
        (end for end in range(len(parts), 0, -1) if is_module(".".join(parts[:end]))), None
    )
    if module is None or module == len(parts):
        return module is not None
    found: object = importlib.import_module(".".join(parts[:module]))
    for part in parts[module:]:
        fields = getattr(found, "__annotations__", {})  # of instances, such as dataclasses'
        if not hasattr(found, part) and part not in fields:
            return False
        found = getattr(found, part, None)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_names_exist(page: Path):
    spans = set(code_spans(page))
    files = {span for span in spans if FILE.fullmatch(span) and not (ROOT / span).exists()}
    names = {span for span in spans if NAME.fullmatch(span) and not FILE.fullmatch(span)}
    names = {name for name in names if not (ROOT / name).exists() and not exists(name)}
    assert (files, names) == (set(), set())


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    dead = []
    for link in links(page):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_begins_a_list(page: Path):
    """A line that begins with ``1.``, after a line of text, is an entry of a list to Markdown."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^(?![-\s>|\d])\S.*\n1\. .*$", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("hlograph.Module.run", True),
        ("hlograph.passes.exact", True),
        ("hlograph.transforms.registry.Pass", True),
        ("hlograph.registry", False),
        ("experiments.runner.TaskRunner", False),
    ],
)
def test_names_are_looked_up(name: str, there: bool):
    assert exists(name) == there
