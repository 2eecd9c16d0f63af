"""The view of steps in a browser, compared with what the passes did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hlograph import Module
from hlograph.explorer.site import Contents, write_site
from hlograph.explorer.step_pages import passes_page
from tests.hlograph.explorer.conftest import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.hlograph.explorer.conftest import Visit

PASSES = ("call-inliner", "cse", "cse", "dce", "merge(no, such)")


class Shown(NamedTuple):
    """A site, and what is in it."""

    folder: Path
    steps: list[dict[str, Any]]
    files: dict[str, Any]
    start: int


@pytest.fixture(scope="session")
def shown(any_module: Module, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("site") / "steps"
    page, files = passes_page(any_module, PASSES)
    write_site(folder, Contents(any_module.name, (page,), files))
    return Shown(folder, page.data["steps"], files, any_module.op_count)


def settled(page: Page) -> None:
    """Waits until nothing is drawn or loaded any more."""
    from playwright.sync_api import expect

    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=PATIENCE)


def pane(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def drawn(page: Page, name: str) -> set[int]:
    nodes = (
        pane(page, name).locator("[data-node]").evaluate_all("all => all.map(e => e.dataset.node)")
    )
    return set(map(int, nodes))


def marked(page: Page, name: str, mark: str) -> int:
    return pane(page, name).locator(f".node.{mark}").count()


def test_the_view_shows_what_passes_changed(visit: Visit, shown: Shown) -> None:
    page = visit(shown.folder)
    settled(page)

    # The list: a row for each step, those without an effect in grey.
    rows = page.locator(".step-list tbody tr")
    assert rows.count() == len(PASSES)
    for row, step in zip(rows.all(), shown.steps, strict=True):
        cells = [re.sub(r"\s+", " ", text).strip() for text in row.locator("td").all_inner_texts()]
        assert cells[1] == step["name"]
        assert cells[2].split()[-1] == f"{step['op_count']:,}"
        assert ("no-op" in (row.get_attribute("class") or "")) == (
            not step["changed"] and not step["error"]
        )
    assert rows.last.get_by_text("failed").is_visible()

    # The first step with an effect, before and after.
    first = next(number for number, step in enumerate(shown.steps, 1) if step["changed"])
    content = shown.files[shown.steps[first - 1]["file"]]
    region = content["regions"][0]
    for name, side in (("Before", "before"), ("After", "after")):
        assert drawn(page, name) == set(region[side])
        for mark in ("added", "removed", "changed"):
            expected = sum(content[side][node]["mark"] == mark for node in region[side])
            assert marked(page, name, mark) == expected
    lines = page.locator(".diff-line")
    assert lines.count() == sum(len(hunk["lines"]) for hunk in content["hunks"])
    assert page.locator(".diff-line.marked").count() > 0

    # The other regions.
    if len(content["regions"]) > 1:
        page.get_by_role("button", name="Next change").click()
        settled(page)
        region = content["regions"][1]
        assert page.evaluate("location.hash") == f"#steps/{first}.2"
        assert drawn(page, "After") == set(region["after"]) or not region["after"]


@pytest.mark.parametrize("any_module", [60], indirect=True)
def test_an_instruction_is_found_on_both_sides_and_in_the_text(visit: Visit, shown: Shown) -> None:
    number = next(
        number
        for number, step in enumerate(shown.steps, 1)
        if step["file"] and step["modified"] and not shown.files[step["file"]]["left_out"]
    )
    content = shown.files[shown.steps[number - 1]["file"]]
    node, row = next((n, r) for n, r in enumerate(content["after"]) if r["mark"] == "changed")
    place = next(n for n, r in enumerate(content["regions"], 1) if node in r["after"])
    page = visit(shown.folder, f"#steps/{number}.{place}")
    settled(page)

    pane(page, "After").get_by_role("button", name="Fit").click()
    pane(page, "After").locator(f"[data-node='{node}']").click()
    settled(page)

    focused = pane(page, "Before").locator(".node.focus")
    assert focused.get_attribute("data-node") == str(row["match"])
    texts = page.locator(".diff-line.marked .diff-text").all_inner_texts()
    assert texts == [content["before"][row["match"]]["line"], row["line"]]


@pytest.mark.parametrize("any_module", [60], indirect=True)
def test_steps_are_chosen_by_slider_keys_and_address(visit: Visit, shown: Shown) -> None:
    effective = [number for number, step in enumerate(shown.steps, 1) if step["changed"]]
    page = visit(shown.folder, f"#steps/{effective[1]}")
    slider = page.get_by_role("slider", name="Step")
    assert slider.input_value() == str(effective[1])

    slider.focus()
    slider.press("ArrowRight")
    assert page.evaluate("location.hash") == f"#steps/{effective[1] + 1}"
    slider.press("p")
    assert page.evaluate("location.hash") == f"#steps/{effective[1]}"

    slider.press("End")
    page.get_by_text("The step failed and left the module as it was").wait_for()
    assert page.locator(".step-list tr[aria-selected=true]").inner_text().split()[0] == str(
        len(PASSES)
    )

    page.get_by_label("Only steps that changed something").check()
    assert page.locator(".step-list tbody tr").count() == len(effective)
