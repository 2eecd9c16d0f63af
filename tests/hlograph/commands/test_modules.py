"""hlograph parse, passes, run and diff."""

import json
import re

import pytest

import hlograph
from hlograph import HloGraph, Module, Plan
from hlograph.commands.diff import differences_of
from tests.tiny_module import COUNTED_LOOP, TINY

STEP = ("own_functions:step", "--shapes", "f32[8,4]", "f32[4,2]")


def test_summary(call):
    status, out, err = call("parse", "tiny.hlo")
    assert (status, err) == (0, "")
    assert re.search(r"instructions +8\n", out)
    assert re.search(r"exponential +2\n", out)
    content = json.loads(call("parse", "tiny.hlo", "--json")[1])
    assert content["op_count"] == sum(content["op_counts"].values()) == 8
    assert content["fingerprint"] == Module.from_text(TINY).fingerprint()


def test_formats(call, user_folder):
    module = Module.from_text(TINY)
    assert Module.from_text(call("parse", "tiny.hlo", "--format", "text")[1]).op_count == 8
    assert HloGraph.from_json(call("parse", "tiny.hlo", "--format", "json")[1]) == module.graph()
    content = json.loads(call("parse", "tiny.hlo", "--format", "json", "--json")[1])
    assert HloGraph.from_json(json.dumps(content["json"])) == module.graph()
    status, out, _ = call("parse", "tiny.hlo", "--format", "dot", "--out", "tiny.dot")
    assert (status, out) == (0, "tiny: 8 instructions, written to tiny.dot\n")
    assert (user_folder / "tiny.dot").read_text().startswith("digraph")


def test_functions(call):
    by_shape = json.loads(call("parse", *STEP, "--json")[1])
    by_value = call("parse", STEP[0], "--arguments", "own_functions:arguments", "--json")[1]
    assert by_shape["fingerprint"] == json.loads(by_value)["fingerprint"]
    assert by_shape["op_counts"]["dot"] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("own_functions:step",), "--arguments or --shapes missing"),
        (("own_functions:nothing",), "has no attribute 'nothing'"),
        (("no_such_module:f",), "No module named"),
        ((*STEP[:2], "f32"), "expected a shape"),
        ((*STEP[:2], "f64[2]", "f32[2]"), "JAX_ENABLE_X64"),
        ((*STEP[:2], "f33[2]"), "f33"),
        (("tiny.hlo", "--shapes", "f32[2]"), "are for functions"),
        ((STEP[0], "--arguments", "own_functions:step"), "failed"),
        (("nowhere.hlo",), "no file 'nowhere.hlo'"),
    ],
)
def test_refused_sources(call, words, told):
    status, out, err = call("parse", *words)
    assert (status, out) == (1, "")
    assert told in err.splitlines()[-1]


def test_passes(call):
    out = call("passes")[1]
    names = {line.split()[0] for line in out.splitlines() if line}
    assert {*hlograph.passes.names, *hlograph.pipelines, *hlograph.rules.names} <= names
    content = json.loads(call("passes", "while-*", "--json")[1])
    assert {each["name"].partition("-")[0] for each in content["passes"]} == {"while"}
    assert call("passes", "no such thing")[0] == 1


def test_run(call, user_folder):
    status, out, _ = call("run", "call-inliner, xla-simplify", "tiny.hlo", "--out", "small.hlo")
    assert status == 0
    assert re.search(r"call-inliner +yes", out)
    assert re.search(r"all +8 +4 +-4", out)
    expected = Module.from_text(TINY)
    expected.run("call-inliner")
    expected.run(hlograph.pipelines["xla-simplify"])
    assert Module.load(user_folder / "small.hlo").fingerprint() == expected.fingerprint()
    content = json.loads(call("run", "dce", "tiny.hlo", "--json")[1])
    assert [step["changed"] for step in content["steps"]] == [True]
    assert content["after"]["op_count"] == 7
    text = call("run", "cse,dce", "tiny.hlo", "--text")[1]
    assert Module.from_text(text).op_count < 8


def test_run_applies_rewrites_and_refuses_unknown_names(call):
    place = str(Module.from_text(TINY).rewrites()[0].place)
    assert "(" in place
    assert call("run", f"{place},dce", "tiny.hlo")[0] == 0
    status, _, err = call("run", "callinliner", "tiny.hlo")
    assert status == 1
    assert "did you mean 'call-inliner'" in err
    assert call("run", "dce", "tiny.hlo", "--out", "result.svg")[0] == 1


def test_diff_of_modules(call):
    call("run", "cse,dce", "tiny.hlo", "--out", "small.hlo")
    status, out, _ = call("diff", "tiny.hlo", "small.hlo", "--run")
    assert status == 0
    assert "results: equal" in out
    assert "- unused = f32[4]{0} multiply(p, p)" in out.splitlines()
    content = json.loads(call("diff", "tiny.hlo", "small.hlo", "--run", "--json")[1])
    assert (content["kind"], content["same"]) == ("modules", False)
    assert content["equivalence"]["verdict"] == "equal"
    assert "equal modules" in call("diff", "tiny.hlo", "tiny.hlo")[1]


def test_diff_of_a_file_and_a_function(call):
    call("parse", *STEP, "--format", "text", "--out", "step.hlo")
    status, out, _ = call("diff", "step.hlo", *STEP)
    assert status == 0
    assert "equal modules" in out
    assert call("diff", "step.hlo", "tiny.hlo", *STEP[1:])[0] == 1


def test_differences_do_not_depend_on_names():
    renamed = COUNTED_LOOP.replace("less", "smaller").replace("body {", "rounds {")
    renamed = renamed.replace("body=body", "body=rounds")
    texts = [Module.from_text(text).to_text() for text in (COUNTED_LOOP, renamed)]
    assert differences_of(*texts) == ([], [])
    shorter = Module.from_text(COUNTED_LOOP.replace("constant(10)", "constant(9)")).to_text()
    assert differences_of(texts[0], shorter) == (
        ["ten = s32[] constant(10)"],
        ["ten = s32[] constant(9)"],
    )


def test_diff_of_plans(call, user_folder):
    Plan("tiny", steps=("cse", "dce")).save(user_folder / "a.json")
    flags = {"xla_cpu_enable_fast_math": True}
    Plan("tiny", steps=("dce",), flags=flags, numerics="fast").save(user_folder / "b.json")
    status, out, _ = call("diff", "a.json", "b.json")
    assert status == 0
    assert out.splitlines()[-4:] == [
        *("- step cse", "- step dce", "+ step dce", "+ flag xla_cpu_enable_fast_math = True")
    ]
    content = json.loads(call("diff", "a.json", "a.json", "--json")[1])
    assert (content["kind"], content["same"]) == ("plans", True)
    assert call("diff", "a.json", "tiny.hlo")[0] == 1
