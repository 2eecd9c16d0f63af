"""Checks of commands that the documentation tells a reader to type.

Commands of the project's own programs are read by the programs' own parsers: the program is started
in this process, and stopped as soon as its parser has made settings of the command line.
"""

import argparse
import dataclasses
import importlib
import importlib.util
import inspect
import os
import re
import runpy
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

import tyro

from hlograph import corpus
from hlograph.storage.locations import is_url
from tests.campaigns.framework.module_sets import set_names
from tests.docs.pages import ROOT
from tests.docs.programs import OTHER, PROGRAMS, Program

OUTPUTS = ("--out", "--page", "--file")
BENCHMARKS = ("benchmarks", "corpus", "pattern")
CHECKPOINTS = ("checkpoint", "checkpoints", "baseline")


class WrongCommandError(Exception):
    """Raised when a command of the documentation cannot work as it is written."""


class _Parsed(BaseException):
    """Raised in place of a program's work, once its command line is read."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings


@dataclasses.dataclass(frozen=True)
class Call:
    """Call of one of the project's programs.

    Attributes:
        name: Name of its module, or path of its file.
        arguments: The words after it.
    """

    name: str
    arguments: tuple[str, ...]

    @property
    def program(self) -> Program:
        """Settings of the tests of its commands.

        Raises:
            WrongCommandError: Nobody has said so yet, or there is no such program.
        """
        exists = (ROOT / self.name).is_file() if self.name.endswith(".py") else is_module(self.name)
        if not exists:
            raise WrongCommandError(f"there is no program {self.name}")
        if self.key not in PROGRAMS:
            raise WrongCommandError(
                f"no test knows how to run {self.name} on a small budget: add it to PROGRAMS in "
                f"tests/docs/programs.py, with the flags that make it finish within a minute"
            )
        return PROGRAMS[self.key]

    @property
    def key(self) -> str:
        """Name in PROGRAMS: that of the program, or of its subcommand, which may have its own."""
        for words in (self.arguments[:2], self.arguments[:1]):
            command = " ".join((self.name, *words))
            if command in PROGRAMS:
                return command
        return self.name

    @property
    def is_pattern(self) -> bool:
        """True if it names the program or shows a form (``list|show``), which nobody types."""
        if " ".join((self.name, *self.arguments)) == self.key and self.key in PROGRAMS:
            return not PROGRAMS[self.key].bare
        return any(re.search(r"[|…]|^[A-Z]+$", word) for word in self.arguments)


def call_of(words: Sequence[str]) -> Call | None:
    """Returns the call of a program of the project that a command is; None if it is none."""
    python, *rest = words
    if python == "hlograph":
        return Call(python, tuple(rest))
    if Path(python).name != "python" or not rest:
        return None
    if rest[0] == "-m" and rest[1] != "pytest":
        return Call(rest[1], tuple(rest[2:]))
    return Call(rest[0], tuple(rest[1:])) if rest[0].endswith(".py") else None


def check(words: Sequence[str]) -> None:
    """Checks a command without doing what it asks for.

    Raises:
        WrongCommandError: It cannot work, or no test knows it.
    """
    call = call_of(words)
    _check_files(words)
    if call is not None:
        if call.name.rpartition(".")[2].isupper():  # python -m experiments.NAME
            return
        _check_call(call)
    elif words[0] == "make":
        _check_make(words[1:])
    elif Path(words[0]).name == "pip":
        _check_extras(words)
    elif not (
        words[0] == "pytest"
        or list(words[:3]) == ["python", "-m", "pytest"]
        or (ROOT / words[0]).is_file()
        or " ".join(words).startswith(tuple(OTHER))
    ):
        raise WrongCommandError(
            f"no test knows {words[0]!r}: is it a command? Blocks in which a reader does not type "
            f"commands are fenced, with a language; others' commands are in OTHER of "
            f"tests/docs/programs.py"
        )


def parse(call: Call) -> Any:
    """Returns the settings that a program's own parser makes of a command line.

    Raises:
        WrongCommandError: The parser refuses it.
    """
    with _stopped_after_parsing(call):
        try:
            _start(call)
        except _Parsed as parsed:
            return parsed.settings
        except SystemExit as refusal:
            if "--help" in call.arguments and not refusal.code:
                return None
            # What another command of the documentation makes is not there.
            if "--resume" in call.arguments and str(refusal.code).startswith("--resume: there is"):
                return None
            raise WrongCommandError(f"{call.name} refuses it: {refusal.code}") from refusal
    raise WrongCommandError(f"{call.name} read no command line; does it have a parser?")


def _check_call(call: Call) -> None:
    program = call.program
    if call.is_pattern:
        return
    if not program.parses:
        if any(word.startswith("-") for word in call.arguments):
            raise WrongCommandError(f"{call.name} takes no flags")
        if not call.name.endswith(".py"):
            importlib.import_module(call.name)
        return
    settings = _as_mapping(parse(call))
    for field in BENCHMARKS:
        for pattern in _strings(settings.get(field)):
            if pattern in call.arguments:  # defaults are the program's own
                _check_benchmark(pattern, settings, program)
    for field in CHECKPOINTS:
        for name in _strings(settings.get(field)):
            if name in call.arguments:
                _check_checkpoint(name)


@contextmanager
def _stopped_after_parsing(call: Call) -> Iterator[None]:
    """Lets parsers raise `_Parsed` with what they return."""
    parse_args, cli = argparse.ArgumentParser.parse_args, tyro.cli
    within_tyro = False  # which may parse by argparse itself

    def parsed_by_argparse(parser: argparse.ArgumentParser, args: Any = None, *rest: Any) -> Any:
        settings = parse_args(parser, args, *rest)
        # Of a program that parses its first word alone, another parser reads the whole line.
        whole = args is None or len(args) == len(call.arguments)
        if whole and not within_tyro:
            raise _Parsed(settings)
        return settings

    def parsed_by_tyro(what: Any, *args: Any, **options: Any) -> Any:
        nonlocal within_tyro
        within_tyro = True
        if not inspect.isfunction(what):  # a dataclass, or a union of subcommands
            raise _Parsed(cli(what, *args, **options))

        @wraps(what)
        def stop(**settings: Any) -> None:
            raise _Parsed(settings)

        return cli(stop, *args, **options)

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", parsed_by_argparse),
        mock.patch.object(tyro, "cli", parsed_by_tyro),
    ):
        yield


def _start(call: Call) -> None:
    """Runs a program as Python's ``-m`` does, in this process."""
    with (
        warnings.catch_warnings(),
        mock.patch.object(sys, "argv", [call.name, *call.arguments]),
        mock.patch.object(sys, "path", [*sys.path]),
    ):
        # A module that was imported before is run a second time here, which is meant.
        warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)
        if call.name.endswith(".py"):
            sys.path.insert(0, str((ROOT / call.name).parent))
            runpy.run_path(str(ROOT / call.name), run_name="__main__")
        else:
            runpy.run_module(call.name, run_name="__main__", alter_sys=True)


