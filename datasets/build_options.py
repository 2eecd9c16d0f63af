"""The command line of `build_corpus.py`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from builds import BUILDS


def parse_arguments() -> argparse.Namespace:
    """Returns the command line's options."""
    parser = argparse.ArgumentParser(description="Build the HLO corpus under datasets/.")
    parser.add_argument(
        "--set", choices=sorted(BUILDS), default="small", help="sets to build, the small by default"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="FAMILY", help="families to build")
    parser.add_argument(
        "--source", nargs="+", metavar="NAME", help="sources to run, all by default"
    )
    parser.add_argument(
        "--all", action="store_true", help="make the graphs of not_shipped.txt, too"
    )
    parser.add_argument("--force", action="store_true", help="make graphs again that are there")
    parser.add_argument(
        "--time-limit", type=float, default=3600, metavar="SECONDS", help="for one source"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="sources that run side by side"
    )
    parser.add_argument(
        "--folder", type=Path, help="where to build, the folder of the set by default"
    )
    parser.add_argument(
        "--manifest-only",
        action="store_true",
        help="check and measure the modules that are there again, make none",
    )
    parser.add_argument(
        "--splits-only", action="store_true", help="assign sets and splits again, make nothing"
    )
    parser.add_argument("--verbose", action="store_true", help="show what the sources print")
    arguments = parser.parse_args()
    build = arguments.build = BUILDS[arguments.set]
    arguments.folder = arguments.folder or build.folder
    arguments.source = arguments.source or build.sources()
    if unknown := set(arguments.source) - set(build.sources()):
        parser.error(f"no source is called {', '.join(sorted(unknown))}")
    return arguments
