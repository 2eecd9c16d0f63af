"""Defines the settings of the measurements, and their presets.

Nothing here imports torch or the engine, so that `--help` answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Group = Literal[
    "steps",
    "rewrites",
    "graphs",
    "memory",
    "learning",
    "encoder",
    "cost-model",
    "devices",
    "speed-rules",
    "busy",
    "first-call",
    "kept-memory",
    "compile-time",
]
GROUPS: tuple[Group, ...] = get_args(Group)
USUAL_GROUPS: tuple[Group, ...] = tuple(
    g for g in GROUPS if g not in ("devices", "speed-rules", "busy", "kept-memory", "compile-time")
)
"""Groups that are measured if none is named."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run: groups, sizes, repeats, and files."""

    preset: Literal["quick", "full"] = "quick"
    """Defaults of all other settings: quick takes a few minutes, full less than an hour."""
    groups: tuple[Group, ...] = USUAL_GROUPS
    """Groups to measure; with none, tables and pictures are made again from --out."""
    sizes: tuple[int, ...] = (100, 1_000, 8_000)
    """Instructions of the modules of steps and graphs; the corpus' nearest modules are used."""
    rewrite_sizes: tuple[int, ...] = (100, 500, 1_580)
    """Instructions of the modules whose rewrites are listed."""
    rounds: int = 5
    """Interleaved repeats of each measurement."""
    budget: float = 6.0
    """Seconds after which the repeats of one size end early; there are at least two."""
    growth_limit: int = 100_000
    """Instructions of the largest synthetic module of memory, from 1,000 in powers of ten."""
    learning_sizes: tuple[int, ...] = (300, 1_000)
    """Instructions of the modules that policies are trained on."""
    modules: int = 8
    """Modules of each of these sizes."""
    iterations: int = 2
    """Iterations of PPO of each policy that are timed."""
    workers: tuple[int, ...] = (1, 2)
    """Numbers of worker processes to compare."""
    rules: tuple[str, ...] = ("*",)
    """Globs of the rules for time that speed-rules measures; all take a quarter of an hour."""
    device: str = "cpu"
    """Torch device of the encoder measurement and of the updates, and the one to compare."""
    threads: int = 2
    """Threads of a PPO update, and of one torch operation of the encoder measurement."""
    seed: int = 0
    """Seed of actions and parameters."""
    out: Path = Path("runs/benchmarks.json")
    """File of results; it keeps the groups that are not measured now."""
    page: Path | None = None
    """Markdown page whose tables are replaced; pictures are written into its folder."""


PRESETS: dict[str, Settings] = {
    "quick": Settings(),
    "full": Settings(
        preset="full",
        sizes=(100, 1_000, 8_000, 50_000),
        rounds=11,
        budget=90.0,
        growth_limit=1_000_000,
        learning_sizes=(300, 1_000, 8_000),
        iterations=5,
    ),
}
