"""Serves a site while a test asks it."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hlograph.explorer import server
from hlograph.explorer.site import Contents


@contextmanager
def served(contents: Contents) -> Iterator[str]:
    """Serves a site as the command does, and yields its address."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra explore is not installed")
    address: queue.SimpleQueue[str] = queue.SimpleQueue()
    started: list[Any] = []

    class Ended(uvicorn.Server):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn, "Server", Ended)
        thread = threading.Thread(
            target=server.serve, args=(contents,), kwargs={"ready": address.put}
        )
        thread.start()
        yield address.get(timeout=120)
        started[0].should_exit = True
        thread.join(120)
    assert not thread.is_alive()
