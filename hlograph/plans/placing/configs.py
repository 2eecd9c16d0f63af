"""Backend configurations of fusions: their partitions and libraries."""

from __future__ import annotations

import json

from hlograph.reading.hlo_editing import Instruction

_CONFIG, _KEY = "backend_config", "outer_dimension_partitions"


def partitions_of(one: Instruction) -> tuple[int, ...]:
    """Returns the number of parts of a fusion's outer dimensions; empty for one thread."""
    config = json.loads(one.attributes.get(_CONFIG, "{}"))
    return tuple(map(int, config.get(_KEY, ())))


def set_partitions(one: Instruction, parts: tuple[int, ...]) -> None:
    """Writes the number of parts into a fusion's backend configuration."""
    if parts:
        config = {_KEY: [str(part) for part in parts]}
        one.attributes[_CONFIG] = json.dumps(config, separators=(",", ":"))
    else:
        one.attributes.pop(_CONFIG, None)


def library_kind(one: Instruction) -> str:
    """Returns XLA's name of the library's fusion that an instruction is; empty for others."""
    config = json.loads(one.attributes.get(_CONFIG, "{}")) if one.kind == "kCustom" else {}
    return str(config.get("fusion_config", {}).get("kind", ""))


def set_library(one: Instruction, kind: str) -> None:
    """Makes a fusion that of a library, by XLA's name of its kind; empty makes a loop fusion."""
    one.attributes["kind"] = "kCustom" if kind else "kLoop"
    one.attributes.pop(_CONFIG, None)
    if kind:
        config = {_KEY: [], "fusion_config": {"kind": kind}}
        one.attributes[_CONFIG] = json.dumps(config, separators=(",", ":"))
