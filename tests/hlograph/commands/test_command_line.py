"""The program as a whole: help, errors, closed pipes, Ctrl-C."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

import hlograph
from hlograph.commands import optimize
from hlograph.commands.command import Answer
from hlograph.commands.command_line import main
from hlograph.commands.parse import Parse
from hlograph.errors import HloParseError
from hlograph.plans import NUMERICS

COMMANDS = (
    *("optimize", "apply", "predict", "profile", "calibrate", "passes", "run", "parse", "diff"),
    "corpus",
)
HEAVY = ("jax", "torch", "hlograph._xla", "hlograph.module", "pandas")
ROOT = Path(__file__).parents[3]


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hlograph", *arguments], capture_output=True, text=True
    )


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hlograph {hlograph.__version__}\n"


def test_help_names_each_command_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom hlograph.commands.command_line import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print('loaded:', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in COMMANDS if name not in done.stdout] == []
    assert done.stdout.splitlines()[-1] == "loaded:"


@pytest.mark.parametrize("command", [*COMMANDS, "corpus list", "corpus show", "corpus export"])
def test_help_of_a_command(command: str, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    assert end.value.code == 0
    assert "usage: hlograph" in capsys.readouterr().out


def test_an_error_is_one_line_and_the_debugger_shows_more(call, monkeypatch, user_folder):
    (user_folder / "broken.hlo").write_text("HloModule broken {")
    status, out, err = call("parse", "broken.hlo")
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert err.startswith("error: 'broken.hlo' is cut off: ")
    with pytest.raises(HloParseError):
        main(["parse", "broken.hlo", "--debug"])
    monkeypatch.setenv("HLOGRAPH_DEBUG", "1")
    with pytest.raises(HloParseError):
        main(["parse", "broken.hlo"])


def test_a_wrong_command_line_ends_with_2(call):
    with pytest.raises(SystemExit) as end:
        call("parse", "tiny.hlo", "--format", "svg")
    assert end.value.code == 2


def test_ctrl_c_ends_with_130(call, monkeypatch):
    def interrupted(self: Parse) -> Answer:
        raise KeyboardInterrupt

    monkeypatch.setattr(Parse, "run", interrupted)
    assert call("parse", "tiny.hlo") == (130, "", "interrupted\n")


def test_what_a_users_module_prints_is_not_on_stdout(call):
    status, out, err = call("parse", "own_functions:step", "--arguments", "own_functions:arguments")
    assert status == 0
    assert "imported" in err
    assert "imported" not in out


def test_a_closed_pipe_is_silent(user_folder):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "hlograph", "parse", "tiny.hlo"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_wheel_installs_the_program():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["hlograph"].partition(":")
    assert (module, function) == (main.__module__, main.__name__)


def test_classes_of_results_are_those_of_plans():
    assert get_args(optimize.Numerics) == NUMERICS


def test_as_a_program():
    done = program("passes", "algsimp", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "algsimp" in [each["name"] for each in json.loads(done.stdout)["passes"]]
