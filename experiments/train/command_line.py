"""Command lines of the training programs.

The command line is built from a dataclass. `--preset` and `--resume` decide the defaults of the
other settings, so they are parsed first.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import tyro

from experiments.evaluate.run_folder import CONFIG, CONFIG_KIND, CONFIG_VERSION
from experiments.policies.config import TrainConfig
from experiments.policies.config_json import from_json
from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import read_checked_json
from hlograph.storage.locations import as_location, is_url, join

Config = TypeVar("Config", bound=TrainConfig)


def parse(
    presets: Mapping[str, Config], description: str, arguments: Sequence[str] | None = None
) -> Config:
    """Returns the settings that a command line asks for.

    Args:
        presets: Defaults by the name of the preset, all of one class, which names the program.
        description: Description of the program, for `--help`.
        arguments: The command line without the program; by default this process's.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    prog = f"python -m experiments.{presets['quick'].program}"
    first = argparse.ArgumentParser(prog, add_help=False, allow_abbrev=False)
    first.add_argument("--preset", choices=list(presets))
    first.add_argument("--resume")
    given, _ = first.parse_known_args(arguments)
    default = presets[given.preset or "quick"]
    if given.resume is not None:
        default = _stored(type(default), given.resume)
        if given.preset not in (None, default.preset):
            first.error(f"--preset: the run in {given.resume} has preset {default.preset}")
    config = tyro.cli(
        type(default), default=default, args=arguments, prog=prog, description=description
    )
    if given.resume is not None and is_url(given.resume):
        if config.out is None:
            first.error("--out: name the folder in which the run at a URL is to go on")
    elif given.resume is not None and config.out != default.out:
        first.error(f"--out: a resumed run stays in its folder, {default.out}")
    return config


def _stored(cls: type[Config], resume: str) -> Config:
    """Returns the settings of the run in a folder, at a URL, or that a checkpoint belongs to."""
    given = as_location(resume)
    places = (given,) if isinstance(given, str) else (given, *given.parents[:2])
    for place in places:
        try:
            stored = read_checked_json(join(place, CONFIG), CONFIG_KIND, CONFIG_VERSION)["config"]
            out = place if isinstance(place, Path) else None
            return replace(from_json(cls, stored), out=out, resume=resume)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (DamagedFileError, OSError) as error:
            sys.exit(f"--resume: {error}")
        except ValueError as error:
            sys.exit(f"--resume: {place} is of another program or version: {error}")
    sys.exit(f"--resume: there is no {CONFIG} in {resume}" + " or above it" * (len(places) > 1))
