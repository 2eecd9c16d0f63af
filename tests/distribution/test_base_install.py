"""An installation without extras does what it can, and names the extra for the rest."""

from pathlib import Path

import pytest

import hlograph
from tests.distribution.base_install import install, run
from tests.hlograph.samples import WHILE

ENGINE, LEARN = "pip install 'hlograph[engine]'", "pip install 'hlograph[learn]'"
NEEDS_ENGINE = (
    "hlograph.parse(TEXT)",
    "hlograph.Module.from_text(TEXT)",
    "list(hlograph.passes)",
    "hlograph.rules['algebraic']",
    "hlograph.pipelines['xla-simplify']",
)
NEEDS_LEARN = (
    "import hlograph.envs",
    "import hlograph.models.gat",
    "from hlograph.experiments.play import play",
    "import hlograph.experiments.cost_model.predictor",
    "hlograph.HloGraph.load('saved.hlograph').to_pyg()",
    "hlograph.corpus.BenchmarkSet([]).manifest()",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("base"))


def test_saved_graphs_load(base: Path, tmp_path: Path):
    graph = hlograph.parse(WHILE)
    graph.save(tmp_path / "saved.hlograph")
    program = """
import hlograph
graph = hlograph.HloGraph.load("saved.hlograph")
print(graph.num_nodes, len(graph.to_networkx()), graph.to_json() == open("graph.json").read())
"""
    (tmp_path / "graph.json").write_text(graph.to_json())
    count = graph.num_nodes
    assert run(base, program, tmp_path) == f"{count} {count} True\n"


def test_what_needs_an_extra_names_it(base: Path, tmp_path: Path):
    hlograph.parse(WHILE).save(tmp_path / "saved.hlograph")
    program = f"""
import hlograph
TEXT = {WHILE!r}
for statement in {[*NEEDS_ENGINE, *NEEDS_LEARN]!r}:
    try:
        exec(statement)
    except hlograph.HloError as error:
        print(error)
"""
    messages = run(base, program, tmp_path).splitlines()
    for statement, message in zip(NEEDS_ENGINE + NEEDS_LEARN, messages, strict=True):
        assert message.endswith(ENGINE if statement in NEEDS_ENGINE else LEARN), statement


def test_the_command_names_the_extra(base: Path, tmp_path: Path):
    (tmp_path / "step.hlo").write_text(WHILE)
    program = """
import sys
from contextlib import redirect_stderr
from hlograph.commands.command_line import main
with redirect_stderr(sys.stdout):
    print(main(["parse", "step.hlo"]))
"""
    message, status = run(base, program, tmp_path).splitlines()
    assert message.startswith("error: ")
    assert message.endswith(ENGINE)
    assert status == "1"
