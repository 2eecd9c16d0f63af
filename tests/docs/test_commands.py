"""Every command of the documentation is parsed in each run of the suite, and run with ``-m slow``.

Commands of quick programs are run in each run of the suite, too.
"""

import shlex
from pathlib import Path

import pytest

from tests.docs.commands import (
    Call,
    WrongCommandError,
    call_of,
    check,
    parse,
    run_apart,
    run_here,
    shortened,
)
from tests.docs.pages import LINKED, Command, commands, commands_of_docstring, commands_of_markdown
from tests.docs.programs import PROGRAMS

# What a command needs that a test does not have: a cluster, a GPU, a run, a network.
NOT_HERE = ("--workers ray", "--device cuda", "runs/", "s3://", "--help")

# Words without which a program's parser refuses any flags.
NEEDED = {
    "experiments.evaluate": ("gnn",),
    "experiments.search.shortfalls": ("gnn",),
    "hlograph apply": ("step.plan.json", "step.hlo"),
    "hlograph corpus export": ("--out", "modules"),
    "hlograph explore": ("step.hlo",),
    "hlograph optimize": ("step.hlo",),
    "hlograph predict": ("step.hlo",),
    "hlograph profile": ("step.hlo",),
}


def runnable(quick: bool) -> list[Command]:
    """Returns the commands whose programs have a budget, of quick programs or of the others."""
    found = []
    for command in commands():
        call = call_of(command.words)
        program = PROGRAMS.get(call.key) if call else None
        if call is None or program is None or program.budget is None or program.quick != quick:
            continue
        if not call.is_pattern and not any(word in command.text for word in NOT_HERE):
            found.append(command)
    return found


@pytest.mark.parametrize("command", commands(), ids=str)
def test_command_is_right(command: Command, reader_folder: Path):
    try:
        check(command.words)
    except WrongCommandError as error:
        pytest.fail(f"{', '.join(command.places)}: {command}\n{error}", pytrace=False)


@pytest.mark.parametrize("command", runnable(quick=True), ids=str)
def test_quick_command_runs(command: Command, reader_folder: Path, capfd):
    call = call_of(command.words)
    assert call is not None
    run_here(call, reader_folder)
    assert capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", runnable(quick=False), ids=str)
def test_command_runs(command: Command, reader_folder: Path):
    call = call_of(command.words)
    assert call is not None
    pages = {page: page.read_bytes() for page in LINKED}
    run_apart(call, reader_folder)
    assert {page: page.read_bytes() for page in pages} == pages  # the project's own


@pytest.mark.parametrize("name", [name for name, how in PROGRAMS.items() if how.budget])
def test_budget_is_in_flags_of_the_program(name: str, reader_folder: Path):
    program, *words = name.split()
    parse(shortened(Call(program, (*words, *NEEDED.get(name, ()))), reader_folder))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("python -m experiments.search --benchmarks 'bert/*' --split test-seen", "no benchmark"),
        ("python -m experiments.train_gnn --benchmarks nowhere/", "no benchmark"),
        ("python -m experiments.evaluate gnn --count 0.5", "refuses"),
        ("python -m experiments.evaluate best", "no policy 'best'"),
        ("python -m experiments.train_gnn --seeds 1", "refuses"),
        ("python -m experiments.paper figure5", "refuses"),
        ("hlograph corpus lists", "refuses"),
        ("python -m hlograph.graph.formats", "PROGRAMS"),
        ("python -m experiments.train_all", "no program"),
        ("python -m benchmarks.compare_with_xla --kills 10", "no flags"),
        ("python -m pytest tests/test_readme.py", "no tests/test_readme.py"),
        ("make tests", "not"),
        ("pip install 'hlograph[rays]'", "no extra 'rays'"),
        ("module.rewrites()", "no test knows"),
    ],
)
def test_wrong_command_is_found(line: str, told: str, reader_folder: Path):
    with pytest.raises(WrongCommandError, match=told):
        check(shlex.split(line))


def test_commands_are_found_wherever_they_stand():
    page = "\n".join(
        [
            "Run `python -m a.b --flag\n1` or",
            "",
            "    make x     # then this",
            "    python -m c \\",
            "      --d",
            "",
            "```sh\nray status\n```",
            "```text\nnot one\n```",
        ]
    )
    found = list(commands_of_markdown(page))
    assert found == ["python -m a.b --flag 1", "make x", "python -m c --d", "ray status"]
    docstring = (
        "Does it.\n\n    python -m a   # twice\n\npython -m b\nSee ``python -m c``; make do."
    )
    assert list(commands_of_docstring(docstring)) == ["python -m a", "python -m b", "python -m c"]
    with pytest.raises(ValueError, match="name the language"):
        list(commands_of_markdown("```\nx\n```"))
