"""HLO text that the linked XLA does not parse because a newer XLA has written it."""

from __future__ import annotations

import re
import warnings
from importlib.metadata import PackageNotFoundError, version

from hlograph.errors import HloParseError, HloWarning
from hlograph.reading.device_counts import NOT_IN_PROTO
from hlograph.reading.parsers import NOT_HELD, parse_isolated

# What XLA's parser says of words that it does not know. Damaged text has other errors, too.
_UNKNOWN = re.compile(
    r"error: (unexpected attribute \"[^\"\n]+\"|Invalid API version: \w+|unexpected token\b[^\n]*"
    r"|expects opcode but sees: [\w\-]+)"
)


def read_by_jaxlib(text: bytes, error: HloParseError, name: str) -> bytes:
    """Parses HLO text by jaxlib, whose XLA may be newer than the linked one.

    Args:
        text: HLO text.
        error: The error of the linked XLA's parser.
        name: Name of the source for messages.

    Returns:
        The serialized ``HloModuleProto``, which the linked XLA reads.

    Raises:
        HloParseError: It is not the text of a newer XLA, or jaxlib does not know it either, or the
            linked XLA cannot hold it. The message says which word is newer.
    """
    nested = "nested instruction" in str(error)  # an operand that there is not, tried as an opcode
    unknown = None if nested else _UNKNOWN.search(str(error))
    jaxlib = _version("jaxlib")
    if unknown is None or not jaxlib:
        raise error
    linked = "the XLA that hlograph links"
    if engine := _version("tensorflow-cpu"):
        linked += f" (of tensorflow-cpu {engine})"
    try:
        proto = parse_isolated("newer", text)
    except HloParseError as other:
        if _UNKNOWN.search(str(other)):
            raise HloParseError(
                f"{error}\nNeither {linked} nor that of jaxlib {jaxlib} knows it. It is "
                "misspelled, or of a newer XLA: take it out, or write the module with an older "
                "jaxlib"
            ) from error
        if str(other).startswith(NOT_HELD):
            raise HloParseError(
                f"{error}\njaxlib {jaxlib} knows it, but it is newer than {linked}, which "
                f"cannot hold it: {str(other).removeprefix(NOT_HELD)}"
            ) from error
        raise error from other
    lost = "What modules of the latter have no place for is left out"
    if NOT_IN_PROTO.search(text):
        lost += ", and so are the numbers of replicas and partitions"
    warnings.warn(
        f"{name} was read by jaxlib {jaxlib}, because it is newer than {linked}: {unknown[1]}. "
        f"{lost}",
        HloWarning,
        stacklevel=4,
    )
    return proto


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
