"""The program ``hlograph``: reads the command line, and prints the answer or the error."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Annotated, Any

import tyro

from hlograph.commands.apply import Apply
from hlograph.commands.board import SubmitResults, VerifySubmissions
from hlograph.commands.check import CheckProgram
from hlograph.commands.command import Answer, Command, one_line
from hlograph.commands.compare import Compare
from hlograph.commands.corpus import ExportBenchmarks, ListBenchmarks, ShowBenchmark
from hlograph.commands.diff import Diff
from hlograph.commands.explore import Explore
from hlograph.commands.optimize import Optimize
from hlograph.commands.parse import Parse
from hlograph.commands.passes import Passes, RunPasses
from hlograph.commands.predict import Predict
from hlograph.commands.profile import Calibrate, ProfileProgram
from hlograph.errors import HloError, HloWarning
from hlograph.execution.interrupts import INTERRUPTED, handled_interrupts

_DESCRIPTION = """Learned and measured decisions of the compiler XLA, for programs in jaxlib.

A SOURCE is a function, as package.module:function; or a file with HLO text, StableHLO or a proto,
which may be compressed."""

_CORPUS = (
    Annotated[ListBenchmarks, tyro.conf.subcommand("list")]
    | Annotated[ShowBenchmark, tyro.conf.subcommand("show")]
    | Annotated[ExportBenchmarks, tyro.conf.subcommand("export")]
)
_BOARD = (
    Annotated[SubmitResults, tyro.conf.subcommand("submit")]
    | Annotated[VerifySubmissions, tyro.conf.subcommand("verify")]
)
_COMMANDS = (
    Annotated[Optimize, tyro.conf.subcommand("optimize")]
    | Annotated[Apply, tyro.conf.subcommand("apply")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[ProfileProgram, tyro.conf.subcommand("profile")]
    | Annotated[Calibrate, tyro.conf.subcommand("calibrate")]
    | Annotated[Passes, tyro.conf.subcommand("passes")]
    | Annotated[RunPasses, tyro.conf.subcommand("run")]
    | Annotated[Parse, tyro.conf.subcommand("parse")]
    | Annotated[CheckProgram, tyro.conf.subcommand("check")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Diff, tyro.conf.subcommand("diff")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[
        _CORPUS,
        tyro.conf.subcommand("corpus", description="Lists, shows or exports the benchmarks."),
    ]
    | Annotated[
        _BOARD,
        tyro.conf.subcommand("board", description="Makes or replays submissions to the board."),
    ]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status.

    Args:
        arguments: The command line without the program; by default this process's.

    Returns:
        0; 1 after an error or a refusal; 130 after Ctrl-C. A wrong command line exits with 2.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if list(given) == ["--version"]:
        from hlograph import __version__

        print(f"hlograph {__version__}")
        return 0
    command: Command | None = None
    try:
        command = _parsed(given)
        # What a user's function prints is not part of the answer.
        with redirect_stdout(sys.stderr), handled_interrupts(), _short_warnings():
            answer = command.run()
        _print(answer, as_json=command.json)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        asked = command is not None and command.debug
        if asked or os.environ.get("HLOGRAPH_DEBUG", "0") not in ("", "0"):
            raise
        print(f"error: {_words_of(error)}", file=sys.stderr)
        return 1
    return answer.status


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Shows each warning of hlograph as one line, without the place in its sources."""
    show = warnings.showwarning

    def show_short(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, HloWarning):
            print(f"warning: {message}", file=sys.stderr)
        else:
            show(message, category, *place)

    with warnings.catch_warnings():
        warnings.simplefilter("always", HloWarning)
        warnings.showwarning = show_short
        yield


def _words_of(error: Exception) -> str:
    if isinstance(error, HloError | OSError | ImportError):
        return one_line(error)
    return (
        f"hlograph itself failed: {type(error).__name__}: {one_line(error)}. Please report it, "
        "with the traceback, which --debug shows"
    )


def _parsed(arguments: Sequence[str]) -> Command:
    return tyro.cli(  # pyright: ignore[reportReturnType]
        _COMMANDS,  # pyright: ignore[reportArgumentType]
        args=arguments,
        prog="hlograph",
        description=_DESCRIPTION,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
    )


def _print(answer: Answer, *, as_json: bool) -> None:
    text = json.dumps(answer.content, indent=2) if as_json else answer.text
    print(text.removesuffix("\n"), flush=True)
