"""A real browser, and pages of a small and of a large module.

A test that takes ``visit`` fails on errors in the browser's console, and on any request to anywhere
else than a file or the loopback address.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from hlograph import Module, corpus

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Programs that can show the pages; the first that is there does."""

SIZES = {
    60: "dense-linear-algebra/pinv/one",
    48875: "gpt2/l75-h16-a2/train-adamw-b1-s8",
}
"""Benchmarks of few and of many instructions; the second is the largest of the corpus."""

PATIENCE = 120_000
"""Milliseconds until a step counts as failed: the machine may be busy."""

Visit = Callable[..., "Page"]
"""Opens an address or a site's folder, and returns the page once its view is there."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Starts Chromium; skips tests where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(CHROMIUM)} is installed")
    with playwright.sync_playwright() as started:
        # Chromium's sandbox refuses root, as whom containers run tests; the pages are our own.
        browser = started.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Returns a function that opens pages; at the end, it checks what the browser said."""
    context = browser.new_context(viewport={"width": 1400, "height": 860})
    context.set_default_timeout(PATIENCE)
    problems: list[str] = []

    def on_request(request: Request) -> None:
        if not is_near(request.url):
            problems.append(f"request to {request.url}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(message.text)

    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("requestfailed", lambda r: problems.append(f"failed: {r.url} {r.failure}"))
    context.on("request", on_request)
    context.on("console", on_console)

    def opened(place: Path | str, fragment: str = "", **options: object) -> Page:
        address = f"{(place / 'index.html').as_uri()}" if isinstance(place, Path) else place
        page = context.new_page()
        if options:
            page.emulate_media(**options)  # pyright: ignore[reportArgumentType]
        page.goto(f"{address}{fragment}")
        page.wait_for_selector("[role=tabpanel]:not([hidden])[data-ready]")
        return page

    yield opened
    context.close()
    assert problems == []


def is_near(address: str) -> bool:
    """Returns True if a request leaves neither the disk nor this machine."""
    place = urlsplit(address)
    return place.scheme in ("file", "blob", "data") or place.hostname in ("127.0.0.1", "localhost")


@pytest.fixture(scope="session", params=SIZES, ids="{:,}".format)
def any_module(request: pytest.FixtureRequest) -> Module:
    """Returns a module of each of the two sizes."""
    return corpus.benchmark(SIZES[request.param]).load()


@pytest.fixture(scope="session")
def small_module() -> Module:
    """Returns a module of 60 instructions."""
    return corpus.benchmark(SIZES[60]).load()
