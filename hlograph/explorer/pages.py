"""Pages of a site: what the views in the browser are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
