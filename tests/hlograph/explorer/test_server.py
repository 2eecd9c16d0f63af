"""The server: what it answers, whom it refuses, and the pages in a browser that ask it."""

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hlograph import HloError, Module
from hlograph.explorer import server
from hlograph.explorer.graph_pages import graph_page
from hlograph.explorer.site import Contents
from tests.hlograph.explorer.conftest import Visit

pytest.importorskip("starlette", reason="the extra explore is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra explore is not installed")


def refuse(question: object) -> None:
    raise HloError(f"cannot answer {question}")


@pytest.fixture
def address(small_module: Module, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serves a module with two queries, as the command does, and returns the address."""
    page, files = graph_page(small_module)
    queries = {"double": lambda question: {"twice": 2 * question["number"]}, "refuse": refuse}
    contents = Contents("title", (page,), {**files, "later": lambda: "made"}, queries)
    ready: list[str] = []
    answering = threading.Event()
    started: list[Any] = []

    class Ended(uvicorn.Server):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            started.append(self)

    def note(address: str) -> None:
        ready.append(address)
        answering.set()

    monkeypatch.setattr(uvicorn, "Server", Ended)
    thread = threading.Thread(target=server.serve, args=(contents,), kwargs={"ready": note})
    thread.start()
    assert answering.wait(60)
    yield ready[0]
    started[0].should_exit = True
    thread.join(60)
    assert not thread.is_alive()


def asked(
    address: str,
    path: str,
    *,
    question: object = None,
    token: str | None = None,
    host: str | None = None,
) -> tuple[int, bytes]:
    """Sends a request, with the token of the address unless another one is given."""
    place = urlsplit(address)
    own = parse_qs(place.query)["token"][0]
    connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
    body = None if question is None else json.dumps(question)
    connection.request(
        "GET" if body is None else "POST",
        f"{path}?token={own if token is None else token}",
        body,
        {"Host": host or place.netloc, "Content-Type": "application/json"},
    )
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_it_answers_files_and_questions(address: str):
    assert urlsplit(address).hostname == "127.0.0.1"
    assert asked(address, "/")[0] == 200
    assert asked(address, "/data/later.js") == (200, b"hlograph.data('later','\"made\"');\n")
    assert asked(address, "/data/none.js")[0] == 404
    assert asked(address, "/../pyproject.toml")[0] == 404
    assert asked(address, "/live/double", question={"number": 21}) == (200, b'{"twice":42}')
    status, answer = asked(address, "/live/refuse", question=7)
    assert (status, json.loads(answer)) == (422, {"error": "cannot answer 7"})
    assert asked(address, "/live/none", question=7)[0] == 404


def test_it_refuses_strangers(address: str):
    assert asked(address, "/data/site.js", token="guessed")[0] == 403
    assert asked(address, "/live/double", question={"number": 1}, token="guessed")[0] == 403
    # A page of the internet whose name an attacker's server says is this machine.
    port = urlsplit(address).port
    assert asked(address, "/", host=f"evil.example:{port}")[0] == 403
    assert asked(address, "/data/site.js", host=f"evil.example:{port}")[0] == 403
    assert asked(address, "/live/double", question="x" * (2 << 20))[0] == 413


def test_only_this_machine_reaches_it(address: str):
    port = urlsplit(address).port
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_the_page_is_live(address: str, visit: Visit, small_module: Module):
    page = visit(address)
    assert page.locator(".badge").text_content() == "live"
    assert page.locator(".sidebar .note").text_content() == f"{small_module.op_count} instructions"
    page.get_by_role("button", name="Opcodes").click()
    assert page.get_by_role("treeitem").count() > 1


def test_a_port_that_is_taken_is_said(small_module: Module):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        page, files = graph_page(small_module)
        with pytest.raises(HloError, match=r"cannot listen on port \d+"):
            server.serve(Contents("", (page,), files), port=taken.getsockname()[1])
