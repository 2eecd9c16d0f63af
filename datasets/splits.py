"""The set and the split that a benchmark belongs to.

`test-unseen` holds whole families (`HELD_OUT`). The other families are divided by configuration,
`family/model`: all programs of a configuration are in one split, and so are all configurations that
share a structure (equal opcodes and edges: modules that differ only in shapes, types, literals or
attributes). What is tied together this way is one group, and goes to one split by a hash of its
name, so that a benchmark keeps its split when others are added, unless they tie groups together.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from manifest import Row

GPT2_KIN = frozenset({"gpt-neo", "gpt-j", "opt"})
"""Held-out families whose training steps are the split `test-unseen` of the set `gpt2-train`."""

HELD_OUT_LIBRARIES = {
    "diffrax": {"implicit-ode", "neural-ode", "ode-solver", "sde-solver"},
    "e3nn-jax": {"equivariant"},
    "equinox": {
        *("capsule", "deep-equilibrium", "hypernetwork", "neural-process", "normalizing-flow"),
        *("state-space", "turing-machine", "unet"),
    },
    "jax-md": {"molecular-dynamics"},
    "tinygp": {"gp-quasiseparable", "gp-tinygp"},
}
"""All families of some libraries, by library, so that these are unseen, too."""

HELD_OUT = GPT2_KIN.union({"bert", "llama", "mobilenet", "t5"}, *HELD_OUT_LIBRARIES.values())
"""Families of the split `test-unseen`, each held out whole."""

SHARES = (("train", 0.7), ("validation", 0.8), ("test-seen", 1.0))
"""Upper bounds of a group's hash, as a fraction, for each split."""


def assign(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows with their sets and splits."""
    rows = list(rows)
    groups = configuration_groups(rows)
    held_out_groups = {groups[row.name] for row in rows if row.family in HELD_OUT}
    families = defaultdict(set)
    for row in rows:
        if groups[row.name] not in held_out_groups:
            families[row.family].add(groups[row.name])
    # A family that is tested as seen has to be seen.
    trained = {min(tied, key=fraction) for tied in families.values()}
    assigned = []
    for row in rows:
        group = groups[row.name]
        if row.family in HELD_OUT:
            split = "test-unseen"
        elif group in held_out_groups:
            split = "test-seen"
        else:
            split = "train" if group in trained else split_at(fraction(group))
        assigned.append(row._replace(set=set_of(row), split=split))
    return assigned


def set_of(row: Row) -> str:
    """Returns the set that a benchmark belongs to."""
    akin = row.family == "gpt2" or row.family in GPT2_KIN
    return "gpt2-train" if akin and row.scope == "training-step" else "diverse"


def configuration_groups(rows: Iterable[Row]) -> dict[str, str]:
    """Returns the group of each benchmark: the first configuration of those tied together.

    Configurations are tied if they share a structure.
    """
    first: dict[str, str] = {}

    def find(configuration: str) -> str:
        while first.setdefault(configuration, configuration) != configuration:
            configuration = first[configuration]
        return configuration

    owner: dict[str, str] = {}
    rows = list(rows)
    for row in rows:
        one = find(configuration_of(row.name))
        other = find(owner.setdefault(row.structure, one))
        first[max(one, other)] = min(one, other)
    return {row.name: find(configuration_of(row.name)) for row in rows}


def configuration_of(name: str) -> str:
    """Returns the configuration of a benchmark, `family/model`."""
    return name.rsplit("/", 1)[0]


def fraction(name: str) -> float:
    """Returns a number from 0 to 1 that depends on a name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64


def split_at(value: float) -> str:
    """Returns the split of a group whose hash is this fraction."""
    return next(split for split, bound in SHARES if value < bound)
