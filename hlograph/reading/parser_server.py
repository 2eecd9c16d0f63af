"""Server of ``hlograph.reading.parsers``, which parses each module in a child process."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
import resource
import select
import signal
import sys
from typing import IO, Any

from hlograph._native import native
from hlograph.errors import HloParseError
from hlograph.reading.device_counts import NOT_IN_PROTO, counts_of_bytecode, counts_of_stablehlo
from hlograph.reading.parsers import DEVICE_COUNTS, NOT_HELD, REQUEST, RESPONSE, read_exactly
from hlograph.reading.stablehlo_checks import without_checks

_PR_SET_PDEATHSIG = 1
# Memory that a child may take: for each byte of input, and besides. For text of modules in use, XLA
# takes 60 bytes a byte, a sixteenth of this.
_MEMORY_A_BYTE = 1024
_MEMORY = 8 << 30
_CHECK = re.compile(r"\S+\.(?:cc|h):\d+\] ([^\n]{1,300})")
_TEXT, _MLIR, _NEWER = b"t", b"m", b"n"
_MLIR_BYTECODE = b"ML\xefR"
_PROTO, _ERROR = b"p", b"e"


def serve() -> None:
    """Answers requests on stdin until it is closed."""
    requests, responses = sys.stdin.buffer, sys.stdout.buffer
    # Ctrl-C reaches every process of the terminal: it is the client's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    native()
    while True:
        try:
            kind, seconds, length = REQUEST.unpack(read_exactly(requests, REQUEST.size))
            data = read_exactly(requests, length)
        except EOFError:
            return
        if kind in (_MLIR, _NEWER):
            _mlir()  # imported here, for this child and those to come
        what, answer = _parse_in_child(kind, data, seconds)
        try:
            responses.write(RESPONSE.pack(what, len(answer)))
            responses.write(answer)
            responses.flush()
        except BrokenPipeError:  # the client has ended, and would have closed stdin
            os._exit(0)


def _parse_in_child(kind: bytes, data: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Parses one module; returns the kind of the answer, and the module or a message."""
    with _memory_file("result") as result, _memory_file("stderr") as stderr:
        child = os.fork()
        if child == 0:
            _be_child(kind, data, result, stderr)
        status = _wait(child, seconds)
        if status == 0:
            result.seek(0)
            answer = result.read()
            return answer[:1], answer[1:]
        stderr.seek(0)
        message = _last_words(stderr.read().decode("utf-8", "replace"))
    if status is None:
        return _ERROR, b"XLA's parser did not end within %.0f s" % seconds
    if not message:
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        message = f"it ended by {how}: parts of the module contradict each other"
    return _ERROR, f"XLA's parser gave up: {message}".encode()


def _be_child(kind: bytes, data: bytes, result: IO[bytes], stderr: IO[bytes]) -> None:
    """Parses a module, writes the answer, and ends the process."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(stderr.fileno(), 2)
        limit = _address_space() + _MEMORY + _MEMORY_A_BYTE * len(data)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            answer = _PROTO + _parse(kind, data)
        except HloParseError as error:
            answer = _ERROR + str(error).encode("utf-8", "replace")
        except MemoryError:
            answer = _ERROR + b"the module takes more memory than there is"
        result.write(answer)
        result.flush()
        os._exit(0)
    finally:
        os._exit(1)


def _parse(kind: bytes, data: bytes) -> bytes:
    """Returns the module as a proto, or as text where a proto would lose something."""
    if kind == _MLIR:
        return _converted(data)
    if kind == _NEWER:
        return _newer(data)
    module_type = native().Module
    parse = module_type.from_text if kind == _TEXT else module_type.from_proto
    module = parse(data, isolated=True)
    assert module is not None
    # The client reads the answer in its own process: XLA must survive it, so it is read here first.
    if kind == _TEXT and NOT_IN_PROTO.search(data):
        text = module.to_text(metadata=True).encode()
        module_type.from_text(text, isolated=True)
        return text
    proto = module.to_proto()
    module_type.from_proto(proto, isolated=True)
    return proto


def _mlir() -> Any:
    return importlib.import_module("jaxlib._jax").mlir


def _converted(data: bytes) -> bytes:
    try:
        if b"@check." in data:
            data, _ = without_checks(data)
        computation = _mlir().mlir_module_to_xla_computation(data)
        proto = computation.as_serialized_hlo_module_proto()
        is_bytecode = data.startswith(_MLIR_BYTECODE)
        counts = counts_of_bytecode(data) if is_bytecode else counts_of_stablehlo(data)
    except Exception as error:  # of classes that jaxlib does not export
        raise HloParseError(str(error).splitlines()[0]) from error
    return DEVICE_COUNTS.pack(*counts) + proto


def _newer(text: bytes) -> bytes:
    """Returns the proto of HLO text that jaxlib parses."""
    try:
        module = importlib.import_module("jaxlib._hlo").hlo_module_from_text(text.decode())
        proto = module.as_serialized_hlo_module_proto()
    except Exception as error:  # of classes that jaxlib does not export
        raise HloParseError(str(error)) from error
    try:
        native().Module.from_proto(proto, isolated=True)
    except HloParseError as error:
        raise HloParseError(f"{NOT_HELD}{error}") from error
    return proto


def _wait(child: int, seconds: float) -> int | None:
    """Returns the exit code of a child, negative for a signal; None if it was out of time."""
    descriptor = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        in_time = bool(poll.poll(seconds * 1000))
        if not in_time:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(descriptor)
    return os.waitstatus_to_exitcode(status) if in_time else None


def _memory_file(name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    return os.fdopen(os.memfd_create(name), "w+b")


def failed_check(output: str) -> str:
    """Returns the message of a failed check of XLA, without the place in XLA's sources.

    Args:
        output: What the process wrote to stderr.

    Returns:
        The message; empty if no check failed.
    """
    match = _CHECK.search(output)
    return match[1] if match else ""


def _last_words(output: str) -> str:
    return failed_check(output) or output.strip()[:300]


def _address_space() -> int:
    """Returns the bytes of address space of this process."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - no Path after a fork
        return int(file.read().split()[0]) * resource.getpagesize()
