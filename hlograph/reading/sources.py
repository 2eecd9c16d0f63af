"""What a user may hand over as a module: HLO text, protos, files, jax lowerings, StableHLO."""

from __future__ import annotations

import importlib.util
import os
import re
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import zstandard

from hlograph.errors import HloParseError
from hlograph.reading.isolated_parser import parse_isolated
from hlograph.storage.locations import as_location, read_bytes

if TYPE_CHECKING:
    from jax.stages import Lowered

    from hlograph.graph.hlo_graph import HloGraph
    from hlograph.module import Module

Kind: TypeAlias = Literal["text", "proto"]
_NextPart: TypeAlias = Callable[[bytes, int], tuple[bytes, bytes]]
Source: TypeAlias = "str | bytes | bytearray | memoryview | os.PathLike[str] | Lowered"

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MLIR_BYTECODE = b"ML\xefR"
_SAVED_GRAPH = b"HLOGRAPH"
_FOREIGN = {
    b"\x7fELF": "an ELF binary",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"PK\x03\x04": "a zip archive (or .npz, .pt, .keras)",
    b"\x93NUMPY": "a numpy array",
    b"%PDF": "a PDF document",
    b"BZh": "bzip2 data: decompress it first",
    b"\xfd7zXZ": "xz data: decompress it first",
    b"BC\xc0\xde": "LLVM bitcode",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    _SAVED_GRAPH: "a saved HloGraph: use hlograph.HloGraph.load",
}

