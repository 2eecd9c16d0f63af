"""Command lines of the training programs.

The settings are a dataclass, and the command line is made of it. `--preset` and `--resume`
say which values the other settings have where no flag says otherwise, so they are looked
for first.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import tyro

from experiments.config import TrainConfig
from experiments.config_json import from_json
from hlograph.checked_file import read_checked_json
from hlograph.errors import DamagedFileError

CONFIG = "config.json"
CONFIG_KIND, CONFIG_VERSION = "run settings", 1
Config = TypeVar("Config", bound=TrainConfig)


def parse(
    presets: Mapping[str, Config],
    program: str,
    description: str,
    arguments: Sequence[str] | None = None,
) -> Config:
    """Settings from the command line.

    Args:
        presets: Defaults by the name of the preset.
        program: Name of the program's module, such as `train_gnn`.
        description: What the program does, for `--help`.
        arguments: The command line without the program; by default this process's.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    prog = f"python -m experiments.{program}"
    first = argparse.ArgumentParser(prog, add_help=False, allow_abbrev=False)
    first.add_argument("--preset", choices=list(presets))
    first.add_argument("--resume", type=Path)
    given, _ = first.parse_known_args(arguments)
    default = presets[given.preset or "quick"]
    if given.resume is not None:
        default = _stored(type(default), given.resume)
        if given.preset not in (None, default.preset):
            first.error(f"--preset: the run in {given.resume} has preset {default.preset}")
    config = tyro.cli(
        type(default), default=default, args=arguments, prog=prog, description=description
    )
    if given.resume is not None and config.out != default.out:
        first.error(f"--out: a resumed run stays in its folder, {default.out}")
    return config


def _stored(cls: type[Config], resume: Path) -> Config:
    """Settings of the run in a folder, or of the run that a checkpoint lies in."""
    for folder in (resume, *resume.parents[:2]):
        path = folder / CONFIG
        if path.is_file():
            try:
                stored = read_checked_json(path, CONFIG_KIND, CONFIG_VERSION)["config"]
                return replace(from_json(cls, stored), out=folder, resume=resume)
            except DamagedFileError as error:
                sys.exit(f"--resume: {error}")
            except ValueError as error:
                sys.exit(f"--resume: {folder} is of another program or version: {error}")
    sys.exit(f"--resume: there is no {CONFIG} in {resume} or above it")
