"""XLA's parsers in a process that they may end.

XLA holds some properties of a module for certain, and ends the process, or writes anywhere, where
they do not hold. ``hlograph/native/parsing/text_check.h`` finds the latter before it happens; the
former is survived once (``hlograph/native/module/abort_guard.h``). That input, what may be of the
latter sort, and from the first abort on every module, is parsed here: a server process, started on
first use, forks a child for each module; the child parses, and its result comes back as a
proto. A child that ends, or does not end, is a ``HloParseError``. It costs about a second once, then some milliseconds and
three times the time that parsing takes.

StableHLO is converted here, always.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from typing import IO, Literal, TypeAlias

from hlograph.errors import HloError, HloParseError

Kind: TypeAlias = Literal["text", "proto", "mlir"]

REQUEST = struct.Struct("<cdQ")
"""Kind (its first letter), seconds that parsing may take, bytes that follow."""

RESPONSE = struct.Struct("<cQ")
"""What it is (p, a proto; e, the message of an error), bytes that follow."""

# Parsing takes 0.1 s a megabyte, and writing the proto as long, on a machine of 2026.
_SECONDS = 10.0
_SECONDS_A_MEGABYTE = 5.0

# sys.path comes from here: the package may be imported from anywhere.
_SERVE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_SERVE += "from hlograph.reading.parser_server import serve; serve()"


class IsolatedParser:
    """The client's side: one server, one module at a time, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def parse(self, kind: Kind, data: bytes) -> bytes:
        """Parses a module.

        Args:
            kind: What the data is.
            data: HLO text, a serialized ``HloModuleProto``, or StableHLO (text or bytecode).

        Returns:
            The serialized ``HloModuleProto``; or HLO text as XLA prints it, of a text that says
            for how many devices it is, which a proto does not hold.

        Raises:
            HloParseError: The data is no module, or XLA did not survive it.
            HloError: The server cannot be started, or was ended from outside twice.
        """
        megabytes = len(data) / (1 << 20)
        seconds = _SECONDS + _SECONDS_A_MEGABYTE * megabytes
        header = REQUEST.pack(kind[0].encode(), seconds, len(data))
        with self._lock:
            for _ in range(2):
                try:
                    what, answer = self._ask(header, data)
                except (OSError, EOFError):
                    self._stop()
                    continue
                if what == b"p":
                    return answer
                raise HloParseError(answer.decode("utf-8", "replace"))
        raise HloError(
            "the process that parses HLO ended before it answered, twice: expected "
            f"{sys.executable} to start and to load hlograph"
        )

    def start(self) -> None:
        """Starts the server, if it does not run."""
        with self._lock:
            if self._server is not None and self._server.poll() is not None:
                self._stop()
            self._connection()

    def stop(self) -> None:
        """Ends the server; the next call starts another one."""
        with self._lock:
            self._stop()

    def _adopt(self) -> None:
        """Takes the server over from the process that this one was forked from."""
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def _ask(self, header: bytes, data: bytes) -> tuple[bytes, bytes]:
        requests, responses = self._connection()
        requests.write(header)
        requests.write(data)
        requests.flush()
        what, length = RESPONSE.unpack(read_exactly(responses, RESPONSE.size))
        return what, read_exactly(responses, length)

    def _connection(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._owner != os.getpid():
            # After a fork the server is the parent's.
            self._server = None
        if self._server is None:
            self._owner = os.getpid()
            self._server = subprocess.Popen(
                [sys.executable, "-c", _SERVE, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            atexit.register(self._stop)
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        return self._server.stdin, self._server.stdout

    def _stop(self) -> None:
        server, self._server = self._server, None
        atexit.unregister(self._stop)
        if server is None or self._owner != os.getpid():
            return
        server.kill()
        server.wait()
        for stream in (server.stdin, server.stdout):
            if stream is not None:
                # A request that was half-written cannot be flushed.
                with contextlib.suppress(OSError):
                    stream.close()


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Reads bytes from a stream.

    Raises:
        EOFError: The stream ended before.
    """
    data = stream.read(size)
    if len(data) != size:
        raise EOFError(f"expected {size} bytes, got {len(data)}")
    return data


_parser = IsolatedParser()


def use_parser(parser: IsolatedParser) -> None:
    """Has this process parse by a server that the process it was forked from has started.

    The two share its pipes: the other process must not use it meanwhile.
    """
    global _parser
    parser._adopt()
    _parser = parser


def parse_isolated(kind: Kind, data: bytes) -> bytes:
    """Parses a module in the process that this one shares; see ``IsolatedParser.parse``."""
    return _parser.parse(kind, data)
