"""Makes docs/command-line-options.md of the commands' own help.

python -m tests.command_line_options --write
"""

import argparse
import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from hlograph.commands.command_line import main as hlograph

PAGE = Path(__file__).parent.parent / "docs" / "command-line-options.md"
_WIDTH = 88
_INTRODUCTION = """# All options

What `hlograph COMMAND --help` prints, of each command. [The command line](command-line.md) has
examples.

This page is written by `python -m tests.command_line_options --write`.
"""


def help_of(*command: str) -> str:
    """Returns what a command prints with ``--help``."""
    printed = io.StringIO()
    plain = {"COLUMNS": str(_WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, plain), redirect_stdout(printed), suppress(SystemExit):
        hlograph([*command, "--help"])
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()).strip()


def commands(*parent: str) -> Iterator[tuple[str, ...]]:
    """Yields the commands below one, each with the words that name it, in the order of the help."""
    choices = re.search(r"^usage: .*\{([\w,-]+)\}$", help_of(*parent), flags=re.MULTILINE)
    for name in choices[1].split(",") if choices else ():
        yield (*parent, name)
        yield from commands(*parent, name)


def page() -> str:
    """Returns the page."""
    parts = [_INTRODUCTION]
    for command in commands():
        name = " ".join(command)
        parts.append(f"\n## {name}\n\n```text\n{help_of(*command)}\n```\n")
    return "".join(parts)


def main() -> None:
    """Prints or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page, do not print it")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
