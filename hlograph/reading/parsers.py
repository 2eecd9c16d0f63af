"""XLA's parsers of HLO text and protos, called in a way that the process survives.

Modules on which XLA's parsers might end the process are parsed in another process
(``hlograph.reading.isolated_parser``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from hlograph._native import native
from hlograph.reading.isolated_parser import parse_isolated

if TYPE_CHECKING:
    from hlograph import _xla

HloForm: TypeAlias = Literal["text", "proto"]
"""Form of a serialized module: HLO text, or an ``HloModuleProto``."""


def parse(form: HloForm, data: bytes) -> _xla.Module:
    """Parses HLO text or a serialized ``HloModuleProto``.

    Raises:
        HloParseError: The data is not an HLO module.
    """
    return parse_text(data) if form == "text" else parse_proto(data)


def parse_text(text: bytes) -> _xla.Module:
    """Parses HLO text.

    Raises:
        HloParseError: The text is not an HLO module.
    """
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
