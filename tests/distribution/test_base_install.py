"""An installation without extras does what it can, and names the extra for the rest."""

from pathlib import Path
from typing import Any

import jax
import pytest

import hlograph
from hlograph.plans import Plan, Program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.instruction_knobs import PlaceKnobs
from hlograph.plans.knobs import Point
from hlograph.plans.versions import Versions
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


FUNCTION = """
import jax
import jax.numpy as jnp
import hlograph

def function(x):
    return (jnp.tanh(x @ x) / (1 + x)).sum(0)

x = jnp.linspace(0, 1, 16384).reshape(128, 128)
"""


def test_a_search_and_its_plan_need_no_engine(base: Path, tmp_path: Path):
    """The plan is found again by an installation with the engine, and fits the program there."""
    program = f"""
{FUNCTION}
from hlograph.optimization.methods import names
if __name__ == "__main__":
    settings = dict(budget=2, store="plans", progress=False)
    fast = hlograph.optimize(function, x, methods=["flags"], **settings)
    print(names())
    print(fast.report.conclusion)
    print(bool(jnp.allclose(fast(x), function(x), rtol=1e-4)), len(fast.report.outcomes) > 0)
    print(hlograph.optimize(function, x, store="plans").report.from_store)
    try:
        hlograph.optimize(function, x, methods=["forms"], **settings)
    except hlograph.HloError as error:
        print(error)
"""
    names, conclusion, *rest, refusal = run(base, program, tmp_path).splitlines()
    assert names == str(["recipes", "flags", "greedy", "joint"])
    assert conclusion.endswith(f"without the engine, no rules were tried: {ENGINE}")
    assert rest == ["True True", "True"]
    assert refusal.endswith(ENGINE)
    spaces: dict[str, Any] = {}
    exec(FUNCTION, spaces)
    again = hlograph.optimize(spaces["function"], spaces["x"], store=tmp_path / "plans")
    assert again.report.from_store


def test_plans_that_were_made_with_the_engine_are_carried_out(base: Path, tmp_path: Path):
    spaces: dict[str, Any] = {}
    exec(FUNCTION, spaces)
    program = Program.of_lowered(jax.jit(spaces["function"]).lower(spaces["x"]))
    identity = {
        "program": program.name,
        "fingerprint": program.fingerprint,
        "text_fingerprint": program.text_fingerprint,
    }
    version = Versions(program, "close").version(Point())
    places = PlaceKnobs(optimized_module(program, version))
    knob = next(iter(places.knobs(None)))
    placements = places.placements({knob.name: knob.values[0]})
    (dot,) = [each.name for each in program.flow.instructions if each.opcode == "dot"]
    plans = {
        "flags": Plan(**identity, flags={"xla_cpu_prefer_vector_width": 128}),
        "layouts": Plan(**identity, layouts={dot: "{0,1}"}),
        "placements": Plan(**identity, placements=placements, placed=places.fingerprint),
        "steps": Plan(**identity, steps=("call-inliner",)),
    }
    for name, plan in plans.items():
        plan.save(tmp_path / f"{name}.json")
    written = f"""
{FUNCTION}
for name in {list(plans)!r}:
    try:
        fast = hlograph.optimize(function, x, plan=name + ".json")
        print(name, bool(jnp.allclose(fast(x), function(x), rtol=1e-4)))
    except hlograph.EngineUnavailableError as error:
        print(name, error)
"""
    *carried_out, refused = run(base, written, tmp_path).splitlines()
    assert carried_out == ["flags True", "layouts True", "placements True"]
    assert refused.startswith("steps ")
    assert refused.endswith(ENGINE)
