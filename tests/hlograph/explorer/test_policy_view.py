"""The view of a policy in a browser: from disk, and with a server that plays on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hlograph import Module
from hlograph.explorer.policies import policy_page
from hlograph.explorer.site import Contents, Page, write_site
from tests.hlograph.explorer.conftest import PATIENCE
from tests.tiny_module import TINY

if TYPE_CHECKING:
    from tests.hlograph.explorer.conftest import Visit

Played = tuple[Page, dict[str, Any], Contents]


def played(module: Module, policy: str) -> Played:
    files: dict[str, Any] = {}
    page, queries, _ = policy_page(module, policy, files)
    return page, files, Contents(module.name, (page,), files, queries)


@pytest.fixture(scope="session")
def ordering(small_module: Module) -> Played:
    return played(small_module, "gnn")


@pytest.fixture(scope="session")
def rewriting() -> Played:
    return played(Module.from_text(TINY), "rewrites")


def settled(page: Any) -> None:
    """Waits until nothing is drawn or loaded any more."""
    from playwright.sync_api import expect

    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=PATIENCE)


def test_the_view_shows_distributions(visit: Visit, ordering: Played, tmp_path: Path) -> None:
    data, files, contents = ordering
    write_site(tmp_path / "site", contents)
    moves = files[data.data["episode"]]["moves"]
    page = visit(tmp_path / "site", "#policy/2")
    settled(page)

    move = moves[1]
    assert page.locator(".step-list tbody tr").count() == len(moves)
    choices = page.locator(".choice")
    assert choices.count() == len(move["actions"])
    struck = page.locator(".choice.masked .choice-name")
    assert struck.count() == move["allowed"].count(False)
    style = "e => getComputedStyle(e).textDecorationLine"
    assert struck.first.evaluate(style) == "line-through"
    assert choices.first.evaluate("e => e.querySelector('.choice-bar').style.width") == "100%"
    taken = page.locator(".choice.taken")
    place = move["actions"].index(move["action"])
    assert taken.locator(".choice-name").inner_text() == move["names"][place]
    probability = move["probabilities"][place]
    assert taken.locator(".choice-number").inner_text() == f"{100 * probability:.1f} %"
    values = page.locator(".trace-value").all_inner_texts()
    assert values[0] == f"{move['value']:.1f}"
    assert values[2] == f"{move['step']['op_count']:,}"
    attended = files[move["state"]]["attended"][:8]
    assert page.locator(".sight .node.focus").count() == len(attended)

    # What the step changed, of one that did.
    number = next(n for n, m in enumerate(moves, 1) if m["step"]["changed"])
    page.locator(".step-list tbody tr").nth(number - 1).click()
    page.keyboard.press("c")
    region = files[moves[number - 1]["step"]["file"]]["regions"][0]
    shown = page.get_by_role("region", name="After", exact=True).locator("[data-node]")
    shown.first.wait_for()
    settled(page)
    assert shown.count() == len(region["after"])

    # Opened from disk, there is nobody to play on.
    assert page.locator(".choice-take").count() == 0


def test_candidates_show_what_they_touch(visit: Visit, rewriting: Played, tmp_path: Path) -> None:
    _, _, contents = rewriting
    write_site(tmp_path / "site", contents)
    page = visit(tmp_path / "site", "#policy/1")
    settled(page)

    page.get_by_role("button", name="merge(b, a)").click()
    settled(page)

    for mark, name in (("removed", "b"), ("changed", "a")):
        titles = page.locator(f".sight .node.{mark} .node-title").all_text_contents()
        assert [title.strip() for title in titles] == [name]
    assert "instructions \N{MINUS SIGN}1" in page.locator(".sight-caption").inner_text()


@pytest.fixture
def address(rewriting: Played) -> Iterator[str]:
    """Serves the page of the policy over rewrites, on a thread of its own."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    import socket

    from hlograph.explorer.server import application

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        app = application(rewriting[2], port, "token")
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{port}/?token=token"
        server.should_exit = True
        thread.join()


def test_another_action_is_taken_and_the_policy_plays_on(
    visit: Visit, rewriting: Played, address: str
) -> None:
    page = visit(address, "#policy/1")
    settled(page)
    data, files, _ = rewriting
    own = files[data.data["episode"]]["moves"][0]
    place, name = next(
        (place, name)
        for place, name in enumerate(own["names"])
        if name.startswith("remove(") and own["actions"][place] != own["action"]
    )

    page.get_by_role("button", name=f"Take {name} and play on").click()
    page.locator("option", has_text=f"{name} in step 1").wait_for(state="attached")
    settled(page)

    assert page.locator(".choice.taken .choice-name").inner_text() == name
    answer = files["policy-1"]
    assert answer["first"] == [own["actions"][place]]
    assert page.locator(".step-list tbody tr").count() == len(answer["moves"])
    assert "instructions in the end" in page.get_by_role("status").inner_text()

    # Back to the policy's own episode.
    page.get_by_label("Episode", exact=True).select_option(index=0)
    settled(page)
    moves = files[data.data["episode"]]["moves"]
    assert page.locator(".step-list tbody tr").count() == len(moves)
