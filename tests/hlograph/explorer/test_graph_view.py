"""The view of a module in a browser, compared with the module."""

from __future__ import annotations

import re
from math import dist
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hlograph import Module
from hlograph.explorer.graph_pages import graph_page
from hlograph.explorer.site import Contents, write_site
from hlograph.graph.vocabulary import EDGE_TYPES, OPCODES
from tests.hlograph.explorer.site_files import content_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from hlograph.graph.hlo_graph import HloGraph
    from tests.hlograph.explorer.conftest import Visit

MOST = 200
ROW = 22  # pixels
FIRST_NODES = 40
FIRST_ELEMENTS = 1000


@pytest.fixture(scope="session")
def site(any_module: Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "module"
    page, files = graph_page(any_module)
    write_site(folder, Contents(any_module.name, (page,), files))
    return folder


def numbers_in(text: str | None) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", text or "")]


def instructions(graph: HloGraph) -> int:
    return graph.num_nodes - graph.num_computations


def users_of(graph: HloGraph, node: int) -> set[int]:
    data = graph.edge_type == EDGE_TYPES.index("data")
    source, target = graph.edge_index[:, data]
    return set(target[source == node].tolist())


def drawn_nodes(page: Page) -> set[int]:
    nodes = page.eval_on_selector_all("[data-node]", "all => all.map(e => e.dataset.node)")
    assert len(nodes) == len(set(nodes))
    return set(map(int, nodes))


def settled(page: Page) -> None:
    page.wait_for_selector(".neighbourhood:not([aria-busy])")


def rows(tree: Locator) -> int:
    """Returns how many rows a tree has, of which the page holds those that are seen."""
    return int(tree.evaluate("tree => tree.firstChild.offsetHeight")) // ROW


def test_the_view_shows_the_module(visit: Visit, site: Path, any_module: Module):
    graph = any_module.graph()
    names = graph.names()
    count = instructions(graph)
    page = visit(site)
    settled(page)
    assert page.locator("body *").count() < FIRST_ELEMENTS

    # The tree: collapsed, and as long as the entry computation once that is open.
    tree = page.get_by_role("tree")
    assert numbers_in(page.locator(".sidebar .note").text_content()) == [count]
    callers = graph.edge_type == EDGE_TYPES.index("call")
    uncalled = graph.num_computations - len(set(graph.edge_index[1][callers].tolist()))
    assert rows(tree) == uncalled
    tree.locator(".twist").first.click()
    in_entry = int(graph.is_entry[:count].sum())
    assert rows(tree) == uncalled + in_entry
    assert tree.get_by_role("treeitem").count() < 100

    # The first picture: the root of the entry computation and what is near.
    entry = count + int(np.flatnonzero(graph.is_entry[count:])[0])
    root = int(np.flatnonzero(graph.is_root & graph.is_entry & (graph.opcode >= 0))[0])
    assert graph.computation[root] == graph.computation[entry]
    assert page.locator("[data-node].focus").get_attribute("data-node") == str(root)
    assert page.locator(".details h2").text_content() == names[root]

    # It draws as much for a large module as for a small one, which keeps it quick: its time depends
    # on the machine, and on what else runs there. The browser's tools show when it was there.
    assert 0 < page.locator("[data-node]").count() <= FIRST_NODES
    assert page.evaluate("() => performance.getEntriesByName('shown graph').length") == 1

    # Search, and choose what was found.
    opcodes = [OPCODES[opcode] for opcode in graph.opcode[:count]]
    wanted = max(sorted(set(opcodes)), key=opcodes.count)
    found = [i for i in range(count) if wanted in f"{names[i]} {opcodes[i]}"]
    page.keyboard.press("/")
    page.keyboard.type(wanted)
    # On a busy machine, what the first letters find is shown on the way.
    answer = re.compile(rf"^{len(found):,} instructions? found")
    page.locator(".sidebar .note", has_text=answer).wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    settled(page)
    assert page.locator("[data-node].focus").get_attribute("data-node") == str(found[0])
    assert page.url.endswith(f"#graph/{names[found[0]]}")

    # As many neighbours as the picture may have, and the edges among them.
    more = page.get_by_role("button", name="Expand all")
    while more.is_enabled() and len(drawn_nodes(page)) < count:
        before = len(drawn_nodes(page))
        more.click()
        settled(page)
        if len(drawn_nodes(page)) == before:
            break
    nodes = drawn_nodes(page)
    assert len(nodes) <= MOST
    assert len(nodes) == MOST or all(users_of(graph, node) <= nodes for node in nodes)
    data = graph.edge_type == EDGE_TYPES.index("data")
    among = np.isin(graph.edge_index[:, data], list(nodes)).all(axis=0).sum()
    assert page.locator(".edge.data").count() == among
    assert numbers_in(page.locator(".toolbar .drawn").text_content()) == [len(nodes), count]


@pytest.mark.parametrize("any_module", [48875], indirect=True)
def test_hover_and_keys_show_the_same_instruction(visit: Visit, site: Path, any_module: Module):
    graph = any_module.graph()
    page = visit(site)
    settled(page)
    focus = page.locator("[data-node].focus")
    number = int(focus.get_attribute("data-node") or -1)
    focus.hover()
    tooltip = page.get_by_role("tooltip")
    tooltip.wait_for()
    said = tooltip.inner_text()
    assert graph.name(number) in said
    assert OPCODES[graph.opcode[number]] in said
    assert all(str(size) in said for size in graph.dims(number))

    # The arrow keys go to a neighbour above, and Enter looks at it.
    focus.focus()
    page.keyboard.press("ArrowUp")
    above = int(page.evaluate("() => document.activeElement.dataset.node"))
    assert above != number
    page.keyboard.press("Enter")
    settled(page)
    assert page.locator("[data-node].focus").get_attribute("data-node") == str(above)
    assert page.locator(".details h2").text_content() == graph.name(above)
    # The focus of the keyboard stays where it was.
    assert page.evaluate("() => document.activeElement.dataset.node") == str(above)

    # Its circle, or the key e, brings neighbours that are not drawn.
    before = drawn_nodes(page)
    if page.locator("[data-node].focus .node-more").count():
        page.keyboard.press("e")
        settled(page)
        assert drawn_nodes(page) > before


@pytest.mark.parametrize("any_module", [60], indirect=True)
def test_addresses_lead_to_instructions_and_back(visit: Visit, site: Path, any_module: Module):
    graph = any_module.graph()
    wanted = int(np.flatnonzero(graph.is_entry & (graph.opcode >= 0))[0])
    page = visit(site, f"#graph/{graph.name(wanted)}")
    settled(page)
    assert page.locator("[data-node].focus").get_attribute("data-node") == str(wanted)
    link = page.locator(".details .links a").first
    name = link.text_content()
    link.click()
    settled(page)
    assert page.locator(".details h2").text_content() == name
    page.go_back()
    page.locator(".details h2", has_text=graph.name(wanted)).wait_for()
    page.evaluate("() => { location.hash = '#graph/no-such-instruction'; }")
    page.get_by_role("status").filter(has_text="no instruction is called no-such").wait_for()


def test_the_overview_finds_instructions(visit: Visit, site: Path):
    data = content_of((site / "data/graph-module.js").read_bytes())
    names, places = data["names"].split("\n"), data["overview"]
    page = visit(site)
    settled(page)
    area = page.locator(".overview-canvas").bounding_box()
    assert area
    colours = page.evaluate(
        """() => {
          const canvas = document.querySelector('.overview-canvas');
          const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    assert colours > 3

    # The sheet with its margin is in the middle of the canvas, as large as fits.
    margin = 2 * places["parts"]
    width, height = (side + 2 * margin for side in places["size"])
    scale = min(area["width"] / width, area["height"] / height)

    def on_screen(node: int) -> tuple[float, float]:
        x = area["x"] + area["width"] / 2 + (places["x"][node] + margin - width / 2) * scale
        y = area["y"] + area["height"] / 2 + (places["y"][node] + margin - height / 2) * scale
        return x, y

    wanted = on_screen(len(names) // 2)
    page.mouse.move(*wanted)
    tooltip = page.get_by_role("tooltip")
    tooltip.wait_for()
    found = tooltip.locator("strong").text_content()
    page.mouse.click(*wanted)
    settled(page)
    assert page.locator(".details h2").text_content() == found
    # Points of a large module are closer together than a pointer can tell.
    distances = [dist(on_screen(i), wanted) for i, name in enumerate(names) if name == found]
    assert min(distances) < 8


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_follow_numbers_and_themes(
    visit: Visit, small_module: Module, tmp_path: Path, theme: str
):
    shown, files = graph_page(small_module)
    write_site(tmp_path / "site", Contents("small", (shown,), files))
    page = visit(tmp_path / "site", color_scheme=theme)
    settled(page)
    assert page.evaluate("() => document.documentElement.dataset.theme") == theme
    legend = page.locator(".legend").inner_text()
    page.get_by_label("Colour by").select_option("bytes")
    settled(page)
    assert page.locator(".legend").inner_text() != legend
    assert page.locator(".legend li").first.inner_text() == "none"
    back = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") != back
    page.reload()
    page.wait_for_selector("[data-ready]")
    assert page.evaluate("() => document.documentElement.dataset.theme") != theme
