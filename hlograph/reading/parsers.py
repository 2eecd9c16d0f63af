"""XLA's parsers of HLO text and protos, called in a way that the process survives.

XLA's parsers rely on properties of a module that they do not check. They end the process, or write
beyond an array, where these do not hold. Checks before them (``hlograph/native/parsing/``) let
regular modules pass, as XLA and jax write them. All others are parsed here: a server process,
started on first use, forks a child for each module. The child parses the module and sends it back
as a proto. If the child ends early or takes too long, the result is a ``HloParseError``. The first
call takes about a second. Later ones take some 20 milliseconds, and four times as long as parsing
does.

StableHLO is always converted here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from hlograph._native import native
from hlograph.errors import HloError, HloParseError

if TYPE_CHECKING:
    from hlograph import _xla

SourceForm: TypeAlias = Literal["text", "proto", "mlir", "newer"]
"""Form of what the other process parses: HLO text, an ``HloModuleProto``, StableHLO, or HLO text
for jaxlib's parser."""

NOT_HELD = "the linked XLA: "
"""Begins the error of a module that jaxlib parses and the linked XLA refuses."""

REQUEST = struct.Struct("<cdQ")
"""Form (its first letter), seconds that parsing may take, bytes that follow."""

RESPONSE = struct.Struct("<cQ")
"""Kind of the answer (p: the module; e: the message of an error), bytes that follow."""

DEVICE_COUNTS = struct.Struct("<QQ")
"""Replicas and partitions of a StableHLO module."""

# Parsing takes 0.1 s a megabyte, and writing the proto as long, on a machine of 2026.
_SECONDS = 10.0
_SECONDS_A_MEGABYTE = 5.0

# sys.path comes from here: the package may be imported from anywhere.
_SERVE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_SERVE += "from hlograph.reading.parser_server import serve; serve()"


class IsolatedParser:
    """Client of one server, which parses one module at a time; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def parse(self, form: SourceForm, data: bytes) -> bytes:
        """Parses a module.

        Args:
            form: ``"text"`` for HLO text, ``"proto"`` for an ``HloModuleProto``, ``"mlir"`` for
                StableHLO, ``"newer"`` for HLO text that jaxlib parses.
            data: HLO text, a serialized proto, or StableHLO as text or bytecode.

        Returns:
            The serialized ``HloModuleProto``. For text whose header has attributes that a proto
            does not hold, such as the number of replicas: HLO text as XLA prints it. For
            StableHLO: ``DEVICE_COUNTS``, followed by the proto.

        Raises:
            HloParseError: The data is no module, or XLA did not survive it.
            HloError: The server cannot be started, or was ended from outside twice.
        """
        megabytes = len(data) / (1 << 20)
        seconds = _SECONDS + _SECONDS_A_MEGABYTE * megabytes
        header = REQUEST.pack(form[0].encode(), seconds, len(data))
        with self._lock:
            for _ in range(2):
                try:
                    what, answer = self._ask(header, data)
                except (OSError, EOFError):
                    self._stop()
                    continue
                except BaseException:  # by a signal: the answer would be that to the next request
                    self._stop()
                    raise
                if what == b"p":
                    return answer
                raise HloParseError(answer.decode("utf-8", "replace"))
        raise HloError(
            "the process that parses HLO ended before it answered, twice: expected "
            f"{sys.executable} to start and to load hlograph"
        )

    def stop(self) -> None:
        """Ends the server; the next call starts another one."""
        with self._lock:
            self._stop()

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


def _forget_other_threads() -> None:
    """Frees the lock in a child, which has no copy of the thread that may have held it."""
    _parser._lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_other_threads)


def parse_isolated(form: SourceForm, data: bytes) -> bytes:
    """Parses a module with the one parser of this process; see ``IsolatedParser.parse``."""
    return _parser.parse(form, data)


# How jaxlib 0.12 prints a comparison in total order. Of protos, the extension reads both forms.
_NEWER_ORDER = re.compile(rb"(\bdirection=[A-Z]{2}), order=TOTAL\b")

HloForm: TypeAlias = Literal["text", "proto"]
"""Form of a serialized module: HLO text, or an ``HloModuleProto``."""


def parse(form: HloForm, data: bytes) -> _xla.Module:
    """Parses HLO text or a serialized ``HloModuleProto``.

    Raises:
        HloParseError: The data is not an HLO module.
    """
    return parse_text(data) if form == "text" else parse_proto(data)


def parse_text(text: bytes) -> _xla.Module:
    """Parses HLO text, that of jaxlib 0.12 included.

    Raises:
        HloParseError: The text is not an HLO module.
    """
    if b", order=TOTAL" in text:
        text = _NEWER_ORDER.sub(rb"\1, type=TOTALORDER", text)
    handle = native().Module.from_text(text)
    return handle or _parse_trusted(parse_isolated("text", text))


def parse_proto(serialized: bytes) -> _xla.Module:
    """Parses a serialized ``xla.HloModuleProto``.

    Raises:
        HloParseError: The bytes are not an HLO module.
    """
    handle = native().Module.from_proto(serialized)
    return handle or _parse_trusted(parse_isolated("proto", serialized))


def _parse_trusted(answer: bytes) -> _xla.Module:
    """Parses a proto, or text printed by XLA, that another process has parsed before."""
    module = native().Module
    # A proto begins with the tag of a field.
    parse = module.from_text if answer.startswith(b"HloModule") else module.from_proto
    handle = parse(answer, isolated=True)
    assert handle is not None  # only without isolated=True the parser may decline
    return handle