def run_here(call: Call, folder: Path) -> None:
    """Runs a program in this process, with the flags of its budget.

    Raises:
        WrongCommandError: Its exit status says that it failed.
    """
    try:
        _start(shortened(call, folder))
    except SystemExit as end:
        if end.code:
            raise WrongCommandError(f"exit status {end.code}") from end


def run_apart(call: Call, folder: Path) -> None:
    """Runs a program in a process of its own, in a folder, with the flags of its budget.

    Raises:
        WrongCommandError: Its exit status says that it failed.
    """
    short = shortened(call, folder)
    done = subprocess.run(
        [sys.executable, "-m", short.name, *short.arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise WrongCommandError(f"exit status {done.returncode}: {done.stderr[-2000:]}")


def shortened(call: Call, folder: Path) -> Call:
    """Returns a call with the flags of its program's budget; ``OUT`` becomes a folder."""
    program = call.program
    named = any(f"--{field}" in call.arguments for field in BENCHMARKS)
    budget = (*(() if named else program.part), *(program.budget or ()))
    out = str(folder / "out")
    return Call(call.name, (*call.arguments, *(word.replace("OUT", out) for word in budget)))


def _check_files(words: Sequence[str]) -> None:
    """Checks that files of the project that a command reads are there."""
    for before, word in zip(["", *words], words, strict=False):
        if not re.match(r"(docs|tests|datasets|models|benchmarks)/", word):
            continue
        found = (ROOT / word).parent.is_dir() if before in OUTPUTS else any(ROOT.glob(word))
        if not found:
            raise WrongCommandError(f"there is no {word}")


def _check_benchmark(pattern: str, settings: Mapping[str, Any], program: Program) -> None:
    """Checks that a name or glob finds benchmarks in the part of the corpus that is asked for."""
    limits = ("op_limit", "max_op_count", "max_ops", "train_op_limit")
    limit = next((settings[name] for name in limits if settings.get(name)), None)
    splits = settings.get("split") or program.split
    corpus_set = settings.get("corpus_set") or settings.get("set") or program.corpus_set
    part = corpus.load(corpus_set, splits, max_op_count=limit)
    if any(fnmatchcase(name, pattern) for name in (*part.names, *set_names())):
        return
    if pattern in corpus.load().names or is_url(pattern) or Path(pattern).exists():
        return
    raise WrongCommandError(
        f"{pattern!r} finds no benchmark among the {len(part)} of split {splits or 'any'}, of at "
        f"most {limit or 'any number of'} instructions, and is no file here"
    )


def _check_checkpoint(name: str) -> None:
    """Checks that a checkpoint comes with the project, or is one that a run makes."""
    from experiments.policies.shipped import available, one_of_each

    if name not in available() | one_of_each() and not re.match(r"runs/|\w+://", name):
        raise WrongCommandError(f"no policy {name!r} comes with the project")


def _check_make(targets: Sequence[str]) -> None:
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    missing = [word for word in targets if "=" not in word and word not in known]
    if missing:
        raise WrongCommandError(f"make knows {', '.join(sorted(known))}, not {missing}")


def _check_extras(words: Sequence[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words:
        extra = re.fullmatch(rf"{project['name']}\[(\w+)\]", word)
        if extra and extra[1] not in project["optional-dependencies"]:
            raise WrongCommandError(f"the package has no extra {extra[1]!r}")


def is_module(name: str) -> bool:
    """Returns True if there is a module of a dotted name, importable or not."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None


def _as_mapping(settings: Any) -> Mapping[str, Any]:
    if settings is None:
        return {}
    return settings if isinstance(settings, Mapping) else vars(settings)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value or () if isinstance(item, str)]
