"""Runs one experiment of the paper, or a further one, and saves its study.

    python -m experiments.paper figure2
    python -m experiments.paper figure4 --preset full --seeds 0 1 2 3 4

The result is a study.json in a folder under runs/, from which `python -m experiments.paper report`
makes tables and figures. A run that was interrupted is continued with --out FOLDER.
"""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import tyro

from experiments.evaluate.run_folder import (
    FAILED,
    REFUSED,
    RunFolderError,
    run_folder,
)
from experiments.paper.settings import (
    FIGURE3,
    GENERALISATION,
    REWRITING,
    RUNTIME,
    SEARCH,
    WIN,
)
from experiments.paper.training_settings import ABLATIONS, FIGURE2, FIGURE4
from experiments.policies.config import to_json
from experiments.workers.startup import prepare_process
from hlograph.errors import DamagedFileError, HloError
from hlograph.execution.interrupts import INTERRUPTED, handled_interrupts
from hlograph.storage.checked_file import read_checked_json, write_checked_json


class Experiment(NamedTuple):
    """An experiment of the command line."""

    about: str
    """Its line in --help; the docstring of its settings describes it."""
    presets: Mapping[str, Any]
    """Settings by preset; frozen dataclasses with the fields preset, seeds and out."""
    run: str
    """Function that runs it, as module:name. Of the settings and a folder (for checkpoints, events,
    partial results and records of lost workers) it makes the study, which the caller saves. It
    raises HloError, ValueError if settings do not fit each other, or OSError."""


EXPERIMENTS = {
    "figure2": Experiment(
        "agents on GPT-2's graphs: DQN, A2C, TRPO, PPO, and PPO with a GNN",
        FIGURE2,
        "experiments.paper.training:figure2",
    ),
    "figure3": Experiment(
        "GNN and op counts against XLA's order, benchmark by benchmark",
        FIGURE3,
        "experiments.paper.checkpoints:figure3",
    ),
    "figure4": Experiment(
        "plain PPO, shaped rewards, a value function that sees costs; both encoders",
        FIGURE4,
        "experiments.paper.training:figure4",
    ),
    "runtime": Experiment(
        "modules before and after, compiled by XLA:CPU and run in turn (section 5.1.2)",
        RUNTIME,
        "experiments.paper.runtime:run",
    ),
    "search": Experiment(
        "random, greedy, beam, evolutionary and guided search at equal budgets",
        SEARCH,
        "experiments.paper.search:run",
    ),
    "ablations": Experiment(
        "parts of the graph and of the encoder, left out one at a time",
        ABLATIONS,
        "experiments.paper.training:ablations",
    ),
    "generalisation": Experiment(
        "families seen and unseen, and modules larger than any trained on",
        GENERALISATION,
        "experiments.paper.checkpoints:generalisation",
    ),
    "rewriting": Experiment(
        "single rewrites instead of passes: searches, equality saturation, a policy",
        REWRITING,
        "experiments.paper.rewriting:run",
    ),
    "win": Experiment(
        "the best policies against the aims, and random search in the same time",
        WIN,
        "experiments.paper.checkpoints:win",
    ),
}
CONFIG = "experiment.json"
_KIND, _VERSION = "experiment settings", 1


def parse(arguments: Sequence[str]) -> tuple[str, Any]:
    """Returns name and settings of the experiment that a command line names."""
    lines = "\n".join(f"  {name:15} {entry.about}" for name, entry in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        "python -m experiments.paper",
        description=(__doc__ or "").strip(),
        epilog=f"experiments:\n{lines}\n\nFIGURE --help shows the settings of one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [-h] FIGURE [--preset PRESET] [settings]",
    )
    parser.add_argument("figure", metavar="FIGURE", choices=list(EXPERIMENTS), help="see below")
    name = parser.parse_args(arguments[:1]).figure
    presets = EXPERIMENTS[name].presets
    prog = f"python -m experiments.paper {name}"
    first = argparse.ArgumentParser(prog, add_help=False, allow_abbrev=False)
    first.add_argument("--preset", choices=list(presets))
    given, _ = first.parse_known_args(arguments[1:])
    default = presets[given.preset or next(iter(presets))]
    # Each experiment has a class of its own, so the type of its settings is not known here.
    config: Any = tyro.cli(type(default), default=default, args=arguments[1:], prog=prog)
    return name, config


def main(arguments: Sequence[str]) -> int:
    """Runs the experiment that a command line names.

    Returns:
        Exit status.
    """
    if arguments[:1] == ["report"]:
        from experiments.paper.report import chapters

        return chapters.main(arguments[1:])
    name, config = parse(arguments)
    time = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = config.out or Path("runs") / f"paper-{name}-{config.preset}-{time}"
    terminated = handled_interrupts(signal.default_int_handler, (signal.SIGTERM,))
    try:
        with terminated, run_folder(folder):
            _keep(replace(config, out=folder), folder)
            prepare_process("cpu")
            resolve_name(EXPERIMENTS[name].run)(config, folder).save(folder)
    except RunFolderError as error:
        print(f"--out: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print(f"\nInterrupted; to continue, repeat with --out {folder}", file=sys.stderr)
        return INTERRUPTED
    except (HloError, OSError) as error:
        print(f"\n{type(error).__name__}: {error}", file=sys.stderr)
        print(f"To continue, repeat with --out {folder}", file=sys.stderr)
        return FAILED
    except ValueError as error:
        print(f"\n{error}", file=sys.stderr)
        return REFUSED
    print(f"study.json is in {folder}")
    return 0


def _keep(config: Any, folder: Path) -> None:
    """Writes the settings into the folder, or compares them with those of an earlier run.

    Raises:
        RunFolderError: The settings there differ, or their file is damaged.
    """
    settings = to_json(config)
    try:
        begun = read_checked_json(folder / CONFIG, _KIND, _VERSION)["config"]
    except FileNotFoundError:
        write_checked_json(folder / CONFIG, _KIND, _VERSION, {"config": settings})
        return
    except DamagedFileError as error:
        raise RunFolderError(str(error)) from error
    changed = [
        key
        for key in (begun | settings).keys() - {"out"}
        if begun.get(key, ...) != settings.get(key, ...)
    ]
    if changed:
        raise RunFolderError(
            f"{folder} was begun with other settings: {', '.join(sorted(changed))}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
