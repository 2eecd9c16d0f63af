"""Reads texts that are no module as a whole, or says where they end and what they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TypeAlias

from hlograph.errors import HloParseError, HloWarning, UnknownNameError
from hlograph.reading.dumps import first_module_of, kind_of
from hlograph.reading.excerpts import Excerpt, excerpts_of, left_out

ModuleName: TypeAlias = str | int
"""Name of a module in a text, or its number from 0."""

_MOST_LISTED = 20


def recovered(text: bytes, error: HloParseError, name: str, file: str | None) -> Excerpt:
    """Returns the one module within a text, and warns of what was left out.

    Args:
        text: The text, which a parser has refused.
        error: The parser's error.
        name: Name of the source for messages.
        file: Path or URL of the source; None if it is no file.

    Raises:
        HloParseError: There are several modules or none, or the module is cut off. It is ``error``
            if the text is a module with an error in it.
    """
    decoded = text.decode("utf-8", "surrogateescape")
    kind = kind_of(text) if b"HloModule" not in text else ""
    excerpts = [] if kind else excerpts_of(decoded)
    if not excerpts:
        raise _no_module(kind, error, name, file) from error
    if len(excerpts) > 1:
        raise several(excerpts, name)
    (excerpt,) = excerpts
    if excerpt.cut:
        last = excerpt.line - 1 + excerpt.lines
        if error.line is not None and error.line < last:
            raise error  # a bracket too many or too few
        raise HloParseError(f"{name} is cut off: {excerpt.cut}. {error}") from error
    out = left_out(decoded, excerpt)
    if not out and excerpt.text.strip() == decoded.strip():
        raise error
    where = f"in line {excerpt.line} of {name}"
    if out:
        warnings.warn(
            f"read the module {excerpt.name!r} {where}; left out: {out}", HloWarning, stacklevel=5
        )
    return excerpt


def chosen_module(excerpts: Sequence[Excerpt], module: ModuleName, name: str) -> Excerpt:
    """Returns the module of a name or number.

    Raises:
        UnknownNameError: There is none.
        HloParseError: Several have this name, or the module is cut off.
    """
    chosen = [excerpt for excerpt in excerpts if excerpt.name == module]
    if not chosen and str(module).isdecimal() and int(module) < len(excerpts):
        chosen = [excerpts[int(module)]]
    if not chosen:
        names = [excerpt.name for excerpt in excerpts]
        raise UnknownNameError.of(f"module of {name}", str(module), names)
    if len(chosen) > 1:
        raise HloParseError(
            f"{len(chosen)} modules of {name} are called {module!r}; choose by number: "
            f"{_listed(excerpts)}"
        )
    if chosen[0].cut:
        raise HloParseError(f"the module {module!r} of {name} is cut off: {chosen[0].cut}")
    return chosen[0]


def several(excerpts: Sequence[Excerpt], name: str) -> HloParseError:
    """Returns the error for a text with several modules."""
    return HloParseError(
        f"{name} has {len(excerpts)} modules: {_listed(excerpts)}. Choose one by its name or its "
        f"number (hlograph.parse(..., module={excerpts[0].name!r}), on the command line --module), "
        "or take all with hlograph.parse_all"
    )


def in_file(file: str, error: HloParseError) -> HloParseError:
    """Returns an error that also names the file; its line and column are those of the error."""
    beside = first_module_of(file)
    hint = f"; the module of this dump is in {beside}" if beside else ""
    return HloParseError(f"in {file}: {error}{hint}")


def _listed(excerpts: Sequence[Excerpt]) -> str:
    listed = ", ".join(
        f"{number}: {excerpt.name!r}{excerpt.place}"
        for number, excerpt in enumerate(excerpts[:_MOST_LISTED])
    )
    rest = len(excerpts) - _MOST_LISTED
    return listed + (f" and {rest} more" if rest > 0 else "")


def _no_module(kind: str, error: HloParseError, name: str, file: str | None) -> HloParseError:
    if not kind:
        return error
    beside = first_module_of(file) if file else None
    hint = f"; the module of this dump is in {beside}" if beside else ""
    return HloParseError(f"{name} is no module: it has {kind}{hint}")