# A text holds no control characters but white space; every proto does (field tags).
_CONTROL_CHARACTERS = bytes({*range(0x09), *range(0x0E, 0x20)})
_COMMENTS = re.compile(rb"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_MLIR_START = re.compile(rb"(?:builtin\.)?module\b|func\.func\b|#\w+\s*=|#loc|\"builtin\.module\"")
_SNIFFED = 4096
_LONGEST_PATH = 200
# So many bytes hold up to 128 MiB.
_ZSTD_STEP = 4096

MAX_BYTES = 2**31 - 1
"""The largest content of a source, also after decompression.

XLA's lexer matches with RE2, and protos are read by protobuf; neither takes more."""
# jaxlib reports "-:3:25: error: ...", and more lines about versions that say nothing of the text.
_MLIR_POSITION = re.compile(r".*?-:([1-9]\d*):(\d+): ")

_ACCEPTED = (
    "HLO text, a serialized HloModuleProto, a path or URL of either (also .gz or .zst), StableHLO "
    "text, a jax.stages.Lowered, or an hlograph.Module"
)


class HloFileNotFoundError(HloParseError, FileNotFoundError):
    """There is no file at the path that was given as a source."""


def parse(source: Source | Module) -> HloGraph:
    """Reads a module from whatever holds one, as a typed graph.

    What a file or bytes hold is told by the content, not by the suffix. The module is not
    verified: a graph shows what is written. Whatever the source holds, the process goes on;
    ``Module.from_text`` and ``from_proto`` have the limits. A file may hold ``MAX_BYTES``,
    compressed or not.

    Args:
        source: HLO text (str or bytes); a serialized ``HloModuleProto``, or the ``HloProto`` of
            an XLA dump; a path or URL of one of them, plain or compressed with gzip or zstd;
            StableHLO text or bytecode (converted by jaxlib); a ``jax.stages.Lowered``; or an
            ``hlograph.Module``. A str without a line break or brace is a path, or a URL that
            fsspec reads, such as ``s3://bucket/step.hlo.zst``.

    Returns:
        The graph.

    Raises:
        HloParseError: The source holds no HLO module. ``line`` and ``column`` tell where HLO
            text is wrong. Of a file that does not exist it is an ``HloFileNotFoundError``,
            which is also a ``FileNotFoundError``.
        EngineUnavailableError: The native extension cannot be loaded.
        ImportError: The source is StableHLO and jaxlib is not installed.
    """
    from hlograph.module import Module

    if isinstance(source, Module):
        return source.graph()
    kind, data = read_source(source)
    module = Module.from_text(data) if kind == "text" else Module.from_proto(data)
    return module.graph()


def read_source(source: object) -> tuple[Kind, bytes]:
    """Returns what XLA's parsers take: HLO text, or a serialized ``HloModuleProto``.

    Args:
        source: As for ``parse``, but for a Module.

    Raises:
        HloParseError: As for ``parse``; the content itself is left to XLA's parser.
        ImportError: The source is StableHLO and jaxlib is not installed.
    """
    if isinstance(source, str):
        if not source or source.isspace():
            raise HloParseError(f"expected {_ACCEPTED}; got an empty str")
        if "\n" in source or "{" in source:
            return _read_bytes(source.encode("utf-8", "surrogateescape"), "the given text")
        return _read_file(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _read_bytes(bytes(source), "the given data")
    if isinstance(source, os.PathLike):
        return _read_file(os.fspath(source))
    return _read_jax(source)


def _read_file(path: str) -> tuple[Kind, bytes]:
    name = repr(path if len(path) <= _LONGEST_PATH else path[:_LONGEST_PATH] + "...")
    try:
        data = read_bytes(as_location(path))
    except FileNotFoundError as error:
        raise HloFileNotFoundError(
            f"there is no file {name} (a str without a line break or brace is taken as a path)"
        ) from error
    except IsADirectoryError as error:
        raise HloParseError(f"{name} is a directory; expected a file with one module") from error
    except (OSError, ValueError) as error:
        raise HloParseError(f"cannot read the file {name}: {error.args[-1]}") from error
    return _read_bytes(data, name)


def _read_bytes(data: bytes, name: str) -> tuple[Kind, bytes]:
    data = _decompressed(data, name).removeprefix(_BYTE_ORDER_MARK)
    if not data or data.isspace():
        raise HloParseError(f"{name} is empty; expected {_ACCEPTED}")
    if data.startswith(_MLIR_BYTECODE):
        return "proto", _from_mlir(data, name)
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise HloParseError(f"{name} holds {what}; expected {_ACCEPTED}")
    if not _is_text(data):
        return "proto", _module_proto(data)
    start = _COMMENTS.match(data)
    if _MLIR_START.match(data, start.end() if start else 0):
        return "proto", _from_mlir(data, name)
    return "text", data


def _is_text(data: bytes) -> bool:
    start = data[:_SNIFFED]
    return len(start.translate(None, _CONTROL_CHARACTERS)) == len(start)


def _decompressed(data: bytes, name: str) -> bytes:
    try:
        if data.startswith(_GZIP):
            return _all_parts(data, name, _gzip_part)
        if data.startswith(_ZSTD):
            return _all_parts(data, name, _zstd_part)
    except (EOFError, zlib.error, zstandard.ZstdError) as error:
        raise HloParseError(
            f"{name} is compressed data that is cut off or damaged ({len(data)} bytes): {error}"
        ) from error
    return data


def _all_parts(data: bytes, name: str, next_part: _NextPart) -> bytes:
    """Decompresses parts, one behind the other, as long as what they hold is not too large."""
    parts = []
    left = MAX_BYTES
    while data:
        part, data = next_part(data, left)
        left -= len(part)
        if left < 0:
            raise HloParseError(f"{name} is compressed data of more than {MAX_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _gzip_part(data: bytes, limit: int) -> tuple[bytes, bytes]:
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    part = member.decompress(data, limit + 1)
    if not member.eof and len(part) <= limit:
        raise EOFError("the last gzip member does not end")
    return part, member.unused_data


def _zstd_part(data: bytes, limit: int) -> tuple[bytes, bytes]:
    # Its decompressor knows no limit, so it is fed little by little.
    frame = zstandard.ZstdDecompressor().decompressobj()
    parts = []
    size = 0
    for start in range(0, len(data), _ZSTD_STEP):
        end = start + _ZSTD_STEP
        parts.append(frame.decompress(data[start:end]))
        size += len(parts[-1])
        if frame.eof or size > limit:
            return b"".join(parts), frame.unused_data + data[end:]
    raise EOFError("the last zstd frame does not end")


def _module_proto(data: bytes) -> bytes:
    """Unpacks the module of an ``HloProto`` (or ``HloSnapshot``), which XLA's dumps hold.

    Field 1 of an ``HloModuleProto`` is its name; of the other two it is the message inside.
    """
    for _ in range(2):
        field = _first_field(data)
        if field is None or _is_text(field):
            break
        data = field
    return data


def _first_field(data: bytes) -> bytes | None:
    """The content of field 1, if the message starts with it and it is of variable length."""
    if data[:1] != b"\x0a":
        return None
    length = shift = 0
    for position in range(1, min(len(data), 11)):
        length |= (data[position] & 0x7F) << shift
        shift += 7
        if data[position] < 0x80:
            end = position + 1 + length
            return data[position + 1 : end] if end <= len(data) else None
    return None


def _read_jax(source: object) -> tuple[Kind, bytes]:
    # jax need not be imported to tell that something is not of jax.
    of_jax = type(source).__module__.split(".")[0] in ("jax", "jaxlib")
    if of_jax and type(source).__name__ == "Lowered":
        lowered: Any = source
        try:
            return "proto", lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
        except Exception as error:  # jax raises what its platform's lowering raises
            raise HloParseError(f"jax does not lower this to HLO: {error}") from error
    hint = ""
    if of_jax or callable(source):
        hint = ". Lower a jax function first: jax.jit(f).lower(*arguments)"
    raise HloParseError(f"expected {_ACCEPTED}; got {type(source).__qualname__}{hint}")


def _from_mlir(data: bytes, name: str) -> bytes:
    """Converts StableHLO, as text or bytecode, to a serialized ``HloModuleProto``.

    In another process: on some texts jaxlib does not end.
    """
    if importlib.util.find_spec("jaxlib") is None:
        raise ImportError(
            f"{name} is StableHLO, which jaxlib converts to HLO, and jaxlib is not installed: "
            "pip install jax"
        )
    try:
        return parse_isolated("mlir", data)
    except HloParseError as error:
        message = _MLIR_POSITION.sub(r"was parsing \1:\2: ", str(error))
        raise HloParseError(f"{name} is not StableHLO that jaxlib converts: {message}") from error
