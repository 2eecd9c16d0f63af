"""The view of results in a browser: tables, bars, curves, and the programs of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hlograph import corpus
from hlograph.errors import HloError
from hlograph.explorer.results_page import ResultsSite
from hlograph.explorer.site import write_site
from tests.hlograph.explorer.serving import served

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.hlograph.explorer.conftest import Visit

RESULTS = Path(__file__).parents[3] / "docs" / "results"
STUDY = RESULTS / "studies" / "figure3"
PROGRAM = "capsule/t1/train-adam"


@pytest.fixture
def opened(visit: Visit, tmp_path: Path) -> Page:
    """Returns the page of a study, with the graph of one program."""
    site = ResultsSite(STUDY, [PROGRAM])
    write_site(tmp_path / "site", site.contents)
    return visit(tmp_path / "site")


def _tables(page: Page) -> int:
    return page.locator(".result .table").count()


def _first_cells(page: Page, caption: str) -> list[str]:
    cells = page.locator(f".result [aria-label='{caption}'] tbody tr > :first-child")
    return [text.strip() for text in cells.all_inner_texts()]


def test_tables_have_the_rows_of_the_study(opened: Page):
    content = json.loads((STUDY / "study.json").read_text())
    for group in dict.fromkeys(trial["group"] for trial in content["trials"]):
        trials = [trial for trial in content["trials"] if trial["group"] == group]
        methods = {trial["method"] for trial in trials}
        assert set(_first_cells(opened, f"Methods: {group}")) == methods
        benchmarks = [outcome["benchmark"] for outcome in trials[0]["outcomes"]]
        assert _first_cells(opened, f"Benchmarks: {group}") == benchmarks
    assert "python -m experiments.paper figure3" in opened.inner_text(".results-body")
    assert opened.locator(".bars tbody tr").count() == 4
    assert opened.locator(".bars svg.bar").count() == 4


def test_rows_are_sorted_and_filtered(opened: Page):
    caption = "Benchmarks: diverse test-unseen"
    names = _first_cells(opened, caption)
    heads = opened.locator(f"[aria-label='{caption}'] th button")
    heads.filter(has_text="start").click()
    column = opened.locator(f"[aria-label='{caption}'] tbody tr > :nth-child(2)")
    starts = [int(text.replace(",", "")) for text in column.all_inner_texts()]
    assert starts == sorted(starts, reverse=True)
    opened.keyboard.press("/")
    opened.keyboard.type("capsule")
    assert _first_cells(opened, caption) == [name for name in names if "capsule" in name]
    assert "row" in opened.inner_text("[role=status]")


def test_row_opens_the_graph_of_its_program_and_back(opened: Page):
    caption = "Benchmarks: diverse test-unseen"
    links = opened.locator(f"[aria-label='{caption}'] tbody a")
    assert links.all_inner_texts() == [PROGRAM]  # the one that was written
    links.click()
    opened.wait_for_selector(f".inner[data-ready='program:{PROGRAM}']")
    count = corpus.benchmark(PROGRAM).load().op_count
    assert f"of {count:,} instructions drawn" in opened.inner_text(".inner")
    opened.wait_for_selector(".neighbourhood:not([aria-busy])")
    address = opened.url
    opened.locator("button", has_text="Results").click()
    assert opened.locator(".results-body").is_visible()
    opened.goto("about:blank")
    opened.goto(address)
    opened.wait_for_selector(f".inner[data-ready='program:{PROGRAM}']")
    assert not opened.locator(".results-body").is_visible()


def test_all_studies_and_a_table_of_races(visit: Visit, tmp_path: Path):
    write_site(tmp_path / "studies", ResultsSite(RESULTS / "studies").contents)
    page = visit(tmp_path / "studies")
    tabs = page.locator("[role=tab]")
    assert tabs.count() == len(list((RESULTS / "studies").iterdir()))
    for number in range(tabs.count()):
        tabs.nth(number).click()
        # the tab before is shown, and ready, until the address has changed
        panel = f"[id='{tabs.nth(number).get_attribute('aria-controls')}']"
        page.wait_for_selector(f"{panel}:not([hidden])[data-ready]")
        assert page.locator(f"{panel} .table tbody tr").count() > 0
    write_site(tmp_path / "tune", ResultsSite(RESULTS / "tuning").contents)
    page = visit(tmp_path / "tune", color_scheme="dark")
    assert page.locator(".bars tbody tr").count() == 6
    rows = (RESULTS / "tuning" / "tune.csv").read_text().count("\n") - 1
    assert len(_first_cells(page, "Programs")) == rows


def test_curves_hide_and_show(visit: Visit, tmp_path: Path):
    write_site(tmp_path / "site", ResultsSite(RESULTS / "studies" / "figure2").contents)
    page = visit(tmp_path / "site")
    chart = page.locator(".chart").first
    lines = chart.locator("path.line")
    shown = lines.count()
    assert shown == 11
    chart.locator(".line-legend button").first.click()
    assert lines.count() == shown - 1
    chart.locator("svg.lines").hover()
    assert "steps of training" in page.inner_text(".tooltip")


def test_served_results_make_graphs_on_demand(visit: Visit):
    site = ResultsSite(STUDY)
    with served(site.contents) as address:
        page = visit(address)
        page.locator("a", has_text=PROGRAM).first.click()
        page.wait_for_selector(f".inner[data-ready='program:{PROGRAM}'] .neighbourhood")
        page.locator(f".inner[data-ready='program:{PROGRAM}']").wait_for()
    site.close()
    with pytest.raises(HloError, match="no program"):
        site.contents.queries["result-program"]({"program": "../../etc/passwd"})
    with pytest.raises(HloError, match="no plan"):
        site.contents.queries["result-plan"]({"page": "figure3-quick", "plan": "../x"})


def test_program_that_the_results_do_not_have_is_refused():
    with pytest.raises(HloError, match="no program of these results"):
        ResultsSite(STUDY, ["no-such/*"])
