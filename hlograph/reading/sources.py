"""Sources of modules: HLO text, protos, files, URLs, jax lowerings, StableHLO."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from hlograph.errors import HloParseError
from hlograph.reading.compression import decompress
from hlograph.reading.excerpts import Excerpt, excerpts_of
from hlograph.reading.newer_hlo import read_by_jaxlib
from hlograph.reading.parsers import HloForm
from hlograph.reading.recovery import ModuleName, chosen_module, recovered, several
from hlograph.reading.stablehlo import from_lowered, from_stablehlo
from hlograph.reading.stablehlo_checks import check_devices
from hlograph.reading.wire_format import fields, read_varint
from hlograph.reading.xla_protos import (
    from_text_format,
    inputs_of_snapshot,
    modules_of_profile,
    results_of_snapshot,
)
from hlograph.storage.locations import as_location, is_url, read_bytes

if TYPE_CHECKING:
    from jax.stages import Lowered

Source: TypeAlias = "str | bytes | bytearray | memoryview | os.PathLike[str] | Lowered"
"""Type of the sources that ``Module.read`` takes."""

# Protos as text: of a module, an HloProto, an HloSnapshot.
_TEXT_PROTO = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*(?:(?:hlo_module|hlo|computations)\s*\{|(?:name|entry_\w+):\s*\")"
)
_NAME = 2  # number of the field of a profile's plane
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MLIR_BYTECODE = b"ML\xefR"
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
    b"HLOGRAPH": "a saved HloGraph: use hlograph.HloGraph.load",
}

# Text has no control characters except white space; every proto has some (its field tags).
_CONTROL_CHARACTERS = bytes({*range(0x09), *range(0x0E, 0x20)})
_COMMENTS = re.compile(rb"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_MLIR_START = re.compile(rb"(?:builtin\.)?module\b|func\.func\b|#\w+\s*=|#loc|\"builtin\.module\"")
_SEPARATOR = re.compile(rb"^\s*//\s*-----", re.M)
_SNIFFED_BYTES = 4096
_LONGEST_SHOWN_PATH = 200
_HINT = " (a str without a line break or brace is taken as a path)"

_ACCEPTED = (
    "HLO text, a serialized HloModuleProto, a path or URL of either (also .gz or .zst), StableHLO "
    "text, a jax.stages.Lowered, or an hlograph.Module"
)


class HloFileNotFoundError(HloParseError, FileNotFoundError):
    """Raised when there is no file at the path given as a source."""


def file_of(source: object) -> str | None:
    """Returns the path or URL that a source names; None for text, data and objects."""
    if isinstance(source, str):
        return None if "\n" in source or "{" in source else source
    return os.fspath(source) if isinstance(source, os.PathLike) else None


class _Content(NamedTuple):
    """Content of a source.

    Attributes:
        data: The bytes, decompressed, without a byte order mark.
        name: Name of the source for messages.
        file: Its path or URL; None if it is no file.
    """

    data: bytes
    name: str
    file: str | None = None


def read_source(source: object, module: ModuleName | None = None) -> tuple[HloForm, bytes]:
    """Reads a source of a module, without parsing HLO.

    Args:
        source: A source as for ``hlograph.parse``, except a Module.
        module: Name or number of the module, of a text with several; None for one.

    Returns:
        The form of the content, and HLO text or a serialized ``HloModuleProto``.

    Raises:
        HloParseError: The source cannot be read, or holds neither HLO nor StableHLO. Errors in
            HLO itself are left to XLA's parser, and then to ``read_again``.
        UnknownNameError: There is no module of that name.
        ImportError: The source is StableHLO and jaxlib is not installed.
    """
    content = _content_of(source)
    if content is None:
        return _read_object(source)
    if module is None:
        return _read_content(content)
    return _read_excerpt(chosen_module(_excerpts(content), module, content.name), content.name)


def read_again(source: object, error: HloParseError) -> tuple[HloForm, bytes]:
    """Reads a text that XLA's parser refused: that of a newer XLA, or with a module within it.

    See ``recovered`` and ``read_by_jaxlib``.

    Args:
        source: The source.
        error: The error of the parser.

    Raises:
        HloParseError: There is not one whole module within it.
    """
    content = _content_of(source)
    if content is None or not _is_text(content.data):
        raise error
    try:
        excerpt = recovered(content.data, error, content.name, content.file)
    except HloParseError as other:
        if other is not error:
            raise
        return "proto", read_by_jaxlib(content.data, error, content.name)
    return _read_excerpt(excerpt, content.name)


def read_several(source: object) -> list[tuple[HloForm, bytes]]:
    """Reads the modules of a source with several, without parsing HLO; see ``read_source``.

    Returns:
        Form and content of each; empty for a source with one module or none.

    Raises:
        HloParseError: As for ``read_source``; or one of several modules is cut off.
    """
    content = _content_of(source)
    excerpts = [] if content is None else _excerpts(content)
    if content is None or len(excerpts) < 2:
        return []
    numbers = range(len(excerpts))
    return [_read_excerpt(chosen_module(excerpts, n, content.name), content.name) for n in numbers]


def tests_of(source: object) -> list[tuple[str, bytes]]:
    """Returns the StableHLO modules of a source that say what they compute.

    Returns:
        Name and StableHLO of each, with its expectations as custom calls.

    Raises:
        HloParseError: The source cannot be read, or holds no StableHLO text.
    """
    content = _content_of(source)
    excerpts: list[Excerpt] = []
    if content is not None and _is_text(content.data):
        excerpts = excerpts_of(content.data.decode("utf-8", "surrogateescape"))
    tests = [excerpt for excerpt in excerpts if excerpt.form == "mlir"]
    if not tests:
        name = content.name if content is not None else type(source).__qualname__
        raise HloParseError(
            "expected StableHLO text with expectations, or an HloSnapshot with results, "
            f"got none in {name}"
        )
    return [(test.name, test.text.encode("utf-8", "surrogateescape")) for test in tests]


def _content_of(source: object) -> _Content | None:
    """Returns the content of a source; None if it is an object."""
    if isinstance(source, str) and (not source or source.isspace()):
        raise HloParseError(f"expected {_ACCEPTED}; got an empty str")
    if (path := file_of(source)) is not None:
        content = _file(path, _HINT if isinstance(source, str) and not is_url(source) else "")
    elif isinstance(source, str):
        content = _Content(source.encode("utf-8", "surrogateescape"), "the given text")
    elif isinstance(source, bytes | bytearray | memoryview):
        content = _Content(bytes(source), "the given data")
    else:
        return None
    data = decompress(content.data, content.name).removeprefix(_BYTE_ORDER_MARK)
    if not data or data.isspace():
        raise HloParseError(f"{content.name} is empty; expected {_ACCEPTED}")
    return content._replace(data=data)


def _file(path: str, hint: str) -> _Content:
    name = repr(path if len(path) <= _LONGEST_SHOWN_PATH else path[:_LONGEST_SHOWN_PATH] + "...")
    try:
        data = read_bytes(as_location(path))
    except FileNotFoundError as error:
        raise HloFileNotFoundError(f"there is no file {name}{hint}") from error
    except IsADirectoryError as error:
        raise HloParseError(f"{name} is a directory; expected a file with one module") from error
    except (OSError, ValueError) as error:
        raise HloParseError(f"cannot read the file {name}: {error.args[-1]}") from error
    return _Content(data, name, path)


def _read_content(content: _Content) -> tuple[HloForm, bytes]:
    data, name = content.data, content.name
    if data.startswith(_MLIR_BYTECODE):
        return from_stablehlo(data, name)
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise HloParseError(f"{name} holds {what}; expected {_ACCEPTED}")
    if _is_profile(data):
        excerpts = _excerpts(content)
        if not excerpts:
            raise HloParseError(f"{name} is a profile without modules of XLA")
        if len(excerpts) > 1:
            raise several(excerpts, name)
        return "proto", _module_proto(excerpts[0].data)
    if not _is_text(data):
        return "proto", _module_proto(data)
    if _TEXT_PROTO.match(data):
        return "proto", _module_proto(from_text_format(data.decode("utf-8", "replace"), name))
    start = _COMMENTS.match(data)
    if not _MLIR_START.match(data, start.end() if start else 0):
        return "text", data
    if _SEPARATOR.search(data):
        excerpts = excerpts_of(data.decode("utf-8", "surrogateescape"))
        if len(excerpts) > 1:
            raise several(excerpts, name)
    try:
        return from_stablehlo(data, name)
    except HloParseError as error:
        return _read_excerpt(recovered(data, error, name, content.file), name)


def _excerpts(content: _Content) -> list[Excerpt]:
    if _is_text(content.data):
        return excerpts_of(content.data.decode("utf-8", "surrogateescape"))
    if not _is_profile(content.data):
        return []
    modules = modules_of_profile(content.data)
    return [Excerpt(name, "proto", "", data=data) for name, data in modules]


def _read_excerpt(excerpt: Excerpt, name: str) -> tuple[HloForm, bytes]:
    if excerpt.form == "proto":
        return "proto", _module_proto(excerpt.data)
    data = excerpt.text.encode("utf-8", "surrogateescape")
    if excerpt.form != "mlir":
        return "text", data
    check_devices(excerpt.text, name)
    return from_stablehlo(data, name)


def _is_text(data: bytes) -> bool:
    start = data[:_SNIFFED_BYTES]
    return len(start.translate(None, _CONTROL_CHARACTERS)) == len(start)


def _is_profile(data: bytes) -> bool:
    """Returns True for the profile of a program, whose planes have names such as ``/host:CPU``."""
    plane = None if _is_text(data) else _first_field(data)
    if plane is None:
        return False
    try:
        names = [bytes(text) for number, _, text in fields(plane) if number == _NAME and text]
    except (ValueError, IndexError):
        return False
    return any(name.startswith((b"/host", b"/device", b"Task Env")) for name in names[:1])


def inputs_in(source: object) -> list[NDArray[Any]] | None:
    """Returns the inputs that a source has beside its module: those of an ``HloSnapshot``.

    Returns:
        One array for each leaf of the parameters; None for other sources.

    Raises:
        HloParseError: The source cannot be read, or the snapshot is damaged.
    """
    snapshot = _snapshot_in(source)
    return None if snapshot is None else inputs_of_snapshot(snapshot) or None


def results_in(source: object) -> list[NDArray[Any]] | None:
    """Returns the results that a source has beside its module: those of an ``HloSnapshot``.

    Returns:
        One array for each leaf of the result; None for other sources.

    Raises:
        HloParseError: The source cannot be read, or the snapshot is damaged.
    """
    snapshot = _snapshot_in(source)
    return None if snapshot is None else results_of_snapshot(snapshot) or None


def _snapshot_in(source: object) -> bytes | None:
    """Returns the serialized ``HloSnapshot`` that a source is; None for others."""
    content = _content_of(source)
    if content is None:
        return None
    data = content.data
    if _is_text(data):
        if not _TEXT_PROTO.match(data):
            return None
        data = from_text_format(data.decode("utf-8", "replace"), content.name)
    proto = _first_field(data)
    module = None if proto is None or _is_text(proto) else _first_field(proto)
    return None if module is None or _is_text(module) or _is_profile(data) else data


def _module_proto(data: bytes) -> bytes:
    """Returns the module inside an ``HloProto`` or ``HloSnapshot``, as XLA's dumps hold them.

    Field 1 of an ``HloModuleProto`` is its name. In the other two it is the inner message.
    """
    for _ in range(2):
        field = _first_field(data)
        if field is None or _is_text(field):
            break
        data = field
    return data


def _first_field(data: bytes) -> bytes | None:
    """Returns the content of field 1, if the message starts with it and its length is variable."""
    if data[:1] != b"\x0a":
        return None
    try:
        length, start = read_varint(data, 1)
    except ValueError:
        return None
    end = start + length
    return data[start:end] if end <= len(data) else None


def _read_object(source: object) -> tuple[HloForm, bytes]:
    if is_lowered(source):
        return from_lowered(source)
    is_from_jax, hint = _is_from_jax(source), ""
    if is_from_jax and hasattr(source, "as_text"):
        hint = ": give the Lowered that it was made of, or its as_text()"
    elif is_from_jax and hasattr(source, "mlir_module"):
        hint = ": give its mlir_module()"
    elif is_from_jax or callable(source):
        hint = ". Lower a jax function first: jax.jit(f).lower(*arguments)"
    raise HloParseError(f"expected {_ACCEPTED}; got {type(source).__qualname__}{hint}")


def is_lowered(source: object) -> bool:
    """Returns True for a ``jax.stages.Lowered``."""
    return type(source).__name__ == "Lowered" and _is_from_jax(source)


def _is_from_jax(source: object) -> bool:
    # By name, so that jax is not imported to find out that an object is not from jax.
    return type(source).__module__.split(".")[0] in ("jax", "jaxlib")
