"""Sites: pages and their data, as files that open from disk or as the answers of a server."""

from __future__ import annotations

import json
import math
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hlograph import __version__
from hlograph.errors import HloError

Kind = Literal["graph", "steps", "policy", "speed", "results"]
"""Kind of a page, which says what view shows it."""

FileContent = Any
"""Content of a data file: what JSON can hold, or a function without arguments that returns it."""

Query = Callable[[Any], Any]
"""Answers a question of a page, both what JSON can hold. Its ``HloError`` is shown to the user."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        kind: Which view shows it.
        name: Its name in addresses: small letters, digits and ``-``; unique in the site.
        title: Its title on its tab.
        data: What the view needs at once, small, in what JSON can hold. Large data is in data
            files, whose names are in here.
    """

    kind: Kind
    name: str
    title: str
    data: Any

    def __post_init__(self) -> None:
        check_name("page", self.name)


@dataclass(frozen=True)
class Contents:
    """Holds what a site shows.

    Attributes:
        title: Title of the site.
        pages: The pages, in the order of their tabs.
        files: Data files by name. One that is a function is made when it is first asked for.
        queries: Answers of the Python process, by name, for a site that is served.
    """

    title: str
    pages: tuple[Page, ...]
    files: Mapping[str, FileContent] = field(default_factory=dict)
    queries: Mapping[str, Query] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [page.name for page in self.pages]
        for name in {name for name in names if names.count(name) > 1}:
            raise HloError(f"expected pages of different names, got several called {name!r}")
        for name in self.files:
            check_name("data file", name)


def check_name(kind: str, name: str) -> None:
    """Checks that a name can be part of an address and of a file's name.

    Raises:
        HloError: It cannot.
    """
    if not _NAME.fullmatch(name):
        raise HloError(
            f"expected the name of a {kind} in small letters, digits and '-', got {name!r}"
        )


SHIPPED = ("index.html", "explorer.css", "explorer.js", "LICENSES.txt")
"""Files of every site, which come with the package."""

SITE = "data/site.js"
"""File with the pages; a folder that has it is a site."""

_BUNDLE = Path(__file__).with_name("site")


class Site:
    """The files of a site, by their paths in its folder."""

    def __init__(self, contents: Contents) -> None:
        """Takes what to show.

        Args:
            contents: The pages and their data.
        """
        self.contents = contents
        self._made: dict[str, bytes] = {}

    def paths(self, *, live: bool = False) -> tuple[str, ...]:
        """Returns the paths of all files.

        Args:
            live: True if the site is served; then files that are made on demand count as well.
        """
        names = [n for n, c in self.contents.files.items() if live or not callable(c)]
        return (*SHIPPED, SITE, *(f"data/{name}.js" for name in names))

    def read(self, path: str, *, live: bool = False) -> bytes | None:
        """Returns the content of a file; None if the site has no such file.

        Args:
            path: Path of the file.
            live: True if the site is served, and its queries are answered.
        """
        if path in SHIPPED:
            return (_BUNDLE / path).read_bytes()
        if path == SITE:
            return data_file("site", self._summary(live))
        if path not in self._made:
            name = path.removeprefix("data/").removesuffix(".js")
            if path != f"data/{name}.js" or name not in self.contents.files:
                return None
            content = self.contents.files[name]
            self._made[path] = data_file(name, content() if callable(content) else content)
        return self._made[path]

    def _summary(self, live: bool) -> dict[str, Any]:
        return {
            "title": self.contents.title,
            "version": __version__,
            "pages": [
                {"kind": p.kind, "name": p.name, "title": p.title, "data": p.data}
                for p in self.contents.pages
            ],
            "live": sorted(self.contents.queries) if live else [],
        }


def write_site(folder: Path, contents: Contents) -> tuple[Path, ...]:
    """Writes a site into a folder, which opens from disk: ``index.html``.

    The files are written to a temporary folder, which is renamed when it is complete. Data files
    that are made on demand are left out: list those that the folder shall have by their content.

    Args:
        folder: The folder. If it exists, it is empty or a site, which is replaced.
        contents: What to show.

    Returns:
        The files.

    Raises:
        HloError: The folder is something else than a site.
        OSError: A file cannot be written.
    """
    _check_free(folder)
    site = Site(contents)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        for path, content in _files(site):
            target = unfinished / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        _check_free(folder)
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return tuple(folder / path for path in site.paths())


def data_file(name: str, content: object) -> bytes:
    """Returns a data file, a script that hands its content to the page.

    The content is JSON in a string: a browser parses that faster than an object, and a page that
    was opened from disk may load scripts, but nothing else.

    Raises:
        HloError: JSON cannot hold the content.
    """
    try:
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise HloError(f"the data file {name!r} does not fit into JSON: {error}") from error
    return f"hlograph.data({_quoted(name)},{_quoted(text)});\n".encode("utf-8", "replace")


def finite(number: float) -> float | None:
    """Returns a number as JSON can hold it: None for infinities and NaN."""
    return number if math.isfinite(number) else None


def _quoted(text: str) -> str:
    """Returns text as a literal of JavaScript, in the quotes that JSON does not use."""
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    # Line ends cannot stand in a literal, and JSON escapes all but these two.
    return "'" + text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "'"


def _files(site: Site) -> Iterator[tuple[str, bytes]]:
    for path in site.paths():
        content = site.read(path)
        assert content is not None
        yield path, content


def _check_free(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise HloError(f"expected a folder for the site, and {folder} is a file")
    if any(folder.iterdir()) and not (folder / SITE).is_file():
        raise HloError(
            f"{folder} is a folder with other files than a site; choose another one, or a new one"
        )
