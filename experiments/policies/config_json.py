"""Settings to JSON and back."""

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Returns a frozen dataclass, with nested ones, as values that `json` can write."""
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def from_json(cls: type[T], data: Mapping[str, Any]) -> T:
    """Returns the dataclass that `to_json` wrote.

    Args:
        cls: The dataclass.
        data: Its fields; those that are missing take their defaults.

    Raises:
        ValueError: There is a field that the class does not have.
    """
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ValueError(f"{cls.__name__} has no setting {', '.join(unknown)}")
    return cls(**{name: _value(hints[name], value) for name, value in data.items()})


def _value(hint: Any, value: Any) -> Any:
    """Returns the value of a field whose type is a dataclass, a path, a tuple, or plain."""
    if value is None:
        return None
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    if is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    if hint is Path:
        return Path(value)
    return tuple(value) if typing.get_origin(hint) is tuple else value
