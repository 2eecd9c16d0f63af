"""Serves a site on the loopback address, with queries that this process answers."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from hlograph.errors import HloError
from hlograph.explorer.site import Contents, Site

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
_LARGEST_QUESTION = 1 << 20


def serve(contents: Contents, *, port: int = 0, ready: Callable[[str], None] = print) -> None:
    """Serves a site until it is interrupted.

    Only this machine reaches it. Requests that name another host are refused, so that a page of
    the internet cannot ask by way of the browser; and the address has a token, without which
    nothing is answered, so that other users of the machine cannot.

    Args:
        contents: What to show.
        port: The port; 0 is any that is free.
        ready: Called with the address once it answers.

    Raises:
        HloError: Starlette or uvicorn is not installed, or the port is taken.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise _missing() from error
    token = secrets.token_urlsafe(16)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise HloError(f"cannot listen on port {port}: {error}; choose another one") from error
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            application(contents, port, token), log_level="error", lifespan="off", ws="none"
        )
        listening.listen()
        ready(f"http://{HOST}:{port}/?token={token}")
        uvicorn.Server(config).run(sockets=[listening])


def application(contents: Contents, port: int, token: str) -> Starlette:
    """Returns the application that answers for a site.

    Args:
        contents: What to show.
        port: The port that it is reached on.
        token: What the address of each request must have.

    Raises:
        HloError: Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise _missing() from error
    site = Site(contents)
    hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    def refusal(request: Request) -> Response | None:
        if request.headers.get("host") not in hosts:
            return Response("expected a request to this machine", 403)
        given = request.query_params.get("token", "")
        # The shipped files are the same for everybody, and their tags have no token.
        needs_token = request.url.path.startswith(("/data/", "/live/"))
        if needs_token and not secrets.compare_digest(given.encode(), token.encode()):
            return JSONResponse({"error": "expected the token of the printed address"}, 403)
        return None

    async def file(request: Request) -> Response:
        if refused := refusal(request):
            return refused
        path = request.path_params["path"] or "index.html"
        try:
            content = await run_in_threadpool(site.read, path, live=True)
        except HloError as error:
            return Response(str(error), 500, media_type=_TYPES["txt"])
        if content is None:
            return Response(f"there is no {path}", 404)
        kind = _TYPES.get(path.rpartition(".")[2], "application/octet-stream")
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return Response(content, media_type=kind, headers=headers)

    async def query(request: Request) -> Response:
        if refused := refusal(request):
            return refused
        answer = contents.queries.get(request.path_params["query"])
        if answer is None:
            return JSONResponse({"error": "there is no such query"}, 404)
        if int(request.headers.get("content-length", _LARGEST_QUESTION + 1)) > _LARGEST_QUESTION:
            return JSONResponse({"error": "expected a question of at most 1 MiB"}, 413)
        try:
            question = await request.json()
        except ValueError:
            return JSONResponse({"error": "expected JSON"}, 400)
        try:
            return JSONResponse(await run_in_threadpool(answer, question))
        except HloError as error:
            return JSONResponse({"error": str(error)}, 422)

    return Starlette(
        routes=[
            Route("/live/{query}", query, methods=["POST"]),
            Route("/{path:path}", file, methods=["GET"]),
        ]
    )


def _missing() -> HloError:
    return HloError(
        "to serve pages, Starlette and uvicorn are needed: pip install 'hlograph[explore]'. "
        "--out FOLDER writes pages that open without a server"
    )
